"""A failed cycle leaves its reason on what waits, within bounds, and says it once."""

import pytest

from pyroclast.framework import failed_cycle
from pyroclast.framework.failed_cycle import failed_report
from pyroclast.model.report import CycleReport
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from tests.native import native_group, of_native

CLUSTER = (
    Scenario()
    .node("n1")
    .running("runs", on=["n1"])
    .job("waits", tasks=2)
    .pod("gated", job="waits", spec={"schedulingGates": [{"name": "a"}]})
)
MESSAGE = "the scheduling cycle failed, and the next one tries again: KeyError: 'x'"


def report_of(scenario: Scenario) -> CycleReport:
    """Return what a failed cycle says about a cluster."""
    snapshot = cluster_of(scenario.objects, shard_mode="none", shard="", warnings=[]).snapshot()
    return failed_report(snapshot, cycle=7, generation=1, error="KeyError: 'x'")


def test_pending_jobs_and_pods_have_messages() -> None:
    """Those that run, and pods with gates, are not; nothing is decided."""
    report = report_of(CLUSTER)

    assert [(each.name, each.reason, each.message) for each in report.pod_conditions] == [
        ("waits-0", "SchedulerError", MESSAGE),
        ("waits-1", "SchedulerError", MESSAGE),
    ]
    (status,) = report.group_statuses
    assert status.job == "default/waits"
    assert [(each.type, each.status, each.reason, each.message) for each in status.conditions] == [
        ("Unschedulable", "True", "SchedulerError", MESSAGE)
    ]
    assert report.plans == ()


def test_a_message_to_a_job_is_not_repeated() -> None:
    """While cycles fail alike nothing is written."""
    condition = {"type": "Unschedulable", "status": "True", "reason": "SchedulerError", "message": MESSAGE}
    group = {
        "kind": "PodGroup",
        "metadata": {"name": "told", "namespace": "default", "uid": "u"},
        "spec": {"minMember": 1, "queue": "default"},
        "status": {"phase": "Inqueue", "conditions": [condition]},
    }

    assert report_of(Scenario().node("n1").add(group).pod("told-0", job="told")).group_statuses == ()


def test_messages_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest follows with later cycles, because the written ones do not differ any more."""
    monkeypatch.setattr(failed_cycle, "MOST_PODS", 2)

    assert len(report_of(Scenario().node("n1").job("many", tasks=3)).pod_conditions) == 2


def test_a_native_group_gets_the_reason_unless_it_was_scheduled_before() -> None:
    """Its condition has the reason of an error of the scheduler."""
    waiting = Scenario().queue("default").node("n1").pod("a-0", spec=of_native("a"))
    condition = {"type": "PodGroupInitiallyScheduled", "status": "True", "reason": "Scheduled", "message": ""}

    (status,) = report_of(waiting.add(native_group("a", 1))).native_statuses
    assert (status.name, status.status, status.reason, status.message) == ("a", "False", "SchedulerError", MESSAGE)
    scheduled = native_group("a", 1, status={"conditions": [condition]})
    assert report_of(waiting.add(scheduled)).native_statuses == ()
