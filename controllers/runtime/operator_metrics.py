"""Metrics of a process of controllers. The scheduler has others of these names."""

from prometheus_client import Counter, Gauge

__all__ = ["EXPECTATIONS_EXPIRED", "LEADER", "WATCH_LAG"]

LEADER = Gauge("pyroclast_controllers_leader", "1 while this process reconciles, 0 while it stands by.")
WATCH_LAG = Gauge(
    "pyroclast_watch_lag_seconds", "Seconds since the last event of a watch, including bookmarks.", ["resource"]
)
EXPECTATIONS_EXPIRED = Counter(
    "pyroclast_expectations_expired_total",
    "Own writes that a store did not show before the timeout, by resource.",
    ["resource"],
)
