"""What queues hold, as gauges, as long as they are there; names are Volcano's."""

from typing import Final

from prometheus_client import Gauge

__all__ = ["GANGS"]

GANGS: Final = {
    phase.lower(): Gauge(
        f"volcano_queue_pod_group_{phase.lower()}_count", f"Pod groups of a queue in phase {phase}.", ["queue_name"]
    )
    for phase in ("Pending", "Inqueue", "Running", "Unknown", "Completed")
}
"""By the field of a queue's status that has the same number."""
