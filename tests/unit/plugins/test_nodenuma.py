"""Which pods get CPUs of their own, on which nodes, and what their bindings say."""

from typing import Any

import pytest

from pyroclast import contract
from pyroclast.plugins.nodenuma import NodeNuma
from pyroclast.testing import Scenario
from tests.nodenuma import LARGE, NUMA, QOS, SPEC, cpus_of, holding, node, pinned, run, spec_of, status_of

FULL, SPREAD = "FullPCPUs", "SpreadByPCPUs"


def why(outcome: Any, pod: str = "p-0") -> str:
    """What refused a pod."""
    return str(outcome.why_pod(pod))


@pytest.mark.parametrize(
    ("labels", "priority", "binds"),
    [
        ({QOS: "LSR"}, 0, True),
        ({QOS: "LSE"}, 9500, True),
        ({QOS: "LSE", "koordinator.sh/priority-class": "koord-batch"}, 0, False),
        ({QOS: "LSR"}, 5500, False),
        ({QOS: "LS"}, 0, False),
        ({QOS: "BE"}, 0, False),
        ({}, 0, False),
    ],
)
def test_classes_with_cpus_of_their_own(labels: dict[str, str], priority: int, binds: bool) -> None:
    """LSE and LSR of koord-prod, by label, priority or class."""
    outcome = run(node().job("p", cpu=2, labels=labels, priority=priority))

    assert outcome.bindings == {"p-0": "n1"}
    assert cpus_of(outcome) == ("0,4" if binds else "")


@pytest.mark.parametrize(
    ("default", "given", "expected"),
    [
        (FULL, {}, "0,4"),
        (SPREAD, {}, "0-1"),
        (FULL, {"preferred": SPREAD}, "0-1"),
        (SPREAD, {"preferred": "Default"}, "0-1"),
        (SPREAD, {"preferred": SPREAD, "required": "FullPCPUs"}, "0,4"),
        (SPREAD, {"required": "Default"}, "0-1"),
        (FULL, {"preferred": "ConstrainedBurst"}, ""),
        ("", {}, ""),
        ("ConstrainedBurst", {}, ""),
    ],
)
def test_the_policy_of_a_pod(default: str, given: dict[str, str], expected: str) -> None:
    """A required one, a preferred one, or the default; ConstrainedBurst leaves CPUs to the agent."""
    outcome = run(pinned(node(), "p", 2, **given), defaultCPUBindPolicy=default)

    assert outcome.bindings == {"p-0": "n1"}
    assert cpus_of(outcome) == expected


def test_the_request_must_be_whole() -> None:
    """The pod waits, and no node is checked."""
    outcome = run(pinned(node(), "p", "1500m"))

    assert outcome.bindings == {}
    assert why(outcome) == "nodenuma: the requested CPUs must be integer"


@pytest.mark.parametrize(
    ("annotation", "text"), [(SPEC, '{"requiredCPUBindPolicy":"Whole"}'), (NUMA, '{"numaTopologyPolicy":"Near"}')]
)
def test_an_unreadable_policy(annotation: str, text: str) -> None:
    """The reason names it."""
    outcome = run(node().job("p", cpu=2, labels={QOS: "LSR"}, annotations={annotation: text}))

    assert outcome.bindings == {}
    assert annotation in why(outcome)


def test_a_pod_that_requests_nothing_is_no_concern() -> None:
    """Also where its annotation cannot be read."""
    outcome = run(
        Scenario().node("n1").job("p", cpu=None, labels={QOS: "LSR"}, annotations={SPEC: "["}),
        "enqueue",
        "allocate",
        "backfill",
    )

    assert outcome.bindings == {"p-0": "n1"}


@pytest.mark.parametrize(
    ("labels", "manager", "expected"),
    [
        ({"cpu-bind-policy": "FullPCPUsOnly"}, {}, "0,4"),
        ({"cpu-bind-policy": "SpreadByPCPUs"}, {}, "0-1"),
        ({}, {"policy": "static", "options": {"full-pcpus-only": "true"}}, "0,4"),
        ({}, {"policy": "none", "options": {"full-pcpus-only": "true"}}, ""),
        ({"cpu-bind-policy": "None"}, {"policy": "static"}, ""),
    ],
)
def test_a_node_that_gives_all_pods_their_cpus(labels: dict[str, str], manager: dict[str, Any], expected: str) -> None:
    """The label of the node or its kubelet decides, for a pod of class LS too."""
    outcome = run(node(labels=labels, cpu_manager_policy=manager).job("p", cpu=2, labels={QOS: "LS"}))

    assert cpus_of(outcome) == expected
    assert spec_of(outcome) == ({"requiredCPUBindPolicy": FULL if expected == "0,4" else SPREAD} if expected else {})


