"""Backfill: in which order pods that ask for nothing are placed, and who is passed over."""

from pyroclast.testing import Scenario

PLUGINS = ("priority", "gang", "predicates")


def light(scenario: Scenario, job: str, *, priorities: tuple[int, ...], priority_class: str = "") -> Scenario:
    """An admitted group whose pods ask for nothing; they are called by their priority."""
    scenario = scenario.job(job, tasks=0, min_available=1, priority_class=priority_class, phase="Inqueue")
    for priority in priorities:
        scenario = scenario.pod(f"{job}-{priority}", job=job, cpu=None, priority=priority)
    return scenario


def test_by_priority_of_the_job_then_by_that_of_the_pod() -> None:
    """Of two jobs of four pods the more important one goes first; the one place left is for the other's first pod."""
    there = Scenario().node("n1", pods=5).priority_class("low", 1).priority_class("high", 2)
    there = light(there, "a", priorities=(1, 2, 3, 4), priority_class="low")
    there = light(there, "b", priorities=(1, 2, 3, 4), priority_class="high")
    outcome = there.run("backfill", plugins=PLUGINS)
    order = [bind.name for plan in outcome.rounds[0].plans for bind in plan.binds]

    assert order == ["b-4", "b-3", "b-2", "b-1", "a-4"]


def test_pods_that_ask_for_something_are_left_to_allocate() -> None:
    """Beside one that asks for nothing."""
    there = Scenario().node("n1").job("a", min_available=1, phase="Inqueue").pod("a-light", job="a", cpu=None)

    assert there.run("backfill", plugins=PLUGINS).bindings == {"a-light": "n1"}


def test_jobs_at_the_gate_are_passed_over() -> None:
    """They are not admitted yet."""
    there = Scenario().node("n1").job("a", cpu=None, phase="Pending")

    assert there.run("backfill", plugins=PLUGINS).bindings == {}


def test_a_shard_of_others_is_not_filled() -> None:
    """Hard sharding: only our own node takes pods."""
    there = light(Scenario().node("ours", pods=1).node("theirs"), "a", priorities=(1, 2))

    assert there.sharded("hard", "ours").run("backfill", plugins=PLUGINS).bindings == {"a-2": "ours"}
