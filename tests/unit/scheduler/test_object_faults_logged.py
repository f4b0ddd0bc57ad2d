"""Broken fields are logged once each, and the memory of them is bounded."""

from structlog.testing import capture_logs

from pyroclast.model.errors import ObjectError
from pyroclast.scheduler.daemon.cluster import MAX_REMEMBERED_FAULTS, Faults
from pyroclast.scheduler.monitoring.metrics import Metrics


def test_a_fault_is_reported_once_and_counted_each_time() -> None:
    """A pod is read again at each of its changes."""
    metrics = Metrics()
    faults = Faults(metrics)
    with capture_logs() as logged:
        for _ in range(3):
            faults(ObjectError("Pod", "a/b", "spec", "odd"))

    assert [(line["kind"], line["object"], line["path"], line["fault"]) for line in logged] == [
        ("Pod", "a/b", "spec", "odd")
    ]
    assert metrics.value("pyroclast_broken_fields_total", "Pod") == 3


def test_new_faults_are_reported_after_many_others() -> None:
    """A process that runs for months sees more than it can keep in mind, and must not fall silent."""
    faults = Faults(Metrics())
    for number in range(MAX_REMEMBERED_FAULTS):
        faults(ObjectError("Pod", f"old/{number}", "spec", "odd"))

    with capture_logs() as logged:
        for number in range(3):
            faults(ObjectError("Pod", f"new/{number}", "spec", "odd"))

    assert [line["object"] for line in logged] == ["new/0", "new/1", "new/2"]


def test_long_faults_are_remembered_in_short() -> None:
    """Ten thousand faults that quote annotations would take gigabytes."""
    faults = Faults(Metrics())
    faults(ObjectError("Pod", "ns/p", "metadata.annotations", "x" * 250_000))

    assert max(map(len, faults._logged)) <= 1024
