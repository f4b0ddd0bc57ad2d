"""Native groups in whole cycles: all or nothing, priority, disruption mode, topology, and their conditions."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.gangs import annotated, described_by, gang_pod_group
from tests.native import ALL, native_group, of_native

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "proportion", "nodeorder"))
PREEMPT = ("enqueue", "allocate", "preempt", "backfill")
BASE = Scenario().queue("default")
JOB = "podgroup:a"


def members(scenario: Scenario, name: str, count: int, *, nodes: Sequence[str] = (), **more: Any) -> Scenario:
    """Add pods `<name>-<number>` of a native group, the first ones on nodes."""
    for number in range(count):
        node = nodes[number] if number < len(nodes) else ""
        scenario = scenario.pod(f"{name}-{number}", spec=of_native(name), node=node, **more)
    return scenario


def run(scenario: Scenario, *actions: str, **more: Any) -> Outcome:
    """Decide with the plugins of a usual configuration."""
    return scenario.run(*(actions or ("enqueue", "allocate", "backfill")), plugins=PLUGINS, **more)


def native(outcome: Outcome) -> list[tuple[str, str, str, str]]:
    """Return the written conditions: group, type, status and reason."""
    return [(each.name, each.type, each.status, each.reason) for each in outcome.report.native_statuses]


@pytest.mark.parametrize(("cpu", "bound"), [(3, 3), (2, 0)])
def test_a_gang_is_bound_whole_or_not_at_all(cpu: int, bound: int) -> None:
    """Two of three pods would fit; none is bound."""
    outcome = run(members(BASE.node("n", cpu=cpu).add(native_group("a", 3)), "a", 3))
    assert len(outcome.bindings) == bound


def test_pods_of_a_basic_group_are_bound_one_by_one() -> None:
    """The group has no minimum."""
    outcome = run(members(BASE.node("n", cpu=2).add(native_group("a")), "a", 3))
    assert len(outcome.bindings) == 2


def test_pods_beyond_the_minimum_are_bound_too() -> None:
    """As many as fit."""
    outcome = run(members(BASE.node("n", cpu=3).add(native_group("a", 2)), "a", 4))
    assert len(outcome.bindings) == 3


def test_running_pods_count_towards_the_minimum() -> None:
    """A replacement of a lost pod needs no company."""
    outcome = run(members(BASE.node("n", cpu=3).add(native_group("a", 3)), "a", 3, nodes=("n", "n")))
    assert outcome.bindings == {"a-2": "n"}


@pytest.mark.parametrize(
    ("version", "type_"), [("v1alpha2", "PodGroupScheduled"), ("v1beta1", "PodGroupInitiallyScheduled")]
)
def test_a_scheduled_group_has_its_condition(version: str, type_: str) -> None:
    """The type of the condition depends on the version."""
    outcome = run(members(BASE.node("n", cpu=3).add(native_group("a", 3, version=version)), "a", 3))
    assert native(outcome) == [("a", type_, "True", "Scheduled")]


def test_an_unschedulable_group_has_the_reason_in_its_condition() -> None:
    """The message is that of a PodGroup of Volcano."""
    outcome = run(members(BASE.node("n", cpu=2).add(native_group("a", 3)), "a", 3))

    (status,) = outcome.report.native_statuses
    assert (status.type, status.status, status.reason) == ("PodGroupInitiallyScheduled", "False", "Unschedulable")
    assert status.message.startswith("1/3 tasks in gang unschedulable") or "unschedulable" in status.message


def test_nothing_is_written_before_there_are_enough_pods() -> None:
    """Nothing was tried."""
    outcome = run(members(BASE.node("n", cpu=9).add(native_group("a", 3)), "a", 2))

    assert native(outcome) == []
    assert outcome.why(JOB) == "gang: Not enough valid tasks for gang-scheduling, valid: 2, min: 3"


def test_a_group_that_was_scheduled_stays_scheduled() -> None:
    """Also when its pods are gone and others wait."""
    condition = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}
    group = native_group("a", 3, status={"conditions": [condition]})
    assert native(run(members(BASE.node("n", cpu=2).add(group), "a", 3))) == []


def test_a_condition_is_written_once() -> None:
    """The next cycle has nothing to write."""
    outcome = run(members(BASE.node("n", cpu=2).add(native_group("a", 3)), "a", 3), cycles=3)

    assert native(outcome) == []
    assert len(outcome.rounds[0].report.native_statuses) == 1


# Topology


RACKS = (
    BASE.node("a1", cpu=4, labels={"rack": "a"})
    .node("b1", cpu=2, labels={"rack": "b"})
    .node("b2", cpu=3, labels={"rack": "b"})
)


def test_a_group_with_a_topology_lies_in_one_domain_of_the_label() -> None:
    """Rack a has room for four of five pods, and rack b for all."""
    outcome = run(members(RACKS.add(native_group("a", 5, key="rack")), "a", 5))
    assert sorted(outcome.bindings.values()) == ["b1", "b1", "b2", "b2", "b2"]


def test_a_domain_for_all_pods_comes_before_one_for_the_minimum() -> None:
    """Rack a is fuller, but has no room for the fifth pod."""
    scenario = RACKS.pod("busy", node="a1", cpu=1, scheduler="other")
    outcome = run(members(scenario.add(native_group("a", 3, key="rack")), "a", 5))
    assert set(outcome.bindings.values()) == {"b1", "b2"}
    assert len(outcome.bindings) == 5


def test_no_domain_with_room_is_a_reason_by_label() -> None:
    """The cluster has room for six pods, but no rack has."""
    outcome = run(members(RACKS.add(native_group("a", 6, key="rack")), "a", 6))

    assert outcome.bindings == {}
    assert "the nodes of no value of label rack could fit 6 tasks even if empty: largest b fits 5" in outcome.why(JOB)


def test_further_pods_join_the_domain_of_those_that_run() -> None:
    """Rack b has more room."""
    outcome = run(members(RACKS.add(native_group("a", 2, key="rack")), "a", 5, nodes=("a1", "a1")))
    assert outcome.bindings == {"a-2": "a1", "a-3": "a1"}


def test_nodes_without_the_label_are_in_no_domain() -> None:
    """A label that no node has lets the group lie nowhere."""
    outcome = run(members(RACKS.add(native_group("a", 1, key="zone")), "a", 1))

    assert outcome.bindings == {}
    assert "the nodes of no value of label zone fit 1 task: there is none" in outcome.why(JOB)


def test_gangpreempt_makes_room_inside_one_domain() -> None:
    """Victims of both racks would be needed without the topology."""
    scenario = RACKS.job("low-a", cpu=4, running_on=("a1",)).job("low-b", cpu=2, running_on=("b1",))
    scenario = members(scenario.add(native_group("a", 4, key="rack", priority=10)), "a", 4, priority=10)
    outcome = scenario.run("enqueue", "allocate", "gangpreempt", plugins=PLUGINS)

    assert outcome.evictions in (["low-a-0"], ["low-b-0"])
    assert len(outcome.pipelined) == 4
    assert len({"a1" if node == "a1" else "b" for node in outcome.pipelined.values()}) == 1


# Disruption mode and priority


def victims(mode: Any, *, minimum: int = 2, running: int = 3) -> list[str]:
    """Return the pods of a group on a full node that are evicted for one pod of a higher priority."""
    group = native_group("a", minimum, disruptionMode=mode, priority=0)
    scenario = members(BASE.node("n", cpu=3).add(group), "a", running, nodes=("n",) * running)
    scenario = scenario.priority_class("high", 10).job("high", tasks=1, cpu=1, priority_class="high", priority=10)
    return sorted(run(scenario, *PREEMPT).evictions)


def test_pods_of_a_group_with_mode_all_are_evicted_together() -> None:
    """Also the pods above the minimum."""
    assert victims(ALL) == ["a-0", "a-1", "a-2"]


def test_a_pod_of_a_group_with_mode_single_is_evicted_alone() -> None:
    """Also below the minimum."""
    assert len(victims({"single": {}}, minimum=3)) == 1
    assert len(victims(None, minimum=2)) == 1


def test_the_priority_of_the_group_decides_what_it_may_evict() -> None:
    """Its pods have the same priority as the victims, and the group a higher one."""
    group = native_group("a", 2, priority=10)
    scenario = BASE.node("n", cpu=3).job("low", tasks=3, min_available=1, running_on=("n",) * 3)
    higher, equal = (members(scenario.add(each), "a", 2, priority=0) for each in (group, native_group("a", 2)))

    assert len(run(higher, *PREEMPT).evictions) == 2
    assert run(equal, *PREEMPT).evictions == []


def test_a_group_with_the_policy_never_preempts_nothing() -> None:
    """The reason names the group."""
    group = native_group("a", 2, priority=10, preemptionPolicy="Never")
    scenario = BASE.node("n", cpu=2).pod("low-0", node="n").pod("low-1", node="n")
    outcome = run(members(scenario.add(group), "a", 2, priority=10), *PREEMPT)

    assert outcome.evictions == []
    assert any("its PodGroup has the preemption policy Never" in each.text for each in outcome.refusals(JOB))


# All dialects


def four_dialects(order: Sequence[str]) -> Scenario:
    """Return a cluster in which one gang of two pods of each dialect waits, created in an order, with room for two."""
    created = {name: f"2026-01-01T00:0{at}:00Z" for at, name in enumerate(order)}
    scenario = BASE.node("n", cpu=4).job("volcano", tasks=2)
    for number in range(2):
        scenario = (
            scenario.pod(f"native-{number}", spec=of_native("native"))
            .pod(f"sigs-{number}", labels=described_by("sigs"))
            .pod(f"annotated-{number}", annotations=annotated("annotated", 2))
        )
    scenario = scenario.add(
        native_group("native", 2, created=created["native"]), gang_pod_group("sigs", 2, created=created["sigs"])
    )
    return _dated(scenario, {name: created[name] for name in ("annotated", "volcano")})


def _dated(scenario: Scenario, created: dict[str, str]) -> Scenario:
    """Set the creation of pods and PodGroups by the first part of their names."""

    def dated(each: Mapping[str, Any]) -> Mapping[str, Any]:
        time = created.get(each["metadata"]["name"].partition("-")[0])
        return each if time is None else {**each, "metadata": {**each["metadata"], "creationTimestamp": time}}

    return Scenario().add(*map(dated, scenario.objects))


ORDERS = [
    ("volcano", "native", "sigs", "annotated"),
    ("annotated", "sigs", "native", "volcano"),
    ("native", "annotated", "volcano", "sigs"),
    ("sigs", "volcano", "annotated", "native"),
]


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_gangs_of_all_dialects_are_served_in_the_order_of_their_creation(order: Sequence[str]) -> None:
    """The first two are bound whole, the others wait whole."""
    plugins = (("coscheduling", "priority", "gang"), ("predicates", "nodeorder"))
    outcome = four_dialects(order).run("enqueue", "allocate", "backfill", plugins=plugins)

    bound = sorted(name.partition("-")[0] for name in outcome.bindings)
    assert bound == sorted([*order[:2], *order[:2]])


@pytest.mark.parametrize("first", ["native", "annotated", "sigs", "volcano"])
def test_a_gang_of_a_higher_priority_comes_first_in_any_dialect(first: str) -> None:
    """It is the youngest one."""
    order = [*sorted({"native", "annotated", "sigs", "volcano"} - {first}), first]
    scenario = four_dialects(order).priority_class("high", 10)
    objects = [_raised(each) if each["metadata"]["name"].startswith(first) else each for each in scenario.objects]
    plugins = (("coscheduling", "priority", "gang"), ("predicates", "nodeorder"))
    outcome = Scenario().add(*objects).run("enqueue", "allocate", "backfill", plugins=plugins)

    assert {name.partition("-")[0] for name in outcome.bindings} == {first, order[0]}
    assert len(outcome.bindings) == 4


def _raised(each: Mapping[str, Any]) -> Mapping[str, Any]:
    """Give a pod or a PodGroup of Volcano the class `high`."""
    is_volcano = "volcano" in each.get("apiVersion", "")
    spec = {"priorityClassName": "high"} | ({} if is_volcano or each["kind"] != "Pod" else {"priority": 10})
    return {**each, "spec": {**each["spec"], **(spec if is_volcano or each["kind"] == "Pod" else {})}}
