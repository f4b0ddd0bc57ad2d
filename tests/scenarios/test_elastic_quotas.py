"""Elastic quotas in whole cycles: lending, gangs, pods of several quotas in one queue, evictions and revoking."""

from itertools import product
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.elastic_quotas import elastic_quota, uses

PLUGINS = (("priority", "gang", "elastic-quota"), ("predicates", "nodeorder"))
TWO = Scenario().node("n1", cpu=8).node("n2", cpu=8)
HALVES = [elastic_quota(name, least={"cpu": 8}, most={"cpu": 16}) for name in ("a", "b")]


def run(scenario: Scenario, *actions: str, **more: Any) -> Outcome:
    """Decide, with quotas."""
    return scenario.run(*(actions or ("enqueue", "allocate", "backfill")), plugins=PLUGINS, **more)


def placed(outcome: Outcome, job: str) -> int:
    """How many tasks of a job are bound."""
    return sum(name.rpartition("-")[0] == job for name in outcome.bindings)


def test_a_quota_borrows_what_the_other_does_not_ask_for() -> None:
    """Twelve of sixteen, for the other asks for four."""
    scenario = TWO.add(*HALVES)
    scenario = scenario.job("wide", tasks=16, min_available=1, labels=uses("a"))
    scenario = scenario.job("small", tasks=4, min_available=1, labels=uses("b"))
    outcome = run(scenario)
    assert (placed(outcome, "wide"), placed(outcome, "small")) == (12, 4)


def test_a_gang_is_placed_whole_or_waits() -> None:
    """Nine are too many beside eight of the other quota; eight are not."""
    for size, expected in ((9, 0), (8, 8)):
        scenario = TWO.add(*HALVES).job("gang", tasks=size, labels=uses("a"))
        scenario = scenario.job("other", tasks=8, min_available=1, labels=uses("b"))
        outcome = run(scenario)
        assert (placed(outcome, "gang"), placed(outcome, "other")) == (expected, 8)


def test_a_waiting_gang_has_the_refusal_of_its_quota() -> None:
    """The pod says which quota, of what, and why."""
    scenario = TWO.add(elastic_quota("a", most={"cpu": 2})).job("gang", tasks=3, labels=uses("a"))
    outcome = run(scenario)
    assert placed(outcome, "gang") == 0
    (told,) = {refusal.message for refusals in outcome.report.task_refusals.values() for refusal in refusals[:1]}
    assert told == "Insufficient quotas: quota a would exceed its maximum of cpu"


def test_one_job_may_have_pods_of_several_quotas() -> None:
    """Equal pods but for their label: each is held to its own quota, also where many are placed in one go."""
    scenario = TWO.add(elastic_quota("a", most={"cpu": 4}), elastic_quota("b", most={"cpu": 1}))
    scenario = scenario.job("mixed", tasks=0, min_available=5)
    for number in range(10):
        scenario = scenario.pod(f"mixed-{number}", job="mixed", labels=uses("ab"[number % 2]))
    outcome = run(scenario)
    assert sorted(outcome.bindings) == ["mixed-0", "mixed-1", "mixed-2", "mixed-4", "mixed-6"]


def test_equal_jobs_of_several_quotas_are_distinguished_in_later_cycles() -> None:
    """What one quota refused says nothing of the same pods of another, also where the answer is remembered."""
    scenario = TWO.add(elastic_quota("full", most={"cpu": 0}), elastic_quota("free", most={"cpu": 8}))
    scenario = scenario.job("first", labels=uses("full"))
    later = scenario.job("second", labels=uses("free")).job("third", labels=uses("full"))
    outcome = run(scenario, cycles=4, later={2: later})
    assert outcome.bindings.keys() == {"second-0"}
    waiting = {refusals[0].message for refusals in outcome.report.task_refusals.values()}
    assert waiting == {"Insufficient quotas: quota full would exceed its maximum of cpu"}


