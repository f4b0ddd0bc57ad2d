"""What queues hold, as gauges; names are Volcano's."""

from typing import Final

from prometheus_client import Gauge

__all__ = [
    "QUEUE_GANGS_COMPLETED",
    "QUEUE_GANGS_INQUEUE",
    "QUEUE_GANGS_PENDING",
    "QUEUE_GANGS_RUNNING",
    "QUEUE_GANGS_UNKNOWN",
]


def _gauge(phase: str) -> Gauge:
    name = f"volcano_queue_pod_group_{phase.lower()}_count"
    return Gauge(name, f"Pod groups of a queue in phase {phase}.", ["queue_name"])


QUEUE_GANGS_PENDING: Final = _gauge("Pending")
QUEUE_GANGS_INQUEUE: Final = _gauge("Inqueue")
QUEUE_GANGS_RUNNING: Final = _gauge("Running")
QUEUE_GANGS_UNKNOWN: Final = _gauge("Unknown")
QUEUE_GANGS_COMPLETED: Final = _gauge("Completed")
