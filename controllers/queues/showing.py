"""Shows what queues hold to Prometheus, as long as they are there."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from prometheus_client import Gauge

from pyroclast.controllers.queues import metrics

__all__ = ["forget_queue", "show_counts"]

_GAUGES: Final[Mapping[str, Gauge]] = {
    "pending": metrics.QUEUE_GANGS_PENDING,
    "inqueue": metrics.QUEUE_GANGS_INQUEUE,
    "running": metrics.QUEUE_GANGS_RUNNING,
    "unknown": metrics.QUEUE_GANGS_UNKNOWN,
    "completed": metrics.QUEUE_GANGS_COMPLETED,
}
"""By the field of a queue's status that says the same."""


def show_counts(queue: str, counts: Mapping[str, int]) -> None:
    """Show what a queue holds."""
    for name, gauge in _GAUGES.items():
        gauge.labels(queue).set(counts[name])


def forget_queue(queue: str) -> None:
    """Remove the series of a queue that is gone."""
    for gauge in _GAUGES.values():
        with suppress(KeyError):
            gauge.remove(queue)
