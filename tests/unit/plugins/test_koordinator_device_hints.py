"""What pods want of Koordinator's devices beyond amounts: alone, by partition, within few NUMA nodes, kept apart."""

import json
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.devices import NVIDIA, gpu, rdma
from tests.unit.plugins.koordinator import (
    ALLOCATED,
    EIGHT,
    FOUR,
    TOGETHER,
    annotated,
    given,
    holding,
    run,
    wanting,
    whole,
    with_devices,
)

ALONE = {"gpu": {"exclusivePolicy": "PCIeLevel"}}
PARTITIONS = "scheduling.koordinator.sh/gpu-partitions"
POLICY = "node.koordinator.sh/numa-topology-policy"
ISOLATION = "koordinator.sh/gpu-isolation-provider"


def asking(scenario: Scenario, arguments: Any = None, **told: Any) -> Outcome:
    """Let one pod ask; amounts, labels, and wishes as `annotated` takes them."""
    wishes = {name: told.pop(name) for name in ("hint", "joint", "partition", "numa") if name in told}
    return run(wanting(scenario, annotations=annotated(**wishes), **told), **(arguments or {}))


# Alone at a switch ---------------------------------------------------------------------------------------------------


def test_exclusive_switch_requests_use_free_switches() -> None:
    """The second GPU of the first switch is free, and near to what is in use, but not alone."""
    there = holding(with_devices(*FOUR), "r", **whole("gpu", 0))

    assert given(asking(there, nvidia=1)) == {"gpu": [1]}
    assert given(asking(there, nvidia=1, hint=ALONE)) == {"gpu": [2]}
    assert given(asking(there, nvidia=2, hint=ALONE)) == {"gpu": [2, 3]}
    assert "Insufficient gpu devices" in asking(there, nvidia=3, hint=ALONE).why_pod("p-0")


def test_an_exclusive_switch_repels_other_pods() -> None:
    """In the same cycle, and from what its annotations say in the next; cards of other types are not its concern."""
    there = wanting(with_devices(*FOUR), name="a", nvidia=1, annotations=annotated(hint=ALONE))
    both = run(wanting(there, name="b", nvidia=1))
    assert (given(both, "a-0"), given(both, "b-0")) == ({"gpu": [0]}, {"gpu": [2]})

    told = {ALLOCATED: json.dumps(whole("gpu", 0)), **annotated(hint=ALONE)}
    later = with_devices(*FOUR).running("a", on=["n"], cpu=0, resources={NVIDIA: 1}, annotations=told)
    assert given(asking(later, nvidia=1)) == {"gpu": [2]}
    assert given(asking(later, nvidia=2, rdma=50)) == {"gpu": [2, 3], "rdma": [0]}


def test_anti_affinity_applies_on_its_node_only() -> None:
    """Two nodes on which the same is taken: of one three GPUs are to be had, of the other two."""
    there = with_devices(*FOUR, name="kept")
    there = with_devices(*FOUR, name="open", base=there)
    told = {ALLOCATED: json.dumps(whole("gpu", 0))}
    there = there.running("a", on=["kept"], cpu=0, resources={NVIDIA: 1}, annotations={**told, **annotated(hint=ALONE)})
    there = there.running("b", on=["open"], cpu=0, resources={NVIDIA: 1}, annotations=told)
    outcome = run(wanting(there, tasks=2, nvidia=3))

    assert outcome.bindings == {"p-0": "open"}
    assert given(outcome) == {"gpu": [1, 2, 3]}


def test_rows_with_switches_alone() -> None:
    """Rows R8 and R9: two are as without; three do not touch the switch in use."""
    there = holding(with_devices(*EIGHT), "r", **whole("gpu", 0))

    assert given(asking(there, nvidia=2, hint=ALONE)) == {"gpu": [2, 3]}
    assert given(asking(there, nvidia=3, hint=ALONE)) == {"gpu": [4, 5, 6]}


def test_a_running_pod_with_invalid_hints_repels_no_pod() -> None:
    """It has what it has."""
    broken = {ALLOCATED: json.dumps(whole("gpu", 0)), "scheduling.koordinator.sh/device-allocate-hint": "{"}
    there = with_devices(*FOUR).running("a", on=["n"], cpu=0, resources={NVIDIA: 1}, annotations=broken)

    assert given(asking(there, nvidia=1)) == {"gpu": [1]}


