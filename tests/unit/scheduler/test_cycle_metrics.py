"""What a cycle leaves in gauges, and what explain says of its jobs: from a real cycle on objects."""

from typing import Any

import msgspec
import pytest

from pyroclast.cache.files.objects import state_from_objects
from pyroclast.framework.cycle import run_cycle
from pyroclast.model.ids import JobId
from pyroclast.model.refusals import Refusal
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.daemon.settings import read_configuration
from pyroclast.scheduler.monitoring.cycle_metrics import observe_placements, set_cycle_metrics
from pyroclast.scheduler.monitoring.explain import explain_job
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.scheduler.registry import load_registry

CONFIGURATION = "actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: priority\n  - name: gang\n  - name: drf\n"
CREATED = "2026-01-01T00:00:00Z"
SECOND_AFTER_CREATION = 1767225601.0
QUEUE = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "q", "uid": "q"}}
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "n1", "uid": "n1"},
    "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}},
}


def group(name: str, minimum: int) -> dict[str, Any]:
    """Make a PodGroup."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "ns", "uid": name, "creationTimestamp": CREATED},
        "spec": {"minMember": minimum, "queue": "q"},
        "status": {"phase": "Inqueue"},
    }


def pod(name: str, gang: str, cpu: str) -> dict[str, Any]:
    """Make a pending pod of a group."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "ns",
            "uid": name,
            "creationTimestamp": CREATED,
            "annotations": {"scheduling.k8s.io/group-name": gang},
        },
        "spec": {"schedulerName": "volcano", "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Pending"},
    }


@pytest.fixture(scope="module")
def seen() -> Seen:
    """A cycle that places one gang of two and cannot place another."""
    objects = [
        QUEUE,
        NODE,
        group("small", 2),
        pod("small-0", "small", "1"),
        pod("small-1", "small", "1"),
        group("large", 1),
        pod("large-0", "large", "64"),
    ]
    snapshot = state_from_objects(objects).snapshot()
    registry = load_registry()
    configuration = read_configuration(CONFIGURATION, registry).configuration
    report, _ = run_cycle(snapshot, configuration, registry=registry, now=SECOND_AFTER_CREATION)
    return Seen(snapshot=snapshot, report=report)


def test_backlog_and_waiting_jobs_are_measured(seen: Seen) -> None:
    """The gauges show what was pending, and which rule keeps the job that waits."""
    metrics = Metrics()
    set_cycle_metrics(seen, metrics)

    assert metrics.value("pyroclast_backlog_tasks", "q") == 3
    assert metrics.value("pyroclast_refused_jobs", "gang", "NotEnoughResources") == 1


def test_pods_on_lent_room_are_shown() -> None:
    """The gauge counts them by queue, and explain names them; pods within the share and those that ended are none."""
    lent = {"scheduling.pyroclast.io/lent": "true"}
    pods = [running("gang-0", lent), running("gang-1", {}), running("gang-2", lent, phase="Succeeded")]
    snapshot = state_from_objects([QUEUE, NODE, group("gang", 1), *pods]).snapshot()
    configuration = read_configuration(CONFIGURATION, load_registry()).configuration
    report, _ = run_cycle(snapshot, configuration, registry=load_registry(), now=SECOND_AFTER_CREATION)
    metrics = Metrics()
    set_cycle_metrics(Seen(snapshot=snapshot, report=report), metrics)
    explained = explain_job("ns/gang", snapshot, report)

    assert metrics.value("pyroclast_lent_pods", "q") == 1
    assert explained is not None
    assert explained["lent"] == ["ns/gang-0"]


def running(name: str, annotations: dict[str, str], phase: str = "Running") -> dict[str, Any]:
    """Make a pod of the group `gang` on the node."""
    made = pod(name, "gang", "1")
    own = {**made["metadata"], "annotations": {**made["metadata"]["annotations"], **annotations}}
    return {**made, "metadata": own, "spec": {**made["spec"], "nodeName": "n1"}, "status": {"phase": phase}}


def test_eviction_refusals_are_no_pending_reasons(seen: Seen) -> None:
    """It comes after what a job lacks, and if only its pods have that, after theirs."""
    evictions = Refusal(plugin="reclaim", reason="HasMinimum", action="reclaim")
    report = msgspec.structs.replace(seen.report, refusals={JobId("ns/large"): (evictions,)})
    metrics = Metrics()
    set_cycle_metrics(Seen(snapshot=seen.snapshot, report=report), metrics)

    assert metrics.value("pyroclast_refused_jobs", "resources", "NoNodeFits") == 1
    assert metrics.value("pyroclast_refused_jobs", "reclaim", "HasMinimum") is None


def test_jobs_that_need_not_be_tried_again_still_wait(seen: Seen) -> None:
    """A report counts the tasks of jobs that were looked at; who waits is shown and explained all the same."""
    report = msgspec.structs.replace(seen.report, status_counts={})
    metrics = Metrics()
    set_cycle_metrics(Seen(snapshot=seen.snapshot, report=report), metrics)

    assert metrics.value("pyroclast_refused_jobs", "gang", "NotEnoughResources") == 1
    explained = explain_job("ns/large", seen.snapshot, report)
    assert explained is not None
    assert explained["tasks"] == {"Pending": 1}


def test_placements_are_timed_from_creation(seen: Seen) -> None:
    """Each of the two placements counts, one second after the job was made."""
    metrics = Metrics()
    observe_placements(seen, metrics, SECOND_AFTER_CREATION)

    assert metrics.value("volcano_e2e_job_scheduling_duration", "small", "q", "ns") == 1000
    assert metrics.value("volcano_e2e_job_scheduling_last_time", "small", "q", "ns") == SECOND_AFTER_CREATION
    assert "volcano_e2e_job_scheduling_latency_milliseconds_count 2.0" in metrics.text().decode()


def test_job_that_waits_is_explained(seen: Seen) -> None:
    """Counts and refusals are said, with nodes counted by reason."""
    explained = explain_job("ns/large", seen.snapshot, seen.report)

    assert explained is not None
    assert explained["tasks"] == {"Pending": 1}
    (refusal,) = explained["taskRefusals"]["ns/large-0"]
    assert refusal["counts"] == {"Insufficient cpu": 1}


def test_job_that_was_placed_has_nothing_to_explain(seen: Seen) -> None:
    """Its refusals are empty; held amounts are quantities."""
    explained = explain_job("ns/small", seen.snapshot, seen.report)

    assert explained is not None
    assert explained["refusals"] == []
    assert explained["share"] == {"resource": "cpu", "share": 0.5, "allocated": {"cpu": "2", "pods": "2"}}


def test_unknown_job_is_not_explained(seen: Seen) -> None:
    """A job that the cycle did not see has no answer."""
    assert explain_job("ns/other", seen.snapshot, seen.report) is None
