"""Pre-allocation: a Reservation reserves what running pods use, which use it from then on (R33 to R36)."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.framework.candidates.takeovers import Takeovers
from pyroclast.model.arrays import IntArray
from pyroclast.model.tasks import Task
from pyroclast.testing import Scenario
from tests.reservations import ALLOCATED, affinity, claimed, outcome_of, reservation

REQUIRED = {"scheduling.koordinator.sh/pre-allocation-required": "true"}
SEVERAL: dict[str, Any] = {"preAllocationPolicy": {"enableMultiple": True}}
OWNER = {"app": "a"}


def full(*cpus: int, free: int = 0, labels: Mapping[str, str] | None = None) -> Scenario:
    """Return a node on which pods run that match the owners: `run0` has the first number of CPUs."""
    scenario = Scenario().queue("default").node("n1", cpu=sum(cpus) + free)
    for number, cpu in enumerate(cpus):
        scenario = scenario.pod(f"run{number}", node="n1", cpu=cpu, labels=labels or OWNER)
    return scenario


def taking(cpu: int = 4, **fields: Any) -> dict[str, Any]:
    """Return a Reservation that may take over pods."""
    given = {"allocatePolicy": "Restricted", "preAllocation": True, "allocateOnce": False, **fields}
    return reservation("r", cpu=cpu, **given)


def decide(scenario: Scenario, cycles: int = 1, **arguments: Any) -> Any:
    """Decide with arguments of the plugin."""
    return outcome_of(scenario, cycles=cycles, arguments={"reservation": arguments})


def taken(outcome: Any) -> list[str]:
    """Return the pods that the Reservation takes over, in the order of the writes."""
    steps = [step for plan in outcome.rounds[0].plans for bind in plan.binds for step in bind.preparations]
    assert all(json.loads(step.details["text"]) == {"name": "r", "uid": "uid-r"} for step in steps)
    assert {step.details["key"] for step in steps} <= {ALLOCATED}
    return [step.name for step in steps]


def test_one_pod_is_taken_over() -> None:
    """A pod of 4 CPUs fills the node: the Reservation of 4 CPUs fits beside it, because the pod uses it."""
    outcome = decide(full(4).add(taking()), cycles=3)

    assert taken(outcome) == ["run0"]
    (room,) = outcome.rounds[-1].snapshot.reservations.values()
    assert list(room.users) == ["default-run0"]
    assert room.rest()["cpu"] == 0


def test_the_node_has_the_same_free_amounts_once_it_is_available() -> None:
    """Two CPUs are free and a pod uses 2 of the 3 that are reserved: one CPU is free before and after."""
    there = full(2, free=2).add(taking(cpu=3))
    others = there.job("s", tasks=3, min_available=1, cpu=1)
    outcome = decide(others, cycles=3)

    assert taken(outcome) == ["run0"]
    assert sum(name.startswith("s-") for name in outcome.bindings) == 1


def test_the_pod_must_fit_the_reservation() -> None:
    """A pod of 5 CPUs is larger than the Reservation of 4, which waits for free capacity."""
    assert taken(decide(full(5).add(taking()))) == []
    assert decide(full(5).add(taking())).bindings == {}


def test_only_one_pod_is_taken_over_by_default() -> None:
    """Two pods of 2 CPUs use the node."""
    assert decide(full(2, 2).add(taking())).bindings == {}
    assert taken(decide(full(2, 2).add(taking(**SEVERAL)))) == ["run0", "run1"]


def test_several_pods_are_taken_over_until_the_node_has_room() -> None:
    """The largest come first, and those that would exceed the Reservation of 4 CPUs are skipped."""
    outcome = decide(full(1, 3, 2, 1, free=0).add(taking(**SEVERAL)))

    assert taken(outcome) == ["run1", "run0"]


def test_free_capacity_is_enough_unless_a_pod_must_be_taken_over() -> None:
    """Four CPUs are free, and no pod matches the owners."""
    strangers = {"app": "b"}
    assert "uid-r" in decide(full(1, free=4, labels=strangers).add(taking())).bindings

    required = taking(labels=REQUIRED)
    outcome = decide(full(1, free=4, labels=strangers).add(required))
    assert outcome.bindings == {}
    assert "no pod match reservation with pre allocation required" in outcome.why_pod("reservations/r")
    assert taken(decide(full(1, free=4).add(required))) == ["run0"]


def test_the_reason_is_that_no_pod_is_suitable() -> None:
    """A pod must be taken over, and the only one is too large."""
    outcome = decide(full(5, free=4).add(taking(labels=REQUIRED)))

    assert "1 node(s) no pod(s) to meet the pre-allocation requirements" in outcome.why_pod("reservations/r")


def test_free_capacity_is_preferred_if_configured() -> None:
    """A pod matches, and four CPUs are free."""
    there = full(1, free=4).add(taking())

    assert taken(decide(there)) == ["run0"]
    assert taken(decide(there, preAllocationConfig={"preferNoPreAllocatedPods": True})) == []


@pytest.mark.parametrize("policy", ["", "Aligned"])
def test_it_is_supported_with_the_policy_restricted_alone(policy: str) -> None:
    """The reason names the policy."""
    outcome = decide(full(1, free=4).add(taking(allocatePolicy=policy)))

    assert outcome.bindings == {}
    assert "pre allocation is unsupported with current attributes" in outcome.why_pod("reservations/r")


def test_pods_with_a_reservation_are_not_taken_over() -> None:
    """The pod names another one."""
    annotations = {ALLOCATED: json.dumps({"name": "other", "uid": "uid-other"})}
    there = Scenario().queue("default").node("n1", cpu=4).pod("run0", node="n1", cpu=4, labels=OWNER)
    used = Scenario().queue("default").node("n1", cpu=4)
    used = used.pod("run0", node="n1", cpu=4, labels=OWNER, annotations=annotations)

    assert taken(decide(there.add(taking()))) == ["run0"]
    assert taken(decide(used.add(taking()))) == []


def test_pods_whose_annotations_exclude_the_reservation_are_not_taken_over() -> None:
    """The affinity of the pod names another Reservation, or cannot be parsed."""
    there = Scenario().queue("default").node("n1", cpu=4)
    for annotations in (affinity(name="other"), dict.fromkeys(affinity(), "{")):
        used = there.pod("run0", node="n1", cpu=4, labels=OWNER, annotations=annotations)
        assert taken(decide(used.add(taking()))) == []
    named = there.pod("run0", node="n1", cpu=4, labels=OWNER, annotations=affinity(name="r"))
    assert taken(decide(named.add(taking()))) == ["run0"]


def test_a_pod_that_was_annotated_before_a_restart_is_taken_over() -> None:
    """The scheduler was killed between the annotation of the pod and the status of the Reservation."""
    there = Scenario().queue("default").node("n1", cpu=4)
    there = there.pod("run0", node="n1", cpu=4, labels=OWNER, annotations=claimed("r"))

    assert taken(decide(there.add(taking()))) == ["run0"]


def test_two_reservations_do_not_take_over_one_pod() -> None:
    """One of them waits."""
    second = taking()
    second["metadata"] = {**second["metadata"], "name": "q", "uid": "uid-q"}
    outcome = outcome_of(full(4).add(taking(), second), cycles=3)

    assert [bind.name for each in outcome.rounds for plan in each.plans for bind in plan.binds] == ["uid-q"]


def test_the_mode_cluster_needs_an_argument_and_a_label() -> None:
    """Pods with the label are taken over, the highest priority first."""
    policy: dict[str, Any] = {"preAllocationPolicy": {"mode": "Cluster"}}
    base = Scenario().queue("default").node("n1", cpu=6)
    for name, priority, label in (("run0", 9, "false"), ("run1", 1, "true"), ("run2", 2, "true")):
        base = base.pod(
            name,
            node="n1",
            cpu=2,
            labels={**OWNER, "pod.koordinator.sh/is-pre-allocatable": label},
            annotations={"pod.koordinator.sh/pre-allocatable-priority": str(priority)},
        )
    there = base.add(taking(cpu=2, **policy))

    assert "cluster mode pre-allocation which is disabled" in decide(there).why_pod("reservations/r")
    assert taken(decide(there, preAllocationConfig={"enableClusterMode": True})) == ["run2"]


def test_nodes_with_fewer_pods_to_take_over_are_preferred() -> None:
    """Two pods on the first node, and one on the second, have the same size together."""
    there = full(2, 2).node("n2", cpu=4).pod("large", node="n2", cpu=4, labels=OWNER)

    assert taken(decide(there.add(taking(**SEVERAL)))) == ["large"]


def test_a_plan_leaves_the_pod_and_its_room_alone() -> None:
    """After all cycles the pod runs where it ran, and a stranger has no room."""
    outcome = decide(full(4).add(taking()).job("s", cpu=1), cycles=4)

    assert outcome.bindings.keys() == {"uid-r"}
    assert outcome.evictions == []


def test_a_bounded_number_of_pods_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two pods are compared where the selector names no label, and only pods with the label where it does."""
    monkeypatch.setattr("pyroclast.plugins.reservation.taking_over.MOST_PODS", 2)
    there = Scenario().queue("default").node("n1", cpu=6)
    for number in range(3):
        there = there.pod(f"run{number}", node="n1", cpu=2, labels={"n": str(number), **OWNER})

    def owner(**selector: Any) -> dict[str, Any]:
        return taking(cpu=2, owners=[{"labelSelector": selector}])

    def among(*values: str) -> dict[str, Any]:
        return owner(matchExpressions=[{"key": "n", "operator": "In", "values": list(values)}])

    assert taken(decide(there.add(among("1")))) == ["run1"]
    assert decide(there.add(among("2"))).bindings == {}
    assert taken(decide(there.add(owner(matchLabels={"n": "2"})))) == ["run2"]