def test_more_important_pods_of_a_quota_evict_less_important_ones_of_it() -> None:
    """Those of another quota stay, though they are as unimportant; so do those that may not be evicted."""
    quotas = [elastic_quota("a", most={"cpu": 8}), elastic_quota("b", most={"cpu": 8})]
    scenario = TWO.add(*quotas).priority_class("high", 10)
    scenario = scenario.running("kept", on=["n1"], cpu=2, labels=uses("a", preemptible=False))
    scenario = scenario.running("low", on=["n1", "n1"], cpu=3, labels=uses("a"))
    scenario = scenario.running("other", on=["n2"], cpu=8, labels=uses("b"))
    scenario = scenario.job("new", cpu=3, labels=uses("a"), priority=10, priority_class="high")
    outcome = run(scenario, "allocate", "preempt")
    assert len(outcome.evictions) == 1
    assert outcome.evictions[0].startswith("low-")


def test_a_guarantee_comes_back_from_the_queue_that_borrowed_it() -> None:
    """Reclaim takes from the quota that has more than it may, for as large a gang as is guaranteed, and no larger."""
    scenario = TWO.queue("one").queue("two").add(*HALVES)
    scenario = scenario.running("borrower", on=["n1"] * 8 + ["n2"] * 8, queue="one", labels=uses("a"))
    for size, taken in ((8, 8), (9, 0)):
        outcome = run(scenario.job("owner", tasks=size, queue="two", labels=uses("b")), "allocate", "reclaim", cycles=4)
        assert (len(outcome.evictions), placed(outcome, "owner")) == (taken, taken)
        assert outcome.is_at_rest


def borrowed(*, priority: int = 0, size: int = 8) -> Scenario:
    """A quota that has borrowed all of two nodes, and a gang of the other quota, in one queue."""
    scenario = TWO.add(*HALVES).priority_class("high", 10)
    more: dict[str, Any] = {"priority": priority, "priority_class": "high"} if priority else {}
    scenario = scenario.running("borrower", on=["n1"] * 8 + ["n2"] * 8, labels=uses("a"), **more)
    return scenario.job("owner", tasks=size, labels=uses("b"))


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
@pytest.mark.parametrize(("size", "taken"), [(1, 1), (8, 8), (9, 0)])
@pytest.mark.parametrize("priority", [0, 10])
def test_a_guarantee_comes_back_within_one_queue_at_once(action: str, size: int, taken: int, priority: int) -> None:
    """No time passes, whatever the priorities; a gang beyond the guarantee gets nothing."""
    outcome = run(borrowed(priority=priority, size=size), "allocate", action, cycles=4)
    assert (len(outcome.evictions), placed(outcome, "owner")) == (taken, taken)
    assert outcome.is_at_rest


