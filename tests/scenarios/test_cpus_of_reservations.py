"""CPUs and NUMA nodes of Reservations: chosen with the node, kept from other pods, and given to owners (R29, R31)."""

import json
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.devices import NVIDIA, device, gpu
from tests.nodenuma import NUMA, QOS, SPEC, STATUS, cpus_of, holding, node, pinned, policies, run, topology
from tests.reservations import affinity, claimed, reservation

PLUGINS = ("gang", "predicates", "nodenuma", "reservation")
OWNER = {"app": "a", QOS: "LSR"}


def decided(scenario: Scenario, *, cycles: int = 1) -> Outcome:
    """Allocate with Reservations."""
    return run(scenario, plugins=PLUGINS, cycles=cycles)


def kept(cpus: str, count: int, amounts: dict[int, Any] | None = None, name: str = "r", **more: Any) -> dict[str, Any]:
    """A Reservation on the node with CPUs of its own."""
    told = [{"node": numa, "resources": each} for numa, each in (amounts or {}).items()]
    status = {"cpuset": cpus, "numaNodeResources": told}
    return reservation(
        name, node="n1", cpu=count, annotations={STATUS: json.dumps(status)}, labels={QOS: "LSR"}, **more
    )


def owner(scenario: Scenario, cpu: int = 2, name: str = "p", **given: Any) -> Scenario:
    """Add a pod that matches the owners."""
    own = {key: given.pop(key) for key in ("required", "preferred", "numa") if key in given}
    return scenario.job(
        name, tasks=1, cpu=cpu, labels=OWNER, annotations={**policies(**own), **given.pop("annotations", {})}, **given
    )


def test_a_reservation_gets_cpus_that_others_do_not() -> None:
    """They are written on it; a pod of the next cycle gets others, and its owner gets them."""
    made = reservation("r", cpu=4, template_metadata={"labels": {QOS: "LSR"}}, allocateOnce=False)
    there = node().add(made)
    outcome = run(owner(pinned(there, "s", 4), 4), plugins=PLUGINS, cycles=3)

    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    found = {str(each.reservation or each.name): json.loads(each.annotations[STATUS])["cpuset"] for each in binds}
    assert found["s-0"] != found["r"]
    assert found["p-0"] == found["r"]


def test_owners_get_the_cpus_of_their_reservation() -> None:
    """CPUs 3 and 7 are reserved: the owner gets them, although whole cores with lower numbers are free."""
    there = node().add(kept("3,7", 2))

    assert cpus_of(decided(owner(there))) == "3,7"
    assert cpus_of(decided(pinned(there, "p", 2))) == "0,4"
    assert "p-0" not in decided(pinned(there, "p", 7)).bindings


def test_aligned_adds_cpus_of_the_node() -> None:
    """An owner of four CPUs gets the two reserved ones and another core."""
    there = node().add(kept("3,7", 2, allocatePolicy="Aligned"))

    assert cpus_of(decided(owner(there, 4))) == "0,3-4,7"


@pytest.mark.parametrize(("cpu", "expected"), [(2, "3,7"), (4, "")])
def test_restricted_gives_cpus_of_the_reservation_alone(cpu: int, expected: str) -> None:
    """An owner of four waits, although there are enough free CPUs."""
    there = node().add(kept("3,7", 2, allocatePolicy="Restricted"))

    assert cpus_of(decided(owner(there, cpu, annotations=affinity(name="r")))) == expected


def test_a_restricted_owner_needs_whole_cores_of_the_reservation() -> None:
    """Two CPUs of different cores are reserved, and the owner requires a whole core; the reason says so."""
    there = node().add(kept("2-3", 2, allocatePolicy="Restricted"))
    outcome = decided(owner(there, required="FullPCPUs", annotations=affinity(name="r")))

    assert outcome.bindings == {}
    assert "r: not enough cpus available to satisfy request" in outcome.why_pod("p-0")


def test_several_owners_share_the_cpus() -> None:
    """Two owners get a reserved core each; a third one gets another core."""
    there = node().add(kept("2-3,6-7", 4, allocateOnce=False))
    outcome = decided(owner(owner(owner(there, name="a"), name="b"), name="c"))

    assert sorted(cpus_of(outcome, f"{name}-0") for name in "abc") == ["0,4", "2,6", "3,7"]