def test_waiting_reservations_divide_the_comparisons(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three Reservations and six comparisons: each compares the first two pods, so that the third one is not found."""
    monkeypatch.setattr("pyroclast.plugins.reservation.taking_over._MOST_TOGETHER", 6)
    monkeypatch.setattr("pyroclast.plugins.reservation.taking_over._LEAST_PART", 1)
    there = Scenario().queue("default").node("n1", cpu=6)
    for number in range(3):
        there = there.pod(f"run{number}", node="n1", cpu=2, labels={"n": str(number), **OWNER})

    def with_others(count: int) -> Scenario:
        scenario = there
        for number in range(count):
            selector = {"matchExpressions": [{"key": "n", "operator": "In", "values": ["2"]}]}
            given: dict[str, Any] = {"allocatePolicy": "Restricted", "preAllocation": True, "allocateOnce": False}
            owners = [{"labelSelector": selector}]
            scenario = scenario.add(reservation("r" if not number else f"s{number}", cpu=2, owners=owners, **given))
        return scenario

    assert taken(decide(with_others(1))) == ["run2"]
    assert decide(with_others(3)).bindings == {}


def test_equal_pods_are_chosen_among_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty equal pods are too small for the Reservation: the amounts of one of them tell that."""
    counted = []
    count = Takeovers._count

    def _count(self: Takeovers, task: Task, pod: Task) -> IntArray:
        counted.append(pod.name)
        return count(self, task, pod)

    monkeypatch.setattr(Takeovers, "_count", _count)
    outcome = decide(full(*[1] * 50).add(taking(cpu=4)))

    assert outcome.bindings == {}
    assert len(counted) == 1


def test_the_end_of_a_reservation_frees_nothing_that_its_pods_use() -> None:
    """In the cycle of the takeover, no job is blocked by the Reservation: the pod that it takes over fills the node."""
    outcome = decide(full(4).add(taking()).job("waiting", cpu=2))
    (blocked,) = [status for status in outcome.report.group_statuses if status.job == "default/waiting"]

    assert "Insufficient cpu" in blocked.conditions[0].message
    assert "fits when" not in blocked.conditions[0].message
