"""NUMA nodes: each Numatopology is read once per version, and each fault is reported once."""

from collections.abc import Mapping
from typing import Any

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from tests.numatopologies import numatopology

N1, N2 = NodeName("n1"), NodeName("n2")


def apply(state: ClusterState, *objects: Mapping[str, Any]) -> None:
    """Apply objects to a cluster state."""
    for kind, each in decoded(objects):
        state.apply(kind, each)


def test_a_numatopology_is_read_once_per_version() -> None:
    """The result is the same object until the next version. Other changes keep the mapping."""
    state = ClusterState()
    apply(state, numatopology("n1"), numatopology("n2"))
    first = state.snapshot().numa

    apply(state, {"kind": "Queue", "metadata": {"name": "q"}})
    assert state.snapshot().numa is first

    apply(state, numatopology("n1", free="4-7"))
    second = state.snapshot().numa
    assert second[N2] is first[N2]
    changed = second[N1]
    assert changed is not None
    assert changed.free == 0b11110000


def test_a_deleted_numatopology_is_forgotten() -> None:
    """The node has no Numatopology."""
    state = ClusterState()
    ((kind, topology),) = decoded([numatopology("n1")])
    state.apply(kind, topology)
    assert set(state.snapshot().numa) == {"n1"}

    state.remove(kind, topology)

    assert state.snapshot().numa == {}


def test_a_broken_numatopology_is_reported_once_per_version() -> None:
    """Other nodes are not affected."""
    faults: list[ObjectError] = []
    state = ClusterState(report=faults.append)
    apply(state, numatopology("n1", free="0-"), numatopology("n2"))
    assert state.snapshot().numa[N1] is None
    assert state.snapshot().numa[N2] is not None

    apply(state, {"kind": "Queue", "metadata": {"name": "q"}}, numatopology("n2", free="0"))
    state.snapshot()
    reported = [(fault.kind, fault.name, fault.path, fault.message) for fault in faults]
    message = "'0-' is neither a CPU nor a range of CPUs such as 2-4"
    assert reported == [("Numatopology", "n1", "spec.numares.cpu.allocatable", message)]
    assert state.fault_counts == {"Numatopology": 1}

    apply(state, numatopology("n1", free="1-"))
    state.snapshot()
    assert len(faults) == 2


def test_tasks_with_different_policies_share_no_template() -> None:
    """The annotation affects the placement of the pod."""
    pods = [
        {"kind": "Pod", "metadata": {"name": name, "annotations": annotations}, "spec": {"schedulerName": "volcano"}}
        for name, annotations in (
            ("a", {}),
            ("b", {"volcano.sh/numa-topology-policy": "restricted"}),
            ("c", {"volcano.sh/numa-topology-policy": "restricted"}),
        )
    ]
    state = ClusterState()
    apply(state, *pods)
    tasks = {outsider.task.name: outsider.task for outsider in state.snapshot().orphan_pods}

    assert tasks["a"].template is not tasks["b"].template
    assert tasks["b"].template is tasks["c"].template
