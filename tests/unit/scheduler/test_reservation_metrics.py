"""Reservations under Koordinator's metric names."""

from typing import Any

from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.cycle_metrics import set_cycle_metrics
from pyroclast.scheduler.monitoring.metrics import Metrics
from pyroclast.testing import Scenario
from tests.reservations import outcome_of, reservation


def measured(*reservations: dict[str, Any], metrics: Metrics | None = None) -> Metrics:
    """Return the metrics after a cycle."""
    (done,) = outcome_of(Scenario().queue("default").node("n1", cpu=8).add(*reservations)).rounds
    metrics = metrics or Metrics()
    set_cycle_metrics(Seen(snapshot=done.snapshot, report=done.report, seconds=0.0), metrics)
    return metrics


def test_each_phase_is_0_or_1() -> None:
    """A Reservation without a phase is pending."""
    metrics = measured(reservation("r", cpu=99), reservation("s", node="n1"))
    phases = ("Pending", "Available", "Succeeded", "Failed")

    assert [metrics.value("scheduler_reservation_status_phase", "r", each) for each in phases] == [1, 0, 0, 0]
    assert [metrics.value("scheduler_reservation_status_phase", "s", each) for each in phases] == [0, 1, 0, 0]


def test_amounts_have_koordinators_units() -> None:
    """Cores, GiB, and plain numbers; the ratio is of the status."""
    one = reservation("r", node="n1", cpu="2500m", resources={"memory": "4Gi", "nvidia.com/gpu": "8"})
    one["status"]["allocated"] = {"cpu": "500m", "memory": "1Gi"}
    metrics = measured(one)

    def values(kind: str, *units: str) -> list[float | None]:
        names = zip(("cpu", "memory", "nvidia.com/gpu"), units, strict=True)
        return [metrics.value("scheduler_reservation_resource", kind, "r", name, unit) for name, unit in names]

    assert values("allocatable", "core", "Gi", "raw") == [2.5, 4, 8]
    assert values("allocated", "core", "Gi", "raw") == [0.5, 1, 0]
    assert values("utilization", "ratio", "ratio", "ratio") == [0.2, 0.25, 0]


def test_series_go_with_their_reservation() -> None:
    """The second cycle has none."""
    metrics = measured(reservation("r", node="n1"))
    assert "scheduler_reservation_resource{" in metrics.text().decode()

    assert "scheduler_reservation_resource{" not in measured(metrics=metrics).text().decode()
