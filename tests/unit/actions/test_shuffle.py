"""Shuffle: tasks that strategies name leave, within budgets and without breaking gangs."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Move, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task
from pyroclast.testing import Outcome, Scenario

LABELS = {"app": "a"}


class Names(Plugin):
    """A strategy that names every running task of namespace `default`."""

    name = "names-all"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        session.extensions.register(contract.VICTIM_TASKS, self.name, lambda tasks: tasks)


class Frees(Names):
    """A strategy that gives nodes back."""

    name = "frees"

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def free(tasks: Sequence[Task]) -> Iterable[Move]:
            return [Move(task=task, strategy="zone", budget="1 a job", breaks_gangs=True) for task in tasks]

        session.extensions.register(contract.VICTIM_TASKS, self.name, free)


class FailsLate(Names):
    """A strategy that breaks while its answer is read."""

    name = "fails-late"

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def fail(tasks: Sequence[Task]) -> Iterable[Task]:
            yield from tasks
            raise RuntimeError("broken")

        session.extensions.register(contract.VICTIM_TASKS, self.name, fail)


class Raves(Names):
    """A strategy that names what is no task."""

    name = "raves"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        odd: Any = ["a-0", None]
        session.extensions.register(contract.VICTIM_TASKS, self.name, lambda _: odd)


class NamesFirst(Names):
    """A strategy that names one task."""

    name = "names-first"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        session.extensions.register(contract.VICTIM_TASKS, self.name, lambda tasks: iter(tasks[:1]))


class Adds(Names):
    """Permits any running pod, named or not."""

    name = "adds"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        everybody = [task for job in session.snapshot.jobs.values() for task in job.tasks.values()]
        session.extensions.register(contract.MOVABLE, self.name, lambda _: everybody)


class Fails(Names):
    """A strategy that is broken."""

    name = "fails"

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def fail(_: Sequence[Task]) -> Iterable[Task]:
            raise RuntimeError("broken")

        session.extensions.register(contract.VICTIM_TASKS, self.name, fail)


def running(count: int, minimum: int = 1) -> Scenario:
    """Return a job whose pods all run."""
    return Scenario().node("n1").running("a", on=["n1"] * count, min_available=minimum, labels=LABELS)


def shuffle(scenario: Scenario, *plugins: Any, **arguments: Any) -> Outcome:
    """Run the action alone."""
    return scenario.run("shuffle", plugins=plugins, arguments={"shuffle": arguments})


def budget(allowed: int) -> dict[str, Any]:
    """Return a disruption budget."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"selector": {"matchLabels": LABELS}},
        "status": {"disruptionsAllowed": allowed},
    }


def test_what_a_strategy_names_leaves() -> None:
    """All of it, where nothing bounds it."""
    assert shuffle(running(3), Names).evictions == ["a-0", "a-1", "a-2"]


def test_pods_on_nodes_that_are_not_there_are_not_offered() -> None:
    """A node has gone, or belongs to another scheduler now."""
    scenario = Scenario().node("n1").running("a", on=["n1", "elsewhere"], labels=LABELS)

    assert shuffle(scenario, Names).evictions == ["a-0"]


def test_no_pod_is_evicted_if_no_strategy_selects_one() -> None:
    """A plugin that only limits is no strategy."""
    assert shuffle(running(3), "pdb").evictions == []


def test_disruption_budgets_limit_it() -> None:
    """Two of three may go."""
    assert shuffle(running(3).add(budget(2)), Names, "pdb").evictions == ["a-0", "a-1"]


def test_no_more_go_in_a_cycle_than_configured() -> None:
    """The first one named."""
    assert shuffle(running(3), Names, maxEvictions=1).evictions == ["a-0"]


def test_a_gang_stays_at_its_minimum() -> None:
    """Two of three pods must run."""
    assert shuffle(running(3, minimum=2), Names).evictions == ["a-0"]


def test_a_role_stays_at_its_minimum() -> None:
    """The gang can spare one pod, but none of its servers."""
    scenario = Scenario().node("n1")
    scenario = scenario.job(
        "a", tasks=2, min_available=3, running_on=["n1"] * 2, role="server", min_by_role={"server": 2, "worker": 1}
    )
    for number in (0, 1):
        scenario = scenario.pod(f"w-{number}", job="a", node="n1", role="worker")

    assert shuffle(scenario, Names).evictions == ["w-0"]


def test_the_last_task_of_a_gang_may_go() -> None:
    """There is nothing left to break."""
    scenario = Scenario().node("n1").job("a", tasks=2, min_available=2, running_on=["n1"], labels=LABELS)

    assert shuffle(scenario, Names).evictions == ["a-0"]


def test_a_node_that_is_given_back_counts_more_than_a_gang() -> None:
    """The strategy says so."""
    assert len(shuffle(running(3, minimum=3), Frees).evictions) == 3


def test_the_first_tier_that_names_a_pod_decides() -> None:
    """The tier before has a strategy that fails."""
    outcome = running(1).run("shuffle", plugins=((Fails,), (Frees,), (Names,)))

    assert [each.message for plan in outcome.report.plans for each in plan.evictions] == [
        "evicted by shuffle: zone, 1 a job"
    ]


@pytest.mark.parametrize("broken", [Fails, FailsLate, Raves])
def test_a_broken_strategy_selects_no_pod(broken: type[Names]) -> None:
    """Whenever it breaks; the others are called, and the failure is counted in its name."""
    alone = shuffle(running(2), broken)

    assert alone.evictions == []
    assert [dict(each.labels)["plugin"] for each in alone.report.samples if each.metric == "plugin_failures_total"] == [
        broken.name
    ]
    assert shuffle(running(2), broken, Names).evictions == ["a-0", "a-1"]


def test_a_filter_of_the_list_adds_no_pod() -> None:
    """It receives the named pods, and may permit only these."""
    assert shuffle(running(3), NamesFirst, Adds).evictions == ["a-0"]


def test_a_plan_has_no_beneficiary() -> None:
    """Reason and message name action, strategy and budget."""
    (plan,) = shuffle(running(1), Names).report.plans

    assert (plan.action, plan.job, plan.evictions[0].reason) == ("shuffle", None, "shuffle")
    assert plan.evictions[0].message == "evicted by shuffle: names-all, no budget"
