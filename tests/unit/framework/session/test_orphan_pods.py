"""Pods without a job: when they get their condition."""

from typing import Any

from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.diagnosis.closing import GRACE_SECONDS
from pyroclast.framework.session.memory import Memory
from pyroclast.model.report import CycleReport
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured

CREATED = 1_700_000_000.0
LOOSE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "loose", "namespace": "default", "uid": "loose", "creationTimestamp": "2023-11-14T22:13:20Z"},
    "spec": {"schedulerName": "volcano", "containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]},
    "status": {"phase": "Pending"},
}


def cycle_at(now: float) -> tuple[CycleReport, Memory, int]:
    """Run one cycle over one pod without a group."""
    parsed, registry = configured(("allocate",), (("gang",),), {})
    snapshot = cluster_of((LOOSE,), shard_mode="none", shard="volcano", warnings=[]).snapshot()
    report, memory = run_cycle(snapshot, parsed.configuration, registry=registry, now=now)
    return report, memory, snapshot.generation


def test_a_new_pod_gets_no_message_about_a_missing_group() -> None:
    """Its group may come by another watch in a moment; an older pod gets the condition, on the same snapshot, too."""
    report, memory, generation = cycle_at(CREATED + 1)

    assert report.pod_conditions == ()
    assert memory.is_quiet(generation, memory.quiet_configuration, CREATED + 1.5)
    assert not memory.is_quiet(generation, memory.quiet_configuration, CREATED + GRACE_SECONDS)
    later, _, _ = cycle_at(CREATED + GRACE_SECONDS)
    assert [told.reason for told in later.pod_conditions] == ["Unschedulable"]


def test_a_clock_far_behind_does_not_silence() -> None:
    """A scheduler whose clock is an hour behind the server's tells at once."""
    report, _, _ = cycle_at(CREATED - 3600)

    assert len(report.pod_conditions) == 1