@pytest.mark.parametrize(
    ("labels", "cpu", "given", "reason"),
    [
        (
            {"cpu-bind-policy": "FullPCPUsOnly"},
            2,
            {"required": SPREAD},
            "cpu bind policy conflicts with pod's required",
        ),
        ({"cpu-bind-policy": "FullPCPUsOnly"}, 3, {}, "requested cpus not multiple cpus per core"),
        ({}, 3, {"required": FULL}, "requested cpus not multiple cpus per core"),
        ({"numa-topology-policy": "Restricted"}, 2, {"numa": "SingleNUMANode"}, "NUMA Topology policy not match"),
    ],
)
def test_policies_that_do_not_go_together(labels: dict[str, str], cpu: int, given: dict[str, str], reason: str) -> None:
    """No eviction helps."""
    outcome = run(pinned(node(labels=labels), "p", cpu, **given))

    assert outcome.bindings == {}
    assert reason in why(outcome)
    assert not outcome.refusals_of_pod("p-0")[0].resolvable


def test_a_node_policy_and_a_fraction_of_a_cpu() -> None:
    """A pod of class LS waits, too."""
    outcome = run(node(labels={"cpu-bind-policy": "SpreadByPCPUs"}).job("p", cpu="500m"))

    assert "the requested CPUs must be integer" in why(outcome)


def test_a_node_without_known_cpus() -> None:
    """Pods without CPUs of their own run there."""
    plain = Scenario().node("n1")

    assert "node(s) invalid CPU Topology" in why(run(pinned(plain, "p", 2)))
    assert run(plain.job("p", cpu=2)).bindings == {"p-0": "n1"}


@pytest.mark.parametrize(
    ("given", "bindings"), [({"required": FULL}, {}), ({"preferred": FULL}, {"p-0": "n1"}), ({}, {"p-0": "n1"})]
)
def test_a_required_policy_needs_free_cores(given: dict[str, str], bindings: dict[str, str]) -> None:
    """One CPU of each core is in use: a preferred policy takes the other ones."""
    outcome = run(pinned(holding(node(), "held", "0-3", 4), "p", 2, **given))

    assert outcome.bindings == bindings
    assert cpus_of(outcome) == ("4-5" if bindings else "")
    if not bindings:
        assert "not enough cpus available to satisfy request" in why(outcome)


def test_reserved_cpus_are_not_given() -> None:
    """Five CPUs are left of eight, and a pod that requests six waits, also with a preferred policy."""
    there = node(reservation={"reservedCPUs": "0-2"})

    assert cpus_of(run(pinned(there, "p", 5))) == "3-7"
    assert "not enough cpus available" in why(run(pinned(there, "p", 6)))


def test_pods_of_one_cycle_have_different_cpus() -> None:
    """Whole cores; the third pod waits."""
    outcome = run(pinned(node(), "p", 4, tasks=3, required=FULL))

    assert len(outcome.bindings) == 2
    assert sorted(cpus_of(outcome, pod) for pod in outcome.bindings) == ["0-1,4-5", "2-3,6-7"]


def test_what_was_decided_is_kept_after_a_restart() -> None:
    """The annotations of running pods say which CPUs are in use."""
    there = holding(holding(node(), "a", "0,4", 2), "b", "2", 1)

    assert cpus_of(run(pinned(there, "p", 2))) == "3,7"
    assert cpus_of(run(pinned(there, "p", 3, preferred=SPREAD))) == "3,6-7"


@pytest.mark.parametrize(
    ("strategy", "label", "expected"),
    [("LeastAllocated", "", "2,6"), ("MostAllocated", "", "1,5"), ("LeastAllocated", "MostAllocated", "1,5")],
)
def test_the_strategy_orders_numa_nodes(strategy: str, label: str, expected: str) -> None:
    """The label of a node overrides that of `numaScoringStrategy`."""
    there = holding(node(labels={"numa-allocate-strategy": label} if label else {}), "held", "0,4", 2)

    assert cpus_of(run(pinned(there, "p", 2), numaScoringStrategy={"type": strategy})) == expected