@pytest.mark.parametrize("divider", ["proportion", "capacity", "drf"])
@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_plugins_that_compare_queues_have_no_say_within_one_queue(divider: str, action: str) -> None:
    """The only queue has all it deserves; its own quotas exchange room all the same."""
    plugins = (("gang", "conformance"), ("elastic-quota", "predicates", divider))
    outcome = borrowed().run("allocate", action, plugins=plugins, cycles=4)
    assert (len(outcome.evictions), placed(outcome, "owner")) == (8, 8)
    assert outcome.is_at_rest


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
@pytest.mark.parametrize(("owner", "taken"), [(20, 8), (10, 0), (0, 0)])
def test_preemption_returns_a_guarantee_from_less_important_pods(action: str, owner: int, taken: int) -> None:
    """Pods of another quota are victims as well, where that quota has more than it may and priorities permit it."""
    scenario = TWO.add(*HALVES).priority_class("mid", 10).priority_class("high", 20)
    on = ["n1"] * 8 + ["n2"] * 8
    scenario = scenario.running("borrower", on=on, priority=10, priority_class="mid", labels=uses("a"))
    important: dict[str, Any] = {"priority": owner, "priority_class": {20: "high", 10: "mid"}[owner]} if owner else {}
    outcome = run(scenario.job("owner", tasks=8, labels=uses("b"), **important), "allocate", action, cycles=4)
    assert (len(outcome.evictions), placed(outcome, "owner")) == (taken, taken)
    assert outcome.is_at_rest


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_quota_within_its_limit_loses_nothing_within_a_queue(action: str) -> None:
    """Both have their halves: the owner has no room left, and takes none."""
    scenario = TWO.add(*HALVES).running("one", on=["n1"] * 8, labels=uses("a"))
    scenario = scenario.running("two", on=["n2"] * 8, labels=uses("b")).job("more", labels=uses("b"))
    assert run(scenario, "allocate", action, cycles=4).evictions == []


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_protected_pods_of_an_overusing_quota_stay(action: str) -> None:
    """Selected by the label of quotas and by Volcano's mark, in whatever tier the quotas are."""
    later = (("gang", "conformance"), ("elastic-quota", "predicates"))
    marks: list[dict[str, Any]] = [
        {"labels": uses("a", preemptible=False)},
        {"annotations": {"volcano.sh/preemptable": "false"}},
    ]
    for more, plugins in product(marks, (PLUGINS, later)):
        own = {"labels": uses("a"), **more}
        scenario = TWO.add(*HALVES).running("kept", on=["n1"] * 8 + ["n2"] * 8, **own)
        scenario = scenario.job("owner", labels=uses("b"))
        assert scenario.run("allocate", action, plugins=plugins, cycles=4).evictions == []


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_borrowing_gang_goes_whole_within_a_queue(action: str) -> None:
    """Its minimum needs all that it has, so all of it goes, whatever its priority."""
    scenario = TWO.add(*HALVES).priority_class("high", 10)
    on = ["n1"] * 8 + ["n2"] * 8
    gang: dict[str, Any] = {"min_available": 16, "priority": 10, "priority_class": "high", "labels": uses("a")}
    scenario = scenario.running("gang", on=on, **gang).job("owner", tasks=8, labels=uses("b"))
    tiers = (("gang",), ("elastic-quota", "predicates"))  # with it in one tier, gang protects minimums from reclaim
    outcome = scenario.run("allocate", action, plugins=tiers, cycles=4)
    assert (len(outcome.evictions), placed(outcome, "owner")) == (16, 8)


def test_a_limit_of_the_parent_is_returned_within_a_queue() -> None:
    """A node is free, but the parent is full: the child that borrowed its sibling's guarantee loses as much."""
    quotas = [
        elastic_quota("org", least={"cpu": 8}, most={"cpu": 8}, is_parent=True),
        elastic_quota("a", least={"cpu": 4}, most={"cpu": 8}, parent="org"),
        elastic_quota("b", least={"cpu": 4}, most={"cpu": 8}, parent="org"),
    ]
    scenario = TWO.add(*quotas).running("borrower", on=["n1"] * 8, labels=uses("a"))
    scenario = scenario.job("owner", tasks=4, labels=uses("b"))
    outcome = run(scenario, "allocate", "reclaim", cycles=4)
    assert (len(outcome.evictions), placed(outcome, "owner")) == (4, 4)


def test_amounts_in_use_are_not_reclaimed_where_they_are_guaranteed() -> None:
    """enableGuaranteeUsage: the borrower keeps what it has, and the owner waits."""
    arguments = {"elastic-quota": {"enableGuaranteeUsage": True, "delayEvictTime": "0s"}}
    outcome = run(borrowed(), "allocate", "reclaim", "shuffle", cycles=4, arguments=arguments)
    assert outcome.evictions == []
    outcome = run(borrowed(), "allocate", "reclaim", "shuffle", cycles=4)
    assert len(outcome.evictions) == 8


