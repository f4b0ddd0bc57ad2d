"""Metrics: metrics of the Job controller, under Volcano's names."""

from prometheus_client import Gauge, Histogram

__all__ = ["JOBS_COMPLETED", "JOBS_FAILED", "POD_CREATION_LATENCY"]

_LABELS = ["job_name", "queue_name"]

# Gauges that only increase: the library appends `_total` to the names of counters, and Volcano does not.
JOBS_COMPLETED = Gauge("volcano_job_completed_phase_count", "Number of completed Jobs.", _LABELS)
JOBS_FAILED = Gauge("volcano_job_failed_phase_count", "Number of failed Jobs.", _LABELS)
POD_CREATION_LATENCY = Histogram(
    "volcano_controller_job_to_pod_creation_latency_milliseconds",
    "Milliseconds from the creation of a Job to the creation of each of its pods.",
    buckets=[5 * 2**exponent for exponent in range(15)],
)