def test_exclusive_cores() -> None:
    """Two pods with PCPULevel share no core; a pod without it uses the rest of a core."""
    there = pinned(node(), "p", 2, tasks=2, preferred=SPREAD, exclusive="PCPULevel")
    outcome = run(there)

    assert sorted(cpus_of(outcome, pod) for pod in outcome.bindings) == ["0-1", "2-3"]
    third = holding(holding(node(), "a", "0-1", 2, exclusive="PCPULevel"), "b", "2-3", 2, exclusive="PCPULevel")
    assert cpus_of(run(pinned(third, "p", 2, preferred=SPREAD))) == "4-5"


def test_a_pod_counts_for_at_most_its_request() -> None:
    """A pod that requests one CPU keeps one, whatever its annotation says; one that is unreadable keeps none."""
    there = holding(holding(node(), "greedy", "0-7", 1), "broken", "x", 1)
    outcome = run(pinned(there, "p", 6))

    assert cpus_of(outcome) == "1-3,5-7"
    assert "resource-status: 'x' is neither a CPU" in str(outcome.rounds[0].report.events)


def test_amounts_on_all_numa_nodes_count_for_at_most_the_request() -> None:
    """A pod of two CPUs names two on each NUMA node: those on the first one count."""
    greedy = holding(node(), "greedy", "", 2, amounts={0: {"cpu": "2"}, 1: {"cpu": "2"}})
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    outcome = run(greedy.job("p", cpu=4, annotations=aligned))

    assert [each["node"] for each in status_of(outcome)["numaNodeResources"]] == [1]


def test_an_annotation_that_a_pod_brings_along_is_emptied() -> None:
    """A pod cannot give itself CPUs of other pods, and it holds none then."""
    brought = {"scheduling.koordinator.sh/resource-status": '{"cpuset":"0-7"}'}
    outcome = run(node().job("p", cpu=1, annotations=brought))
    own = run(node().job("p", cpu=2, labels={QOS: "LSR"}, annotations=brought))

    (bind,) = [bind for plan in outcome.rounds[0].plans for bind in plan.binds]
    assert bind.annotations == {"scheduling.koordinator.sh/resource-status": "{}"}
    assert cpus_of(own) == "0,4"


def test_the_policy_in_force_is_written() -> None:
    """As required, or as preferred where nothing was stated; the exclusive policy stays."""
    plain = run(pinned(node(), "p", 2))
    default = run(pinned(node(), "p", 2, preferred="Default", exclusive="PCPULevel"))
    stated = run(pinned(node(), "p", 2, required=FULL))
    by_node = run(pinned(node(labels={"cpu-bind-policy": "FullPCPUsOnly"}), "p", 2, preferred=SPREAD))

    assert spec_of(plain) == {"preferredCPUBindPolicy": FULL}
    assert spec_of(default) == {"preferredCPUBindPolicy": FULL, "preferredCPUExclusivePolicy": "PCPULevel"}
    assert spec_of(stated) == {}
    assert spec_of(by_node) == {"requiredCPUBindPolicy": FULL, "preferredCPUBindPolicy": SPREAD}
    assert status_of(plain) == {"cpuset": "0,4"}


def test_the_cpus_of_a_node_are_served() -> None:
    """With the pods that have some; None for a node without a topology."""
    there = holding(node(reservation={"reservedCPUs": "1"}), "held", "0,4", 2)
    (done,) = run(there.node("n2").job("p")).rounds

    def served(name: str) -> Any:
        request = contract.EndpointRequest(done.snapshot, done.report, {"name": name}, {})
        return NodeNuma().endpoints()["nodes/{name}"](request)

    assert served("n1") == {
        "node": "n1",
        "cpus": "0-7",
        "reserved": "1",
        "numaPolicy": "",
        "numaNodes": [
            {"node": 0, "cpus": "0-1,4-5", "allocatable": {"cpu": "3", "memory": "64Gi"}},
            {"node": 1, "cpus": "2-3,6-7", "allocatable": {"cpu": "4", "memory": "64Gi"}},
        ],
        "pods": {"default/held-0": '{"cpuset": "0,4", "numaNodeResources": []}'},
    }
    assert served("n2") is None
    assert served("n3") is None


