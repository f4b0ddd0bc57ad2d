"""What a queue holds, as gauges; names are Volcano's."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from prometheus_client import Gauge

__all__ = ["GANGS", "forget_queue", "show_counts"]

GANGS: Final[Mapping[str, Gauge]] = {
    field: Gauge(f"volcano_queue_pod_group_{field}_count", f"Pod groups of a queue in phase {phase}.", ["queue_name"])
    for field, phase in (
        ("pending", "Pending"),
        ("inqueue", "Inqueue"),
        ("running", "Running"),
        ("unknown", "Unknown"),
        ("completed", "Completed"),
    )
}
"""By the field of a queue's status that says the same."""


def show_counts(queue: str, counts: Mapping[str, int]) -> None:
    """Show what a queue holds."""
    for name, gauge in GANGS.items():
        gauge.labels(queue).set(counts[name])


def forget_queue(queue: str) -> None:
    """Remove the series of a queue that is gone."""
    for gauge in GANGS.values():
        with suppress(KeyError):
            gauge.remove(queue)