# Partitions ----------------------------------------------------------------------------------------------------------


def tabled(*partitions: Any, policy: str = "", used: Any = ()) -> Scenario:
    """Eight GPUs with a table; of each partition GPUs, score, and bandwidth where it has one."""
    table: dict[str, list[Any]] = {}
    for minors, score, *bandwidth in partitions:
        told = {"minors": minors, "allocationScore": score, **({"ringBusBandwidth": bandwidth[0]} if bandwidth else {})}
        table.setdefault(str(len(minors)), []).append(told)
    labels = {"node.koordinator.sh/gpu-partition-policy": policy} if policy else {}
    own = {"annotations": {PARTITIONS: json.dumps(table)}, "labels": labels}
    there = with_devices(*EIGHT[:8], own=own)
    return holding(there, "r", **whole("gpu", *used)) if used else there


def test_partitions_of_the_best_score_first() -> None:
    """Koordinator's code begins with the worst, against its documents."""
    there = tabled([[0, 1], 1], [[4, 5], 3], [[2, 3], 2])

    assert given(asking(there, nvidia=2)) == {"gpu": [4, 5]}
    assert given(asking(there, {"partitionScoreOrder": "ascending"}, nvidia=2)) == {"gpu": [0, 1]}


@pytest.mark.parametrize(("policy", "expected"), [("Restricted", {}), ("BestEffort", {"gpu": [0, 1]})])
def test_the_best_or_none(policy: str, expected: Any) -> None:
    """One GPU of the best partition is in use."""
    outcome = asking(tabled([[0, 1], 1], [[4, 5], 3], used=[5]), nvidia=2, partition={"allocatePolicy": policy})

    assert given(outcome) == expected
    assert expected or "Insufficient Partitioned GPU Devices" in outcome.why_pod("p-0")


@pytest.mark.parametrize(("wanted", "expected"), [("200Gi", [2, 3]), ("100Gi", [0, 1]), ("500Gi", None)])
def test_a_ring_that_is_wide_enough(wanted: str, expected: Any) -> None:
    """Where nothing is said of it, it is not."""
    there = tabled([[4, 5], 3], [[0, 1], 2, "100Gi"], [[2, 3], 1, "400Gi"])

    assert given(asking(there, nvidia=2, partition={"ringBusBandwidth": wanted})).get("gpu") == expected


def test_the_partition_that_leaves_most() -> None:
    """A pair of the half that is broken already, though it stands last."""
    pairs = [[[first, first + 1], 1] for first in (0, 2, 4, 6)]
    there = tabled(*pairs, [[0, 1, 2, 3], 1], [[4, 5, 6, 7], 1], used=[4, 5])

    assert given(asking(there, nvidia=2)) == {"gpu": [6, 7]}


@pytest.mark.parametrize(
    ("scenario", "wish", "reason"),
    [
        (with_devices(*EIGHT[:8]), {}, "node(s) missing GPU Partition Table"),
        (tabled([[0, 1], 1]), {}, "node(s) Unsupported number of GPU requests"),
        (tabled([[0, 1], 1], policy="Honor"), None, "node(s) Unsupported number of GPU requests"),
    ],
)
def test_where_a_partition_must_be_and_cannot(scenario: Scenario, wish: Any, reason: str) -> None:
    """Because of the pod or of the node; no eviction would help."""
    outcome = asking(scenario, nvidia=3, **({} if wish is None else {"partition": wish}))
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert dict(refusal.counts) == {reason: 1}
    assert not refusal.resolvable
    assert given(asking(scenario, ratio=50)) == {"gpu": [0]}, "shares need no partition"


def test_a_partition_within_the_requested_scope() -> None:
    """One over two switches is no choice for a pod that needs one switch."""
    there = tabled([[1, 2], 9], [[4, 5], 1])

    assert given(asking(there, nvidia=2)) == {"gpu": [1, 2]}
    assert given(asking(there, nvidia=2, hint={"gpu": {"requiredTopologyScope": "PCIe"}})) == {"gpu": [4, 5]}


def test_a_partition_of_gpus_that_are_not_there() -> None:
    """It is none."""
    assert given(asking(tabled([[8, 9], 1], policy="Honor"), nvidia=2)) == {}


