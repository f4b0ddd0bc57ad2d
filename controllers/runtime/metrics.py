"""Metrics of work queues, with the names and buckets of Kubernetes' own controllers. The scheduler has them too."""

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "RECONCILES",
    "WORK_ADDS",
    "WORK_DELAYED",
    "WORK_DEPTH",
    "WORK_LONGEST",
    "WORK_RETRIES",
    "WORK_SECONDS",
    "WORK_WAIT_SECONDS",
]

_BUCKETS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10)

WORK_DEPTH = Gauge("workqueue_depth", "Number of keys that wait for a worker.", ["name"])
WORK_DELAYED = Gauge("workqueue_delayed", "Number of keys with a later due time.", ["name"])
WORK_ADDS = Counter("workqueue_adds_total", "Number of added keys.", ["name"])
WORK_RETRIES = Counter("workqueue_retries_total", "Number of retries after failures.", ["name"])
WORK_WAIT_SECONDS = Histogram(
    "workqueue_queue_duration_seconds", "Seconds that keys waited for a worker.", ["name"], buckets=_BUCKETS
)
WORK_SECONDS = Histogram(
    "workqueue_work_duration_seconds", "Duration of reconciliations in seconds.", ["name"], buckets=_BUCKETS
)
WORK_LONGEST = Gauge(
    "workqueue_longest_running_processor_seconds",
    "Seconds since the start of the oldest running reconciliation.",
    ["name"],
)
RECONCILES = Counter(
    "pyroclast_reconciles_total", "Reconciliations by controller and result, `done` or `failed`.", ["name", "result"]
)