def test_owners_that_run_use_the_cpus_after_a_restart() -> None:
    """One owner runs on core 2: core 3 is left of the Reservation, and a stranger gets cores 0 and 1 at most."""
    there = node().add(kept("2-3,6-7", 4, {1: {"cpu": "4"}}, allocateOnce=False))
    told = {STATUS: json.dumps({"cpuset": "2,6", "numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]})}
    there = there.running("a", on=["n1"], cpu=2, labels=OWNER, annotations={**claimed("r"), **told})

    assert cpus_of(decided(owner(there, name="b")), "b-0") == "3,7"
    assert cpus_of(decided(pinned(there, "s", 4)), "s-0") == "0-1,4-5"
    assert "s-0" not in decided(pinned(there, "s", 5)).bindings


def test_pods_that_ignore_reservations_use_reserved_cpus() -> None:
    """All cores but one are in use or reserved."""
    there = holding(node(), "held", "0-1,4-5", 4).add(kept("2-3,6-7", 4))
    labels = {"scheduling.koordinator.sh/reservation-ignored": "true", QOS: "LSR"}

    assert cpus_of(decided(there.job("p", cpu=4, labels=labels))) == "2-3,6-7"
    assert "p-0" not in decided(pinned(there, "p", 4)).bindings


def test_numa_nodes_of_the_reservation_come_first() -> None:
    """An owner with a NUMA policy is placed on the second NUMA node, where its Reservation is."""
    there = node().add(kept("", 2, {1: {"cpu": "2"}}))
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    outcome = decided(there.job("p", cpu=2, labels={"app": "a"}, annotations=aligned))

    (each,) = [bind for done in outcome.rounds for plan in done.plans for bind in plan.binds]
    assert json.loads(each.annotations[STATUS]) == {"numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]}
    assert "scheduling.koordinator.sh/reservation-allocated" in each.annotations


def test_a_reservation_on_other_numa_nodes_is_not_used() -> None:
    """The second NUMA node has too little beside the reserved CPU: the owner runs on the first one, without it."""
    there = holding(node(), "held", "2,6", 2, amounts={1: {"cpu": "2"}}).add(kept("", 1, {1: {"cpu": "1"}}))
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    outcome = decided(there.job("p", cpu=3, labels={"app": "a"}, annotations=aligned))

    (each,) = [bind for done in outcome.rounds for plan in done.plans for bind in plan.binds]
    assert json.loads(each.annotations[STATUS])["numaNodeResources"][0]["node"] == 0
    assert "scheduling.koordinator.sh/reservation-allocated" not in each.annotations


def test_a_reservation_that_has_expired_keeps_no_cpus_and_amounts() -> None:
    """Its phase still shows that it is Available, and its owner keeps two CPUs (R43)."""
    there = node().add(kept("0-7", 8, {0: {"cpu": "4"}, 1: {"cpu": "4"}}, ttl="1s", allocateOnce=False))
    told = {STATUS: json.dumps({"cpuset": "0,4", "numaNodeResources": [{"node": 0, "resources": {"cpu": "2"}}]})}
    there = there.running("a", on=["n1"], cpu=2, labels=OWNER, annotations={**claimed("r"), **told})

    assert cpus_of(decided(pinned(there, "p", 6))) == "1-3,5-7"
    assert cpus_of(decided(pinned(there, "p", 4, numa="SingleNUMANode"))) == "2-3,6-7"
    assert decided(pinned(there, "p", 7)).bindings == {}


def test_a_reservation_has_no_more_cpus_than_it_reserves() -> None:
    """Its annotation names all CPUs, and it reserves one."""
    there = node().add(kept("0-7", 1))

    assert cpus_of(decided(pinned(there, "p", 6))) == "1-3,5-7"


def test_devices_and_cpus_of_a_reservation() -> None:
    """Both are reserved in the second NUMA node, and the owner's NUMA plan uses them."""
    there = Scenario().node("n1", cpu=8, memory="64Gi", resources={NVIDIA: 2})
    there = there.add(topology("n1")).add(device("n1", gpu(0, at=(0, "a")), gpu(1, at=(1, "b"))))
    told = {
        STATUS: json.dumps({"cpuset": "3,7", "numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]}),
        "scheduling.koordinator.sh/device-allocated": json.dumps(
            {
                "gpu": [
                    {
                        "minor": 1,
                        "resources": {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"},
                    }
                ]
            }
        ),
    }
    there = there.add(
        reservation("r", node="n1", cpu=2, resources={NVIDIA: "1"}, annotations=told, labels={QOS: "LSR"})
    )
    outcome = run(
        owner(there, numa="SingleNUMANode", resources={NVIDIA: 1}),
        plugins=("gang", "predicates", "deviceshare", "nodenuma", "reservation"),
        more={"deviceshare": {"deviceshare.KoordinatorEnable": True}},
    )

    assert outcome.failed_plugins == []
    assert cpus_of(outcome) == "3,7"
    (each,) = [bind for done in outcome.rounds for plan in done.plans for bind in plan.binds]
    allocated = json.loads(each.annotations["scheduling.koordinator.sh/device-allocated"])
    assert [one["minor"] for one in allocated["gpu"]] == [1]
    assert SPEC in each.annotations


def test_a_pod_that_starts_now_gets_no_cpus_that_come_back_later() -> None:
    """A terminating owner still uses the capacity of the Reservation, so that a second one runs on free capacity."""
    there = node().add(kept("0,4", 2, allocateOnce=False, allocatePolicy="Restricted"))
    there = there.running("a", on=["n1"], cpu=2, labels={"app": "a"}, annotations=claimed("r"))
    leaving = next(each for each in there.objects if each["kind"] == "Pod")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert cpus_of(decided(owner(there))) == "2,6"


def test_restricted_gives_no_cpus_of_the_node_when_its_own_are_used_up() -> None:
    """It reserves four CPUs and two of them are known, which an owner uses: another owner gets no CPUs of the node."""
    there = node().add(kept("3,7", 4, allocateOnce=False, allocatePolicy="Restricted"))
    told = {STATUS: json.dumps({"cpuset": "3,7"})}
    there = there.running("a", on=["n1"], cpu=2, labels=OWNER, annotations={**claimed("r"), **told})
    outcome = decided(owner(there, annotations=affinity(name="r")))

    assert outcome.bindings == {}
    assert "r: not enough cpus available to satisfy request" in outcome.why_pod("p-0")


def test_restricted_gives_no_amounts_of_the_node_when_its_own_are_used_up() -> None:
    """As for CPUs: two of the four CPUs are reserved on the second NUMA node, where an owner uses them."""
    there = node().add(kept("", 4, {1: {"cpu": "2"}}, allocateOnce=False, allocatePolicy="Restricted"))
    told = {STATUS: json.dumps({"numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]})}
    there = there.running("a", on=["n1"], cpu=2, labels={"app": "a"}, annotations={**claimed("r"), **told})
    aligned = {**affinity(name="r"), NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    outcome = decided(there.job("p", cpu=2, labels={"app": "a"}, annotations=aligned))

    assert outcome.bindings == {}
    assert "r: Unsatisfied NUMA cpu" in outcome.why_pod("p-0")


def test_restricted_restricts_amounts_that_it_has_on_numa_nodes() -> None:
    """Memory is reserved, too, but not on a NUMA node: the owner gets it from the NUMA node of its CPUs."""
    more: dict[str, Any] = {"resources": {"memory": "1Gi"}, "allocatePolicy": "Restricted"}
    there = node().add(kept("", 2, {1: {"cpu": "2"}}, **more))
    aligned = {**affinity(name="r"), NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    outcome = decided(there.job("p", cpu=2, memory="1Gi", labels={"app": "a"}, annotations=aligned))

    (each,) = [bind for done in outcome.rounds for plan in done.plans for bind in plan.binds]
    told = json.loads(each.annotations[STATUS])["numaNodeResources"]
    assert told == [{"node": 1, "resources": {"cpu": "2", "memory": "1Gi"}}]


def taking(cpu: int, **spec: Any) -> dict[str, Any]:
    """A Reservation with CPUs of its own that may take over a pod."""
    return reservation(
        "r",
        cpu=cpu,
        template_metadata={"labels": {QOS: "LSR"}, "annotations": spec.pop("policies", {})},
        **{"preAllocation": True, "allocatePolicy": "Restricted", "allocateOnce": False, **spec},
    )


def old(scenario: Scenario, cpus: str, count: int, name: str = "old", app: str = "a", **more: Any) -> Scenario:
    """Add a running pod with CPUs of its own that matches the owners."""
    told = {STATUS: json.dumps({"cpuset": cpus, **more})}
    return scenario.running(name, on=["n1"], cpu=count, labels={"app": app, QOS: "LSR"}, annotations=told)


def reserved(outcome: Outcome) -> dict[str, Any]:
    """What the Reservation that was placed has of CPUs and NUMA nodes; empty if it was not."""
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    found: dict[str, Any] = next((json.loads(bind.annotations[STATUS]) for bind in binds if bind.reservation), {})
    return found


def test_a_reservation_takes_over_the_cpus_of_a_pod() -> None:
    """All CPUs are in use: the Reservation gets those of the pod, and its next owner gets them when the pod is gone."""
    there = old(old(node(), "1-3,5-7", 6, "stranger", "b"), "0,4", 2)
    outcome = decided(there.add(taking(2)), cycles=2)

    assert reserved(outcome)["cpuset"] == "0,4"
    (room,) = outcome.rounds[-1].snapshot.reservations.values()
    assert len(room.users) == 1


def test_a_reservation_gets_free_cpus_beside_those_that_it_takes_over() -> None:
    """A pod has core 3, and the Reservation needs two cores."""
    assert reserved(decided(old(node(), "3,7", 2).add(taking(4))))["cpuset"] == "0,3-4,7"


def test_several_pods_leave_their_cpus_to_a_reservation() -> None:
    """Three of four cores are used, two of them by pods that match."""
    there = old(old(old(node(), "0,4", 2, "stranger", "b"), "1,5", 2, "x"), "3,7", 2, "y")
    outcome = decided(there.add(taking(6, preAllocationPolicy={"enableMultiple": True})))

    assert reserved(outcome)["cpuset"] == "1-3,5-7"


def test_a_reservation_without_all_cpus_of_the_pod_is_not_placed() -> None:
    """The pod has a half of two cores, a stranger the others, and the Reservation requires whole cores."""
    there = old(old(node(), "4-5", 2, "stranger", "b"), "0-1", 2)

    assert reserved(decided(there.add(taking(2))))["cpuset"] == "0-1"
    assert reserved(decided(there.add(taking(2, policies=policies(required="FullPCPUs"))))) == {}


def test_a_reservation_is_aligned_with_the_pod_that_it_takes_over() -> None:
    """NUMA node 0 is empty, and the pod has CPUs and an amount on the other one."""
    aligned = policies(numa="SingleNUMANode")
    there = old(node(), "2,6", 2, numaNodeResources=[{"node": 1, "resources": {"cpu": "2"}}])
    four = decided(there.add(taking(4, policies=aligned)))
    more = old(there, "3", 1, "stranger", "b", numaNodeResources=[{"node": 1, "resources": {"cpu": "1"}}])

    assert reserved(four) == {"cpuset": "2-3,6-7", "numaNodeResources": [{"node": 1, "resources": {"cpu": "4"}}]}
    assert reserved(decided(more.add(taking(4, policies=aligned)))) == {}


def test_amounts_that_are_taken_over_count_once_in_their_cycle() -> None:
    """The pod has half of NUMA node 1, and the Reservation the same half: the plan of the cycle uses the other one."""
    full, half = ([{"node": numa, "resources": {"cpu": cpu}}] for numa, cpu in ((0, "4"), (1, "2")))
    there = old(node(), "0-1,4-5", 4, "stranger", "b", numaNodeResources=full)
    there = old(there, "2,6", 2, numaNodeResources=half)
    there = pinned(there.add(taking(2, policies=policies(numa="Restricted"))), "p", 2, numa="SingleNUMANode")
    binds = [bind for plan in decided(there).rounds[0].report.plans for bind in plan.binds]

    assert {bind.name: json.loads(bind.annotations[STATUS])["cpuset"] for bind in binds} == {
        "uid-r": "2,6",
        "p-0": "3,7",
    }


def test_cpus_of_a_reservation_are_amplified_once() -> None:
    """Four of eight CPUs are reserved and four in use, which is all of the amplified node: the owner still fits."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu": 1.5}'})
    there = holding(there, "held", "0-1,4-5", 4).add(kept("2-3,6-7", 4))

    assert cpus_of(decided(owner(there, 4))) == "2-3,6-7"
    assert "p-0" not in decided(pinned(there, "p", 1)).bindings


def test_cpus_that_are_taken_over_are_amplified_once() -> None:
    """As for owners: a pod that matches has four CPUs, a stranger the others."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu": 1.5}'})
    there = old(holding(there, "held", "0-1,4-5", 4), "2-3,6-7", 4)

    assert reserved(decided(there.add(taking(4))))["cpuset"] == "2-3,6-7"