# NUMA nodes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "cpu", "expected"),
    [
        ("SingleNUMANode", 8, [0]),
        ("SingleNUMANode", 9, None),
        ("Restricted", 9, [0, 1]),
        ("BestEffort", 9, [0, 1]),
        ("Restricted", 32, [0, 1, 2, 3]),
    ],
)
def test_numa_policies_of_pods(policy: str, cpu: int, expected: list[int] | None) -> None:
    """With amounts on each NUMA node; a pod of class LS has no CPUs of its own."""
    outcome = run(
        node(cpus=LARGE).job("p", cpu=cpu, memory="8Gi", annotations={NUMA: f'{{"numaTopologyPolicy":"{policy}"}}'})
    )

    assert (outcome.bindings == {"p-0": "n1"}) is (expected is not None)
    status = status_of(outcome)
    assert "cpuset" not in status
    if expected is None:
        assert "Unaligned NUMA Hint" in why(outcome)
    else:
        assert [each["node"] for each in status["numaNodeResources"]] == expected


@pytest.mark.parametrize("source", ["label", "kubelet"])
def test_the_numa_policy_of_a_node(source: str) -> None:
    """It aligns all pods with requests."""
    by_label = {"labels": {"numa-topology-policy": "SingleNUMANode"}}
    told: dict[str, Any] = by_label if source == "label" else {"policies": ["SingleNUMANodePodLevel"]}
    outcome = run(node(**told).job("p", cpu=3, memory="1Gi"))

    assert status_of(outcome) == {"numaNodeResources": [{"node": 0, "resources": {"cpu": "3", "memory": "1Gi"}}]}
    assert run(node(**told).job("p", cpu=5)).bindings == {}


def test_memory_on_another_numa_node() -> None:
    """CPUs are free on the first NUMA node alone, memory on the second alone."""
    zones = [{"cpu": "4", "memory": "1Gi"}, {"cpu": "4", "memory": "8Gi"}]
    there = holding(node(zones=zones), "held", "2-3,6-7", 4, amounts={1: {"cpu": "4"}})
    aligned = {NUMA: '{"numaTopologyPolicy":"Restricted"}'}

    assert "Unsatisfied NUMA memory" in why(run(there.job("p", cpu=2, memory="10Gi", annotations=aligned)))
    assert run(there.job("p", cpu=2, memory="1Gi", annotations=aligned)).bindings == {"p-0": "n1"}
    assert "Unsatisfied NUMA cpu" in why(run(there.job("p", cpu=2, memory="5Gi", annotations=aligned)))


def test_a_pod_that_must_be_aligned_needs_numa_nodes() -> None:
    """BestEffort does without."""
    plain = Scenario().node("n1")

    assert "node(s) missing NUMA resources" in why(run(pinned(plain, "p", 2, qos="LS", numa="Restricted")))
    assert run(pinned(plain, "p", 2, qos="LS", numa="BestEffort")).bindings == {"p-0": "n1"}


def test_best_effort_takes_what_there_is() -> None:
    """The NUMA nodes report too little CPU together, so it gets no amounts; its CPUs come from anywhere."""
    outcome = run(pinned(node(zones=[{"cpu": "2"}, {"cpu": "2"}]), "p", 6, numa="BestEffort"))

    assert status_of(outcome) == {"cpuset": "0-2,4-6"}


@pytest.mark.parametrize(
    ("labels", "given", "fits"),
    [
        ({}, {"numa": "SingleNUMANode"}, False),
        ({}, {"numa": "SingleNUMANode", "numa_exclusive": "Required"}, False),
        ({}, {"numa": "SingleNUMANode", "numa_exclusive": "Preferred"}, True),
        ({"numa-topology-policy": "SingleNUMANode"}, {}, True),
        ({"numa-topology-policy": "SingleNUMANode"}, {"numa_exclusive": "Required"}, False),
    ],
)
def test_exclusive_numa_nodes(labels: dict[str, str], given: dict[str, str], fits: bool) -> None:
    """A pod that states a NUMA policy avoids NUMA nodes of pods that span several, unless it only prefers that."""
    there = holding(node(labels=labels), "span", "0,2", 2)
    outcome = run(pinned(there, "p", 2, required=FULL, **given))

    assert cpus_of(outcome) == ("1,5" if fits else "")
    assert fits or "Unaligned NUMA Hint" in why(outcome)


