"""Searches for less harmful plans have one budget of steps in a session."""

from collections.abc import Callable
from dataclasses import replace

from pyroclast.framework.preemption.harm import NO_VICTIM, Effort, Found, Harm, HarmLimits, least_harmful
from pyroclast.model.ids import TaskId
from pyroclast.testing import Scenario, open_session

RUNNING = open_session(Scenario().node("n", cpu=2).running("v", on=["n", "n"]))
VICTIMS = tuple((task,) for job in RUNNING.jobs.all() for task in job.tasks.values())
FIRST = Found(
    Harm(1, 0, 2), is_least=False, is_partial=False, is_committed=False, domain=None, units=VICTIMS, places=()
)


def anything(_found: Found, _limits: HarmLimits) -> Harm | None:
    """A bound that excludes no plan."""
    return Harm(NO_VICTIM, 0, 0)


def searching(effort: Effort, steps: int) -> tuple[list[HarmLimits], Callable[[HarmLimits], Found | None]]:
    """Return a search that takes some steps and finds one plan, and the limits of its calls."""
    calls: list[HarmLimits] = []

    def search(limits: HarmLimits) -> Found | None:
        calls.append(limits)
        effort.steps += steps
        return None if limits.repeats or limits.highest < 1 else FIRST

    return calls, search


def repeated(calls: list[HarmLimits]) -> int:
    """Count searches with all victims but one, or with a protected victim."""
    return sum(each.repeats for each in calls)


def test_each_victim_is_left_out_and_protected_as_long_as_steps_are_left() -> None:
    """Two victims, four searches: with the other victim alone, and with any victims but this one."""
    effort = Effort()
    calls, search = searching(effort, steps=10)

    assert least_harmful((False,), search, anything, effort) is FIRST
    assert repeated(calls) == 4
    assert sum(each.only is not None for each in calls) == 2


def test_later_jobs_get_their_first_plan_once_no_step_is_left() -> None:
    """The budget pays for one search; then plans are taken as they are found."""
    effort = Effort(left=10)
    calls, search = searching(effort, steps=10)

    assert [least_harmful((False,), search, anything, effort) for _ in range(3)] == [FIRST] * 3
    assert repeated(calls) == 1
    assert effort.left == 0


def test_no_search_begins_that_cannot_be_better() -> None:
    """The first plan meets its bound: nothing is protected."""
    effort = Effort()
    calls, search = searching(effort, steps=10)

    assert least_harmful((False,), search, lambda found, _: found.harm, effort) is FIRST
    assert len(calls) == 1


STOPPING = replace(
    FIRST, harm=Harm(1, 0, 2, stopped=20), is_least=True, last=tuple(TaskId(f"v-{n}") for n in range(20))
)


def test_eight_searches_at_most_spare_elastic_jobs() -> None:
    """A plan stops twenty elastic jobs, and no search finds another one."""
    calls: list[HarmLimits] = []

    def search(limits: HarmLimits) -> Found | None:
        calls.append(limits)
        return None if limits.protected else STOPPING

    assert least_harmful((False,), search, anything, Effort()) is STOPPING
    assert repeated(calls) == 8


def test_an_equal_plan_that_stops_fewer_jobs_is_used() -> None:
    """Pods that were spared stay protected in the searches for further jobs; a plan with more victims is not used."""
    calls: list[HarmLimits] = []

    def search(limits: HarmLimits) -> Found | None:
        calls.append(limits)
        stopped = 2 - len(limits.protected)
        victims = 2 if stopped else 3
        return replace(STOPPING, harm=Harm(1, 0, victims, stopped), last=STOPPING.last[:2])

    found = least_harmful((False,), search, anything, Effort())

    assert found is not None
    assert found.harm == Harm(1, 0, 2, stopped=1)
    assert [set(each.protected) for each in calls] == [set(), {"v-0"}, {"v-0", "v-1"}]
