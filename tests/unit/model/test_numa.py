"""Reading Numatopologies: what they say, and every way in which they can be broken."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.model.cpusets import as_text, read_cpu_set
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import TaskId
from pyroclast.model.numa import read_numa

DETAIL = {str(cpu): wire.CpuInfo(numa=cpu // 4, socket=cpu // 4, core=cpu // 2 % 2) for cpu in range(8)}
"""Two sockets of two cores of two CPUs; cores are numbered within their socket."""


def topology(**spec: Any) -> wire.Numatopology:
    """A Numatopology; what is not given is sound."""
    base = {
        "policies": {"CPUManagerPolicy": "static", "TopologyManagerPolicy": "restricted"},
        "numares": {"cpu": wire.NumaResource(allocatable="1-7", capacity=8)},
        "cpu_detail": DETAIL,
    }
    return wire.Numatopology(metadata=wire.ObjectMeta(name="n1"), spec=wire.NumatopologySpec(**{**base, **spec}))


def test_what_a_topology_says() -> None:
    """Policies, places, free CPUs, the rounded reserve, and who is listed."""
    allocations = (wire.NumaPodAllocation(uid="u", namespace="ns", name="p"), wire.NumaPodAllocation(uid="v"))
    node = read_numa(topology(res_reserved={"cpu": "1100m"}, pod_allocations=allocations))

    assert (node.policy, node.is_static, node.aligns, node.reserved) == ("restricted", True, True, 2)
    assert node.free == read_cpu_set("1-7")
    assert [(number, as_text(cpus)) for number, cpus in node.layout.numa] == [(0, "0-3"), (1, "4-7")]
    assert [as_text(socket) for socket in node.layout.sockets] == ["0-3", "4-7"]
    assert [[as_text(core) for core in cores] for cores in node.layout.cores] == [["0-1", "2-3"], ["4-5", "6-7"]]
    assert node.seen == {"u", "ns/p", "v"}


def test_what_is_missing_is_nothing() -> None:
    """No policies, no CPUs, no reserve."""
    node = read_numa(topology(policies={}, numares={}, cpu_detail={"3": wire.CpuInfo()}))

    assert (node.policy, node.is_static, node.aligns, node.free, node.reserved) == ("", False, False, None, 0)
    assert node.layout.numa == ((0, 1 << 3),)


@pytest.mark.parametrize(
    ("policies", "aligns"),
    [
        ({"CPUManagerPolicy": "static", "TopologyManagerPolicy": "best-effort"}, True),
        ({"CPUManagerPolicy": "static", "TopologyManagerPolicy": "none"}, False),
        ({"CPUManagerPolicy": "static"}, False),
        ({"CPUManagerPolicy": "none", "TopologyManagerPolicy": "restricted"}, False),
    ],
)
def test_policies_that_align_containers(policies: Mapping[str, str], aligns: bool) -> None:
    """A static CPU manager under a topology policy."""
    assert read_numa(topology(policies=policies)).aligns is aligns


@pytest.mark.parametrize(
    ("spec", "path", "fault"),
    [
        ({"cpu_detail": {"x": wire.CpuInfo()}}, "spec.cpuDetail.x", "'x' is not the number of a CPU"),
        ({"cpu_detail": {"1" * 99: wire.CpuInfo()}}, f"spec.cpuDetail.{'1' * 20}", "is beyond 8191"),
        ({"cpu_detail": {"1": wire.CpuInfo(), "01": wire.CpuInfo()}}, "spec.cpuDetail.01", "CPU 1 is described twice"),
        ({"cpu_detail": {"1": wire.CpuInfo(socket=-1)}}, "spec.cpuDetail.1", "are numbers of at least 0"),
        (
            {"numares": {"cpu": wire.NumaResource(allocatable="3-1")}},
            "spec.numares.cpu.allocatable",
            "'3-1' ends before",
        ),
        (
            {"numares": {"cpu": wire.NumaResource(allocatable="0-9")}},
            "spec.numares.cpu.allocatable",
            "spec.cpuDetail does not list CPU 8-9 sits",
        ),
        ({"res_reserved": {"cpu": "much"}}, "spec.resReserved.cpu", "'much' is not a quantity"),
        ({"res_reserved": {"cpu": "-1"}}, "spec.resReserved.cpu", "is negative"),
    ],
)
def test_a_broken_topology_is_named(spec: dict[str, Any], path: str, fault: str) -> None:
    """With the object, the path of the field, and what is wrong with it."""
    with pytest.raises(ObjectError) as caught:
        read_numa(topology(**spec))

    assert (caught.value.kind, caught.value.name, caught.value.path) == ("Numatopology", "n1", path)
    assert fault in caught.value.message


def test_other_resources_are_not_looked_at() -> None:
    """Only CPUs are aligned: what an exporter writes of devices cannot break a node."""
    node = read_numa(
        topology(numares={"cpu": wire.NumaResource(allocatable="0"), "gpu": wire.NumaResource(allocatable="?")})
    )

    assert node.free == 1


def test_machines_of_one_build_share_a_layout() -> None:
    """Whatever else differs."""
    assert read_numa(topology()).layout is read_numa(topology(policies={}, res_reserved={"cpu": "1"})).layout


def test_what_follows_from_tasks_is_worked_out_once() -> None:
    """For the same mapping; another one, though equal, is another state of the node."""
    node, calls = read_numa(topology()), list[None]()
    tasks: dict[TaskId, Any] = {}

    def compute() -> int:
        calls.append(None)
        return len(calls)

    assert [node.derive(tasks, compute), node.derive(tasks, compute), node.derive({}, compute)] == [1, 1, 2]


def test_cpus_of_a_numatopology_without_pods_are_inferred() -> None:
    """More CPUs than are reserved are free; fewer may be free yet."""
    everything = {"cpu": wire.NumaResource(allocatable="0-7")}
    listed = (wire.NumaPodAllocation(uid="u"),)

    assert not read_numa(topology()).tells_pods
    assert read_numa(topology(pod_allocations=listed)).tells_pods
    assert read_numa(topology(numares=everything)).tells_pods
    assert read_numa(topology(res_reserved={"cpu": "1"})).tells_pods