def test_pods_of_the_default_quota_move_when_their_quota_appears() -> None:
    """They name a quota that is made later: from the next cycle on it holds, and the default quota is free again."""
    arguments = {"elastic-quota": {"defaultQuotaGroupMax": {"cpu": 4}}}
    scenario = TWO.running("early", on=["n1"] * 4, labels=uses("late")).job("next", tasks=4, labels=uses("late"))
    assert placed(run(scenario, "allocate", arguments=arguments, cycles=2), "next") == 0
    made = scenario.add(elastic_quota("late", most={"cpu": 8}))
    outcome = run(scenario, "allocate", arguments=arguments, cycles=4, later={2: made.job("new", tasks=4)})
    assert (placed(outcome, "next"), placed(outcome, "new")) == (4, 4)


def overused() -> Scenario:
    """A quota that has borrowed all, and another that requests its half, in one queue."""
    scenario = TWO.add(*HALVES)
    scenario = scenario.running("borrower", on=["n1"] * 8 + ["n2"] * 8, labels=uses("a"))
    return scenario.job("owner", tasks=8, min_available=1, labels=uses("b"))


def test_too_much_is_given_back_after_a_while() -> None:
    """Two seconds long nothing happens, then eight go and the owner has its half."""
    arguments = {"elastic-quota": {"delayEvictTime": "2s"}}
    actions = ("allocate", "shuffle")
    assert run(overused(), *actions, cycles=3, arguments=arguments).evictions == []
    outcome = run(overused(), *actions, cycles=6, arguments=arguments)
    assert len(outcome.evictions) == 8
    assert placed(outcome, "owner") == 8


def test_no_pod_is_revoked_if_that_is_disabled() -> None:
    """Then what is lent stays lent."""
    for switch in ("monitorAllQuotas", "enableRuntimeQuota"):
        arguments = {"elastic-quota": {"delayEvictTime": "0s", switch: False}}
        assert run(overused(), "allocate", "shuffle", cycles=4, arguments=arguments).evictions == []


def test_pods_that_may_not_be_evicted_are_not_revoked() -> None:
    """The others go instead, more important or not."""
    scenario = TWO.add(*HALVES)
    scenario = scenario.running("kept", on=["n1"] * 8, labels=uses("a", preemptible=False))
    scenario = scenario.running("borrower", on=["n2"] * 8, priority=100, labels=uses("a"))
    scenario = scenario.job("owner", tasks=8, min_available=1, labels=uses("b"))
    outcome = run(scenario, "allocate", "shuffle", cycles=4, arguments={"elastic-quota": {"delayEvictTime": "0s"}})
    assert len(outcome.evictions) == 8
    assert all(name.startswith("borrower-") for name in outcome.evictions)


def revoked(scenario: Scenario) -> list[str]:
    """Victims in a cluster in which the other quota requests its half."""
    scenario = scenario.job("owner", tasks=8, min_available=1, labels=uses("b"))
    arguments = {"elastic-quota": {"delayEvictTime": "0s"}}
    return run(scenario, "allocate", "shuffle", cycles=4, arguments=arguments).evictions


def test_pods_with_a_mark_of_their_own_are_spared() -> None:
    """Volcano's mark says so, whatever quotas say."""
    kept = {"volcano.sh/preemptable": "false"}
    scenario = TWO.add(*HALVES)
    scenario = scenario.running("marked", on=["n1"] * 8, labels=uses("a"), annotations=kept)
    scenario = scenario.running("borrower", on=["n2"] * 8, priority=100, labels=uses("a"))
    found = revoked(scenario)
    assert len(found) == 8
    assert all(name.startswith("borrower-") for name in found)


def test_a_gang_with_a_protected_pod_and_no_spare_members_is_not_evicted() -> None:
    """Its excess stays with its quota: half a gang would be useless."""
    scenario = TWO.add(*HALVES).job("gang", tasks=0, min_available=12)
    for number in range(12):
        labels = uses("a", preemptible=number != 3)
        scenario = scenario.pod(f"gang-{number}", job="gang", node="n1" if number < 8 else "n2", labels=labels)
    assert revoked(scenario) == []