# NUMA nodes ----------------------------------------------------------------------------------------------------------

APART = [gpu(0, at=(0, "a")), gpu(1, at=(1, "b")), rdma(0, at=(1, "b"))]
"""The first GPU and the only card are in different NUMA nodes."""


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("", {"gpu": [0], "rdma": [0]}),
        ("None", {"gpu": [0], "rdma": [0]}),
        ("BestEffort", {"gpu": [1], "rdma": [0]}),
        ("Restricted", {"gpu": [1], "rdma": [0]}),
        ("SingleNUMANode", {"gpu": [1], "rdma": [0]}),
    ],
)
def test_devices_within_one_numa_node(policy: str, expected: Any) -> None:
    """As the node says, or the pod, which has the last word."""
    by_node = with_devices(*APART, labels={POLICY: policy} if policy else {})
    wish = {"numaTopologyPolicy": policy}
    contrary = "None" if policy not in {"", "None"} else "SingleNUMANode"

    assert given(asking(by_node, nvidia=1, rdma=50)) == expected
    if policy:
        by_pod = with_devices(*APART, labels={POLICY: contrary})
        assert given(asking(by_pod, nvidia=1, rdma=50, numa=wish)) == expected
    assert given(asking(by_node, {"disableDeviceNUMATopologyAlignment": True}, nvidia=1, rdma=50))["gpu"] == [0]


@pytest.mark.parametrize(("policy", "gpus"), [("BestEffort", [0, 1]), ("Restricted", [0, 1]), ("SingleNUMANode", None)])
def test_devices_within_as_few_numa_nodes_as_do(policy: str, gpus: Any) -> None:
    """Two GPUs are in two of them."""
    outcome = asking(with_devices(*APART, labels={POLICY: policy}), nvidia=2)

    assert given(outcome).get("gpu") == gpus
    assert gpus or "Insufficient NUMA Scoped Devices" in outcome.why_pod("p-0")


@pytest.mark.parametrize(
    ("policy", "is_served"), [("BestEffort", True), ("Restricted", False), ("SingleNUMANode", False)]
)
def test_devices_without_a_topology(policy: str, is_served: bool) -> None:
    """They are not aligned; devices without a NUMA node are in each."""
    there = with_devices(gpu(0), labels={POLICY: policy})
    anywhere = with_devices(gpu(0, at=(0, "a")), rdma(0, at=(-1, "")), labels={POLICY: policy})

    assert bool(given(asking(there, nvidia=1))) is is_served
    assert given(asking(anywhere, nvidia=1, rdma=1)) == {"gpu": [0], "rdma": [0]}


def test_the_choice_that_would_be_without_goes_first() -> None:
    """The one of two such NUMA nodes whose GPUs are near those in use."""
    there = holding(with_devices(*EIGHT, labels={POLICY: "SingleNUMANode"}), "r", **whole("gpu", 6))

    assert given(asking(there, nvidia=1)) == {"gpu": [7]}


# Kept apart ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_node", "of_pod", "amounts", "is_served"),
    [
        ("HAMi-core", "HAMi-core", {"ratio": 50}, True),
        ("", "", {"ratio": 50}, True),
        ("HAMi-core", "", {"ratio": 50}, True),
        ("", "HAMi-core", {"ratio": 50}, False),
        ("other", "HAMi-core", {"ratio": 50}, False),
        ("other", "HAMi-core", {"ratio": 100}, True),
    ],
)
def test_shares_are_separated_as_the_pod_requests(of_node: str, of_pod: str, amounts: Any, is_served: bool) -> None:
    """Whole GPUs need no such device."""
    there = with_devices(gpu(0), labels={ISOLATION: of_node} if of_node else {})
    outcome = asking(there, labels={ISOLATION: of_pod} if of_pod else {}, **amounts)

    assert bool(given(outcome)) is is_served
    assert is_served or "node(s) GPU isolation provider differs from the pod's" in outcome.why_pod("p-0")


