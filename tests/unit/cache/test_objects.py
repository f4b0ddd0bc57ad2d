"""Cluster state from files, and dumps to files."""

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


def test_missing_fields_are_filled_in() -> None:
    """The namespace is `default`, objects have UIDs, and a new pod is Pending."""
    snapshot = state_from_objects([POD, GROUP, QUEUE]).snapshot()
    (job,) = snapshot.jobs.values()
    (only,) = job.tasks.values()

    assert (job.id, job.uid) == ("default/g", "default-g")
    assert (only.id, only.status) == ("default-p", TaskStatus.PENDING)


def test_lists_are_unfolded() -> None:
    """`kubectl get -o json` prints a List. Typed lists name the kind of their items."""
    bare = {key: value for key, value in POD.items() if key not in {"kind", "apiVersion"}}
    typed = {"apiVersion": "v1", "kind": "PodList", "items": [bare]}
    outer = {"apiVersion": "v1", "kind": "List", "items": [typed, GROUP, QUEUE]}

    assert len(state_from_objects([outer]).snapshot().jobs) == 1


def test_kinds_that_do_not_affect_scheduling_are_noted_once() -> None:
    """A PodGroup of another API group is one of them."""
    notes: list[str] = []
    other = {"apiVersion": "scheduling.example.com/v1", "kind": "PodGroup", "metadata": {"name": "g"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}

    state = state_from_objects([secret, secret, other, {"metadata": {}}], note=notes.append)

    assert not state.stored("PodGroup")
    assert notes == [
        "(no kind) does not affect scheduling: ignored",
        "scheduling.example.com/v1 PodGroup does not affect scheduling: ignored",
        "v1 Secret does not affect scheduling: ignored",
    ]


def test_a_broken_object_is_ignored_and_reported() -> None:
    """Other objects of the file are not affected."""
    faults: list[ObjectError] = []
    broken = {**GROUP, "metadata": {"name": "broken"}, "spec": {"minMember": "three"}}

    state = state_from_objects([broken, POD, GROUP, QUEUE], report=faults.append)

    assert len(state.snapshot().jobs) == 1
    assert [(fault.kind, fault.name, fault.path) for fault in faults] == [
        ("PodGroup", "default/broken", "spec.minMember")
    ]


def test_the_last_of_two_objects_with_one_name_counts() -> None:
    """Files behave as if they were applied in their order, regardless of resource versions."""
    older = {**GROUP, "metadata": {"name": "g", "resourceVersion": "9"}, "spec": {"minMember": 5, "queue": "q"}}
    newer = {**GROUP, "metadata": {"name": "g", "resourceVersion": "9"}, "spec": {"minMember": 2, "queue": "q"}}

    (job,) = state_from_objects([older, newer, QUEUE]).snapshot().jobs.values()

    assert job.min_available == 2


def everything() -> ClusterState:
    """Return a cluster state with objects of most kinds and with assumptions."""
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
    """It contains assumptions as if the server had confirmed them."""
    state = everything()
    dumped: dict[str, Any] = json.loads(take_dump(state, 1e9).encode())

    again = state_from_objects([dumped], state.options)

    assert (task(again, "bind").status, task(again, "bind").node) == (TaskStatus.BOUND, "n1")
    assert task(again, "run").status is TaskStatus.RELEASING
    assert used(again) == used(state)
    assert again.snapshot().jobs.keys() == state.snapshot().jobs.keys()
    assert [job.priority for job in again.snapshot().jobs.values()] == [9]


def test_a_dump_of_an_unchanged_cluster_is_complete() -> None:
    """The audit finds no difference."""
    state = ClusterState()
    filled(state, queue(), node(), group("g", minimum=2), pod("p", group="g", node="n1", phase="Running", cpu="1"))

    again = state_from_objects([json.loads(take_dump(state, 1e9).encode())])

    assert differences(state.snapshot(), again.snapshot()) == []


def test_a_dump_has_measurements_and_the_time() -> None:
    """The numbers are exact, because decisions compare them with thresholds."""
    state = ClusterState()
    filled(state, node())
    usage = {NodeName("n1"): NodeUsage(cpu_percent=80.00000000000001, memory_percent=1 / 3, measured=1_799_999_999.25)}
    state.measure(usage)

    dumped = json.loads(take_dump(state, 1_800_000_000.5).encode())

    assert dumped["now"] == 1_800_000_000.5
    assert state_from_objects([dumped]).snapshot().usage == usage


def test_measurements_can_be_written_by_users() -> None:
    """The time may be RFC 3339. A time that cannot be read is reported, and its measurement is ignored."""
    measured = {"kind": "NodeUsage", "metadata": {"name": "n1"}, "cpuPercent": 50, "memoryPercent": 40}
    faults: list[ObjectError] = []

    read = state_from_objects([{**measured, "measured": "2027-01-15T08:00:00Z"}]).usage
    assert read == {"n1": NodeUsage(cpu_percent=50, memory_percent=40, measured=1_800_000_000)}
    for broken in ({**measured, "measured": "today"}, measured):
        assert state_from_objects([broken], report=faults.append).usage == {}
    assert [(fault.kind, fault.name) for fault in faults] == [("NodeUsage", "n1")] * 2


def test_a_dump_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    """A partial file would look like the whole cluster."""
    dump = take_dump(state_from_objects([]), 1e9)
    whole = tmp_path / "whole.json"
    dump.write(whole)
    assert whole.read_bytes() == dump.encode()

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))  # like a full disk
    try:
        with pytest.raises(OSError, match="File too large"):
            dump.write(tmp_path / "cut.json")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert list(tmp_path.iterdir()) == [whole]
