"""Metrics: metrics of the controllers. Work queues have the names and buckets of Kubernetes' own controllers."""

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "EXPECTATIONS_EXPIRED",
    "LEADER",
    "RECONCILES",
    "WATCH_LAG",
    "WORK_ADDS",
    "WORK_DELAYED",
    "WORK_DEPTH",
    "WORK_LONGEST",
    "WORK_RETRIES",
    "WORK_SECONDS",
    "WORK_WAIT_SECONDS",
]

_BUCKETS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10)

WORK_DEPTH = Gauge("workqueue_depth", "Keys that wait to be reconciled now.", ["name"])
WORK_DELAYED = Gauge("workqueue_delayed", "Keys that are to be reconciled later.", ["name"])
WORK_ADDS = Counter("workqueue_adds_total", "Keys that began to wait.", ["name"])
WORK_RETRIES = Counter("workqueue_retries_total", "Keys that are reconciled again after a failure.", ["name"])
WORK_WAIT_SECONDS = Histogram(
    "workqueue_queue_duration_seconds", "Seconds that a key waited for a worker.", ["name"], buckets=_BUCKETS
)
WORK_SECONDS = Histogram(
    "workqueue_work_duration_seconds", "Seconds that one reconciliation took.", ["name"], buckets=_BUCKETS
)
WORK_LONGEST = Gauge(
    "workqueue_longest_running_processor_seconds", "Seconds that the oldest reconciliation runs by now.", ["name"]
)
LEADER = Gauge("pyroclast_controllers_leader", "1 while this process reconciles, 0 while it stands by.")
RECONCILES = Counter(
    "pyroclast_reconciles_total", "Reconciliations by controller that were `done` or have `failed`.", ["name", "result"]
)
WATCH_LAG = Gauge(
    "pyroclast_watch_lag_seconds", "Seconds since a watch last brought something, bookmarks included.", ["resource"]
)
EXPECTATIONS_EXPIRED = Counter(
    "pyroclast_expectations_expired_total", "Own writes that a store did not show in time, by resource.", ["resource"]
)
