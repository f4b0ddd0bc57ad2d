"""Metrics: numbers of flows that ended, under Volcano's names.

They are gauges that only increase, because the client library appends `_total` to the names of counters and Volcano
does not.
"""

from typing import Final

from prometheus_client import Gauge

__all__ = ["ENDED"]

ENDED: Final = {
    "Succeed": Gauge("volcano_jobflow_succeed_phase_count", "Job flows that have succeeded.", ["jobflow_namespace"]),
    "Failed": Gauge("volcano_jobflow_failed_phase_count", "Job flows that have failed.", ["jobflow_namespace"]),
}
"""Gauges by phase."""