# What is not served --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (
            {"hint": {"gpu": {"requiredTopologyScope": "Device"}}, "nvidia": 2},
            "requiredTopologyScope Device has only one",
        ),
        ({"hint": {"gpus": {}}, "nvidia": 1}, "'gpus' is none of gpu, rdma, fpga"),
        ({"joint": {"deviceTypes": ["gpu", "nic"]}, "nvidia": 1}, "'nic' is none of gpu, rdma, fpga"),
        ({"numa": {"singleNUMANodeExclusive": "Required"}, "nvidia": 1}, "Required needs the plugin nodenuma"),
        (
            {
                "resources": {
                    "huawei.com/npu-core": 4,
                    "huawei.com/npu-cpu": 4,
                    "koordinator.sh/gpu-memory": "12Gi",
                    "koordinator.sh/gpu.shared": 1,
                }
            },
            "no matched GPU shared resource template: none is known, gpuSharedResourceTemplatesConfig names",
        ),
    ],
)
def test_unsupported_requests_are_reported(told: Any, fault: str) -> None:
    """Pods that need it have the reason, and no node is checked."""
    there = with_devices(*FOUR)
    outcome = run(there.job("p", resources=told["resources"])) if "resources" in told else asking(there, **told)
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert fault in outcome.why_pod("p-0")
    assert (refusal.plugin, refusal.reason, refusal.resolvable) == ("DeviceShare", "InvalidDeviceRequest", False)


@pytest.mark.parametrize(
    ("devices", "hint", "amounts", "reason"),
    [
        (
            [gpu(0), gpu(1)],
            {"gpu": {"requiredTopologyScope": "Node"}},
            {"nvidia": 2},
            "missing GPU Device Topology Tree",
        ),
        (
            [gpu(0, at=(0, "a")), gpu(1, at=(0, "a"))],
            {"gpu": {"requiredTopologyScope": "Node"}},
            {"shared": 2, "ratio": 100},
            "node(s) Unsupported Multi-Shared GPU",
        ),
        (
            [gpu(0), gpu(1)],
            None,
            {"core": 200, "memory": "64Gi"},
            "koordinator.sh/gpu-core of several GPUs requested of one",
        ),
        ([gpu(0, memory="0")], None, {"ratio": 50}, "Insufficient gpu devices"),
        ([gpu(0)], {"gpu": {"selector": {"matchLabels": {"a": "b"}}}}, {"nvidia": 1}, "devices, were they all free"),
    ],
)
def test_what_a_node_never_serves(devices: Any, hint: Any, amounts: Any, reason: str) -> None:
    """No pod is evicted for it."""
    outcome = asking(with_devices(*devices), hint=hint, **amounts)
    (refusal,) = outcome.refusals_of_pod("p-0")

    assert reason in outcome.why_pod("p-0")
    assert not refusal.resolvable


def test_switches_that_are_not_the_same() -> None:
    """The card is at another switch than the only GPU."""
    same = {**TOGETHER, "requiredScope": "SamePCIe"}
    there = with_devices(gpu(0, at=(0, "a")), rdma(0, at=(0, "b")))

    assert "node(s) Device Joint-Allocate rules violation" in asking(there, nvidia=1, rdma=1, joint=same).why_pod("p-0")
    assert given(asking(there, nvidia=1, rdma=1, joint=TOGETHER)) == {"gpu": [0], "rdma": [0]}


@pytest.mark.parametrize("types", [["gpu", "rdma"], ["rdma", "gpu"]])
@pytest.mark.parametrize(("searches", "expected"), [(True, {"gpu": [1], "rdma": [0]}), (False, {})])
def test_other_gpus_are_looked_for(types: Any, searches: bool, expected: Any) -> None:
    """Whichever type goes first: the first GPU is not where the only card is."""
    same = {"deviceTypes": types, "requiredScope": "SamePCIe"}
    there = with_devices(gpu(0, at=(0, "a")), gpu(1, at=(1, "b")), rdma(0, at=(1, "b")))

    assert given(asking(there, {"jointSearchRetry": searches}, nvidia=1, rdma=1, joint=same)) == expected


def test_a_node_with_an_unknown_policy() -> None:
    """It takes no pod that asks for devices, and an event says why."""
    outcome = asking(with_devices(gpu(0), labels={POLICY: "Near"}), nvidia=1)
    (event,) = [each for each in outcome.events if each.reason == "DeviceRegisterInvalid"]

    assert event.kind == "Node"
    assert f"label {POLICY} of the node: 'Near' is none of None, BestEffort" in event.message
    assert outcome.bindings == {}