def test_a_gang_whose_minimum_needs_the_victim_is_evicted_whole() -> None:
    """Half a gang would hold room and do nothing."""
    scenario = TWO.add(*HALVES)
    scenario = scenario.running("gang", on=["n1"] * 8 + ["n2"] * 4, min_available=12, labels=uses("a"))
    scenario = scenario.job("owner", tasks=8, min_available=1, labels=uses("b"))
    outcome = run(scenario, "allocate", "shuffle", cycles=4, arguments={"elastic-quota": {"delayEvictTime": "0s"}})
    assert len(outcome.evictions) == 12


def test_a_full_quota_does_not_block_other_pods_of_the_role() -> None:
    """It is as large as one that found no node, and still has the reason of its quota."""
    scenario = TWO.add(
        elastic_quota("free", most={"cpu": 16}), elastic_quota("lost", most={"cpu": 8}, parent="nowhere")
    )
    scenario = scenario.job("mixed", tasks=0, min_available=1)
    for number, (role, quota, cpu) in enumerate([("a", "free", 9), ("b", "lost", 9), ("b", "free", 1)]):
        scenario = scenario.pod(f"mixed-{number}", job="mixed", role=role, cpu=cpu, labels=uses(quota))
    outcome = run(scenario)
    assert outcome.bindings.keys() == {"mixed-2"}
    reasons = {task: refusals[0].plugin for task, refusals in outcome.report.task_refusals.items()}
    assert reasons == {"default-mixed-0": "resources", "default-mixed-1": "elastic-quota"}


def test_pods_beside_all_quotas_may_have_more_than_there_is() -> None:
    """Nothing is left to divide without guarantees; a quota waits with a reason."""
    scenario = Scenario().node("n1", cpu=2).add(elastic_quota("a", most={"cpu": 2}))
    scenario = scenario.running("stranger", on=["n1"] * 3).job("new", labels=uses("a"))
    outcome = run(scenario)
    assert outcome.report.failures == {}
    assert [refusals[0].reason for refusals in outcome.report.task_refusals.values()] == ["InsufficientQuota"]


def test_a_gang_of_several_quotas_makes_room_by_the_pod_that_needs_it() -> None:
    """The first of its pods is kept out by its quota; the other takes room of its own quota."""
    quotas = [elastic_quota("full", most={"cpu": 0}), elastic_quota("own", most={"cpu": 8})]
    scenario = Scenario().node("n1", cpu=4).add(*quotas).priority_class("high", 10)
    scenario = scenario.running("low", on=["n1"] * 4, labels=uses("own"))
    scenario = scenario.job("mixed", tasks=0, min_available=1, priority_class="high")
    for number, quota in enumerate(("full", "own")):
        scenario = scenario.pod(f"mixed-{number}", job="mixed", priority=10, labels=uses(quota))
    outcome = run(scenario, "allocate", "gangpreempt")
    assert len(outcome.evictions) == 1
    assert set(outcome.pipelined) == {"mixed-1"}


def test_pods_of_a_parent_count_beside_its_children() -> None:
    """The parent has 4 CPUs, of which a pod of its own uses 2: its child gets the others, and gives none of them up."""
    there = Scenario().queue("default").node("n1", cpu=8)
    there = there.add(
        elastic_quota("org", least={"cpu": 4}, most={"cpu": 4}, is_parent=True),
        elastic_quota("team", least={"cpu": 1}, most={"cpu": 4}, parent="org"),
    )
    there = there.job("own", tasks=1, min_available=0, cpu=2, labels=uses("org"), running_on=["n1"])
    outcome = there.job("child", tasks=4, min_available=1, cpu=1, labels=uses("team")).run(
        "enqueue", "allocate", plugins=("gang", "predicates", "elastic-quota"), cycles=2
    )

    assert outcome.bindings == {"child-0": "n1", "child-1": "n1"}
    assert "quota org, an ancestor of team, would exceed its maximum of cpu" in outcome.why_pod("child-2")
