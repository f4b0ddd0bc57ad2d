"""Metrics: gauges of the pod groups of existing queues, under Volcano's names."""

from typing import Final

from prometheus_client import Gauge

__all__ = ["GANGS"]

GANGS: Final = {
    phase.lower(): Gauge(
        f"volcano_queue_pod_group_{phase.lower()}_count", f"Pod groups of a queue in phase {phase}.", ["queue_name"]
    )
    for phase in ("Pending", "Inqueue", "Running", "Unknown", "Completed")
}
"""Gauges by the field of a queue's status that contains the same number."""
