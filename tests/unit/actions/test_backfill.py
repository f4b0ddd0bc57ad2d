"""Backfill: in which order pods that ask for nothing are placed, and who is passed over."""

from pyroclast.testing import Scenario
from tests.hypernodes import rack

PLUGINS = ("priority", "gang", "predicates")


def light(scenario: Scenario, job: str, *, priorities: tuple[int, ...], priority_class: str = "") -> Scenario:
    """An admitted group whose pods ask for nothing; they are called by their priority."""
    scenario = scenario.job(job, tasks=0, min_available=1, priority_class=priority_class, phase="Inqueue")
    for priority in priorities:
        scenario = scenario.pod(f"{job}-{priority}", job=job, cpu=None, priority=priority)
    return scenario


def test_by_priority_of_the_job_then_by_that_of_the_pod() -> None:
    """The more important of two jobs of four pods comes first; the last place is for the other's first pod."""
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


def test_members_that_ask_for_nothing_lie_in_one_domain() -> None:
    """Two racks with a place for one pod each: together they lie in neither; with a place more they do."""
    plugins = (*PLUGINS, "network-topology-aware")
    group = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}

    def placed(pods: int) -> dict[str, str]:
        there = Scenario().add(rack("left", "n1"), rack("right", "n2")).node("n1", pods=1).node("n2", pods=pods)
        return there.job("a", tasks=2, cpu=None, group=group).run("allocate", "backfill", plugins=plugins).bindings

    assert placed(1) == {}
    assert placed(2) == {"a-0": "n2", "a-1": "n2"}


def test_members_that_no_domain_may_hold_say_so() -> None:
    """No domain has a tier as low as the one that is allowed."""
    group = {"networkTopology": {"mode": "hard", "highestTierAllowed": 0}}
    there = Scenario().add(rack("left", "n1")).node("n1").job("a", cpu=None, group=group)
    outcome = there.run("allocate", "backfill", plugins=(*PLUGINS, "network-topology-aware"))

    assert outcome.bindings == {}
    assert "no node is within its network topology" in outcome.why_pod("a-0")
