"""Clusters from files, and dumps back into files."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from pyroclast.cache.files.audit import differences
from pyroclast.cache.files.dump import take_dump
from pyroclast.cache.files.objects import state_from_objects
from pyroclast.cache.options import StateOptions
from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import NodeName
from pyroclast.model.tasks import TaskStatus
from pyroclast.model.usage import NodeUsage
from tests.unit.cache.builders import bind_plan, eviction_plan, filled, group, node, pod, queue, task, used

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "annotations": {"scheduling.k8s.io/group-name": "g"}},
    "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": 1}}}]},
}
GROUP = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "g"},
    "spec": {"minMember": 1, "queue": "q"},
}
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q"}}


def test_what_a_server_fills_in_is_filled_in() -> None:
    """Namespace `default`, UIDs, and a new pod is Pending."""
    snapshot = state_from_objects([POD, GROUP, QUEUE]).snapshot()
    (job,) = snapshot.jobs.values()
    (only,) = job.tasks.values()

    assert (job.id, job.uid) == ("default/g", "default-g")
    assert (only.id, only.status) == ("default-p", TaskStatus.PENDING)


def test_lists_are_unfolded() -> None:
    """`kubectl get -o json` gives a List; typed lists name the kind of their items themselves."""
    bare = {key: value for key, value in POD.items() if key not in {"kind", "apiVersion"}}
    typed = {"apiVersion": "v1", "kind": "PodList", "items": [bare]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [typed, GROUP, QUEUE]}

    assert len(state_from_objects([outer]).snapshot().jobs) == 1


def test_kinds_that_play_no_part_are_noted_once() -> None:
    """Also a PodGroup of another API group."""
    notes: list[str] = []
    other = {"apiVersion": "scheduling.example.com/v1", "kind": "PodGroup", "metadata": {"name": "g"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

    state = state_from_objects([secret, secret, other, {"metadata": {}}], note=notes.append)

    assert not state.stored("PodGroup")
    assert notes == [
        "(no kind) plays no part in scheduling: ignored",
        "scheduling.example.com/v1 PodGroup plays no part in scheduling: ignored",
        "v1 Secret plays no part in scheduling: ignored",
    ]


def test_a_broken_object_is_left_out_and_reported() -> None:
    """The rest of the file is served."""
    faults: list[ObjectError] = []
    broken = {**GROUP, "metadata": {"name": "broken"}, "spec": {"minMember": "three"}}

    state = state_from_objects([broken, POD, GROUP, QUEUE], report=faults.append)

    assert len(state.snapshot().jobs) == 1
    assert [(fault.kind, fault.name, fault.path) for fault in faults] == [
        ("PodGroup", "default/broken", "spec.minMember")
    ]


def test_the_last_of_two_objects_of_a_name_counts() -> None:
    """As when files are applied one after the other, whatever versions they carry."""
    older = {**GROUP, "metadata": {"name": "g", "resourceVersion": "9"}, "spec": {"minMember": 5, "queue": "q"}}
    newer = {**GROUP, "metadata": {"name": "g", "resourceVersion": "9"}, "spec": {"minMember": 2, "queue": "q"}}

    (job,) = state_from_objects([older, newer, QUEUE]).snapshot().jobs.values()

    assert job.min_available == 2


def everything() -> ClusterState:
    """Books with something of most kinds, and decisions in flight."""
    claim = wire.PersistentVolumeClaim(metadata=wire.ObjectMeta(name="c", namespace="ns", uid="c"))
    high = wire.PriorityClass(metadata=wire.ObjectMeta(name="high", uid="high"), value=9)
    state = ClusterState(StateOptions(ignore_scheduler_name=True))
    filled(
        state,
        queue(weight=3, capability={"cpu": "7"}),
        high,
        claim,
        node(),
        group("g", priority_class_name="high", min_resources={"cpu": "1"}, phase="Running"),
        pod("run", group="g", node="n1", phase="Running", cpu="1"),
        pod("bind", group="g", cpu="1"),
        pod("wait", group="g", cpu="9"),
    )
    assert state.assume(bind_plan(("bind", "n1"), annotations={"a": "b"}), 0.0) == []
    assert state.assume(eviction_plan("run", "n1"), 0.0) == []
    return state


def test_a_dump_is_read_back_as_the_same_cluster() -> None:
    """Decisions that had no echo yet are in it as if they had."""
    state = everything()
    dumped: dict[str, Any] = json.loads(take_dump(state, 1e9).encode())

    again = state_from_objects([dumped], state.options)

    assert (task(again, "bind").status, task(again, "bind").node) == (TaskStatus.BOUND, "n1")
    assert task(again, "run").status is TaskStatus.RELEASING
    assert used(again) == used(state)
    assert again.snapshot().jobs.keys() == state.snapshot().jobs.keys()
    assert [job.priority for job in again.snapshot().jobs.values()] == [9]


def test_a_dump_of_a_resting_cluster_loses_nothing() -> None:
    """No difference that could change a decision."""
    state = ClusterState()
    filled(state, queue(), node(), group("g", minimum=2), pod("p", group="g", node="n1", phase="Running", cpu="1"))

    again = state_from_objects([json.loads(take_dump(state, 1e9).encode())])

    assert differences(state.snapshot(), again.snapshot()) == []


def test_a_dump_holds_what_was_measured_and_the_moment() -> None:
    """To the last bit, since a load stands or falls with its threshold."""
    state = ClusterState()
    filled(state, node())
    usage = {NodeName("n1"): NodeUsage(cpu_percent=80.00000000000001, memory_percent=1 / 3, measured=1_799_999_999.25)}
    state.measure(usage)

    dumped = json.loads(take_dump(state, 1_800_000_000.5).encode())

    assert dumped["now"] == 1_800_000_000.5
    assert state_from_objects([dumped]).snapshot().usage == usage


def test_measurements_are_written_by_hand_too() -> None:
    """With a time as people write it; one that cannot be read is left out and told."""
    measured = {"kind": "NodeUsage", "metadata": {"name": "n1"}, "cpuPercent": 50, "memoryPercent": 40}
    faults: list[ObjectError] = []

    read = state_from_objects([{**measured, "measured": "2027-01-15T08:00:00Z"}]).usage
    assert read == {"n1": NodeUsage(cpu_percent=50, memory_percent=40, measured=1_800_000_000)}
    for broken in ({**measured, "measured": "today"}, measured):
        assert state_from_objects([broken], report=faults.append).usage == {}
    assert [(fault.kind, fault.name) for fault in faults] == [("NodeUsage", "n1")] * 2


def test_a_dump_that_does_not_fit_on_the_disk_leaves_nothing(tmp_path: Path) -> None:
    """An empty file, or half a List, would pass for the cluster."""
    dump = take_dump(state_from_objects([]), 1e9)
    whole = tmp_path / "whole.json"
    dump.write(whole)
    assert whole.read_bytes() == dump.encode()

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # as a disk that is full
    try:
        with pytest.raises(OSError, match="File too large"):
            dump.write(tmp_path / "cut.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(tmp_path.iterdir()) == [whole]