def test_numa_nodes_are_scored_by_their_own_resources() -> None:
    """`numaScoringStrategy` with memory alone: the first NUMA node has less of it in use."""
    zones = [{"cpu": "4", "memory": "8Gi"}, {"cpu": "4", "memory": "8Gi"}]
    there = holding(node(zones=zones), "held", "", 1, amounts={0: {"memory": "4Gi"}, 1: {"cpu": "1"}}, memory="4Gi")
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}

    def chosen(resource: str) -> int:
        strategy = {"type": "LeastAllocated", "resources": [{"name": resource, "weight": 1}]}
        outcome = run(there.job("p", cpu=1, memory="1Gi", annotations=aligned), numaScoringStrategy=strategy)
        return int(status_of(outcome)["numaNodeResources"][0]["node"])

    assert (chosen("memory"), chosen("cpu")) == (1, 0)


# Amplification --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("cpu", "fits"), [(2, True), (4, True), (5, False)])
def test_cpus_of_ones_own_count_amplified(cpu: int, fits: bool) -> None:
    """4 own ones of 12 amplified CPUs count 6; four more count 6, five would count 7.5."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'})
    outcome = run(pinned(holding(there, "held", "0-1,4-5", 4), "p", cpu))

    assert bool(outcome.bindings) is fits
    assert fits or "Insufficient amplified cpu" in why(outcome)


@pytest.mark.parametrize(("cpu", "fits"), [(6, True), (7, False)])
def test_shared_cpus_count_as_they_are(cpu: int, fits: bool) -> None:
    """Six of twelve are left beside four own CPUs."""
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'})

    assert bool(run(holding(there, "held", "0-1,4-5", 4).job("p", cpu=cpu)).bindings) is fits


@pytest.mark.parametrize(("cpu", "now"), [(6, True), (7, False), (12, False)])
def test_cpus_of_terminating_pods_count_amplified(cpu: int, now: bool) -> None:
    """Until the pod with four of its own is gone, six of twelve are left; a larger pod waits for its end."""
    there = holding(node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'}), "held", "0-1,4-5", 4)
    leaving = next(each for each in there.objects if each["kind"] == "Pod")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"

    assert bool(run(there.job("p", cpu=cpu)).bindings) is now


def test_an_unreadable_ratio() -> None:
    """Pods with CPU avoid the node."""
    there = node(notes={"resource-amplification-ratio": "1.5"})

    assert "node(s) invalid CPU amplification ratio" in why(run(there.job("p", cpu=1)))
    assert run(there.job("p", cpu=None, memory="1Gi")).bindings == {"p-0": "n1"}


def test_amplified_numa_nodes() -> None:
    """A NUMA node of four CPUs offers six to shared pods, unless its amounts are amplified already."""
    notes = {"resource-amplification-ratio": '{"cpu":1.5}'}
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    there = node(offers=12, notes=notes)
    already = node(offers=12, notes=notes, resource_amplification_ratio={"cpu": 1.5})

    assert status_of(run(there.job("p", cpu=6, annotations=aligned)))["numaNodeResources"][0]["resources"] == {
        "cpu": "6"
    }
    assert run(already.job("p", cpu=6, annotations=aligned)).bindings == {}
    held = holding(there, "held", "0,4", 2, amounts={0: {"cpu": "2"}, 1: {}})
    assert status_of(run(held.job("p", cpu=4, annotations=aligned)))["numaNodeResources"][0]["node"] == 1


@pytest.mark.parametrize(("cpu", "fits"), [(3, True), (4, False)])
def test_cpus_of_ones_own_count_amplified_on_numa_nodes(cpu: int, fits: bool) -> None:
    """Two of the six amplified CPUs of each NUMA node are a pod's own, and count three."""
    aligned = {NUMA: '{"numaTopologyPolicy":"SingleNUMANode"}'}
    there = node(offers=12, notes={"resource-amplification-ratio": '{"cpu":1.5}'})
    for numa, cpus in enumerate(("0,4", "2,6")):
        there = holding(there, f"held-{numa}", cpus, 2, amounts={numa: {"cpu": "2"}})

    assert bool(run(there.job("p", cpu=cpu, annotations=aligned)).bindings) is fits
