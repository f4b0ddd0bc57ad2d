"""NodeResourceTopologies: CPUs, reserved CPUs, NUMA nodes and policies; a broken part is reported and left out."""

import json
from fractions import Fraction
from typing import Any

import pytest

from pyroclast.cache.files.objects import decoded, state_from_objects
from pyroclast.cache.state import ClusterState
from pyroclast.model.cpusets import as_text
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.nodenuma.topology import NodeTopology
from tests.nodenuma import LARGE, NODE, topology

GIB = 2**30 * 1000


def read(**told: Any) -> tuple[NodeTopology, list[tuple[str, str]]]:
    """The topology of an object, and path and message of each fault."""
    return read_object(topology("n1", **told))


def read_object(written: dict[str, Any]) -> tuple[NodeTopology, list[tuple[str, str]]]:
    """The same for an object as it is written."""
    faults: list[ObjectError] = []
    state = state_from_objects([written], report=faults.append)
    found = state.snapshot().topologies[NodeName("n1")]
    assert found is not None
    assert {(fault.kind, fault.name) for fault in faults} <= {("NodeResourceTopology", "n1")}
    return found, [(fault.path, fault.message) for fault in faults]


def test_cpus_and_numa_nodes() -> None:
    """CPU in thousandths, memory in thousandths of a byte."""
    found, faults = read(cpus=LARGE, memory="8Gi", policies=["None", "Restricted", "BestEffort"])

    assert faults == []
    assert found.layout is not None
    assert [(numa, as_text(cpus)) for numa, cpus in found.layout.numa][:2] == [(0, "0-3,16-19"), (1, "4-7,20-23")]
    assert [as_text(socket) for socket in found.layout.sockets] == ["0-7,16-23", "8-15,24-31"]
    assert [zone.id for zone in found.zones] == [0, 1, 2, 3]
    assert found.zones[0].allocatable == {"cpu": 8000, "memory": 8 * GIB}
    assert (found.numa_policy, found.full_pcpus_only, found.reserved, found.ratios) == ("Restricted", False, 0, None)


def test_reserved_cpus_are_the_union() -> None:
    """Pods that the kubelet pins, the kubelet's and the node's reserve, and the system's CPUs."""
    found, faults = read(
        cpus=LARGE,
        pod_cpu_allocs=[
            {"uid": "a", "cpuset": "0", "managedByKubelet": True},
            {"uid": "b", "cpuset": "1", "managedByKubelet": False},
            {"cpuset": "1", "managedByKubelet": True},
        ],
        cpu_manager_policy={"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "4"},
        reservation={"reservedCPUs": "8,99", "resources": {"cpu": "2"}},
        system_qos_resource={"cpuset": "12"},
    )

    assert faults == []
    assert as_text(found.reserved) == "0,4,8,12"
    assert found.full_pcpus_only
    assert [zone.allocatable["cpu"] for zone in found.zones] == [7000, 7000, 7000, 7000]


def test_cpus_of_the_system_may_be_shared() -> None:
    """Pods get them, too."""
    found, _ = read(system_qos_resource={"cpuset": "0", "cpusetExclusive": False})

    assert found.reserved == 0


def test_zones_that_are_amplified_already() -> None:
    """Ratios above 1 count."""
    found, _ = read(resource_amplification_ratio={"cpu": 1.5, "memory": 1, "example.com/x": None})

    assert found.ratios == {"cpu": Fraction(3, 2)}


def test_no_topology_of_cpus() -> None:
    """The NUMA nodes count all the same."""
    written = topology("n1")
    written["metadata"]["annotations"] = {}
    found, faults = read_object(written)

    assert faults == []
    assert found.layout is None
    assert [zone.id for zone in found.zones] == [0, 1]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("cpu_topology", {"detail": "all"}, "Expected `array`"),
        ("cpu_topology", {"detail": [{"id": 0}, {"id": 0}]}, "detail[1]: CPU 0 is described twice"),
        ("cpu_topology", {"detail": [{"id": 9999}]}, "detail[0]: expected numbers of at least 0: id up to 8191"),
        ("cpu_topology", {"detail": [{"id": 0, "node": 10**18}]}, "node up to 63"),
        ("pod_cpu_allocs", [{"uid": "a", "cpuset": "x", "managedByKubelet": True}], "'x' is neither a CPU"),
        ("pod_cpu_allocs", {}, "Expected `array`"),
        ("reservation", {"reservedCPUs": "3-1"}, "ends before it begins"),
        ("system_qos_resource", {"cpuset": "99999"}, "beyond 8191"),
        ("cpu_manager_policy", {"reservedCPUs": "-"}, "'-' is neither a CPU"),
        ("cpu_manager_policy", [], "Expected `object`"),
    ],
)
def test_a_node_without_a_reliable_list_gives_no_cpus(key: str, value: Any, message: str) -> None:
    """It might give a CPU that is in use. Its NUMA nodes count."""
    found, faults = read(**{key: value})

    prefix = "kubelet.koordinator.sh/" if key == "cpu_manager_policy" else NODE
    assert found.layout is None
    assert [path for path, _ in faults] == [f"metadata.annotations[{prefix}{key.replace('_', '-')}]"]
    assert message in faults[0][1]
    assert len(found.zones) == 2


def test_broken_zones_and_amounts_are_left_out() -> None:
    """Others count; zones that are no NUMA nodes are not looked at."""
    written = topology("n1")
    written["zones"] += [
        {"name": "node-1", "type": "Node"},
        {"name": "node-x", "type": "Node"},
        {"name": "node-64", "type": "Node"},
        {"name": "core-1", "type": "Core"},
        {"name": "other", "type": "Node"},
        {"name": "node-2", "type": "Node", "resources": [{"name": "cpu", "allocatable": "much"}, {"name": "memory"}]},
    ]
    found, faults = read_object(written)

    assert [zone.id for zone in found.zones] == [0, 1, 2]
    assert found.zones[2].allocatable == {}
    assert [path for path, _ in faults] == [
        "zones[2].name",
        "zones[3].name",
        "zones[4].name",
        "zones[7].resources[0].allocatable",
        "zones[7].resources[1].allocatable",
    ]


def test_at_most_eight_numa_nodes_count() -> None:
    """All sets of them are compared."""
    found, faults = read(zones=[{"cpu": "1"}] * 10)

    assert len(found.zones) == 8
    assert [path for path, _ in faults] == ["zones[8]", "zones[9]"]


def test_each_version_is_parsed_once() -> None:
    """Other nodes keep what was parsed."""
    state = ClusterState()

    def apply(*objects: dict[str, Any]) -> None:
        for kind, each in decoded(objects):
            state.apply(kind, each)

    apply(topology("n1"), topology("n2"))
    before = state.snapshot().topologies
    apply(topology("n1", memory="1Gi"))
    after = state.snapshot().topologies

    assert after[NodeName("n2")] is before[NodeName("n2")]
    assert after[NodeName("n1")] is not before[NodeName("n1")]
    ((kind, gone),) = decoded([topology("n1")])
    state.remove(kind, gone)
    assert list(state.snapshot().topologies) == ["n2"]


def test_unreadable_ratios_are_reported() -> None:
    """The zones count as not amplified."""
    written = topology("n1")
    written["metadata"]["annotations"][f"{NODE}resource-amplification-ratio"] = json.dumps({"cpu": "1.5"})
    found, faults = read_object(written)

    assert found.ratios is None
    assert faults == [
        (
            f"metadata.annotations[{NODE}resource-amplification-ratio]",
            "'cpu': 1.5, expected a number of at most 1000",
        )
    ]
