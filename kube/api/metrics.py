"""Metrics of the client of the API server."""

from prometheus_client import Counter, Gauge, Histogram

__all__ = [
    "BROKEN_OBJECTS",
    "EVENTS_DROPPED",
    "EVENTS_WAITING",
    "HANDLER_ERRORS",
    "LOOP_TASKS",
    "QUOTA_STATUS_SECONDS",
    "REFLECTOR_RESTARTS",
    "REQUESTS",
    "REQUEST_SECONDS",
    "STATUS_WRITES",
]

REQUESTS = Counter(
    "rest_client_requests_total",
    "Requests to the API server by method, host and status code (`<error>` when no answer came).",
    ["code", "method", "host"],
)
REQUEST_SECONDS = Histogram(
    "rest_client_request_duration_seconds",
    "Seconds from sending a request to having its answer.",
    ["verb", "host"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
)
REFLECTOR_RESTARTS = Counter(
    "pyroclast_reflector_restarts_total",
    "Lists and watches begun again, by resource and cause.",
    ["resource", "cause"],
)
HANDLER_ERRORS = Counter(
    "pyroclast_reflector_handler_errors_total",
    "Notifications of the reflector that its reader could not take, by resource.",
    ["resource"],
)
LOOP_TASKS = Gauge(
    "pyroclast_loop_tasks",
    "Tasks of the event loop when it was asked: watches, workers, requests under way.",
)
BROKEN_OBJECTS = Gauge(
    "pyroclast_broken_objects",
    "Objects that do not fit their kind and are left out, by resource.",
    ["resource"],
)
EVENTS_DROPPED = Counter(
    "pyroclast_events_dropped_total",
    "Events that were never sent, by cause.",
    ["cause"],
)
EVENTS_WAITING = Gauge(
    "pyroclast_events_waiting",
    "Events that are recorded and not sent yet.",
)
QUOTA_STATUS_SECONDS = Histogram(
    "scheduler_update_elastic_quota_status_duration_seconds",
    "Seconds from sending the status of an elastic quota to its acceptance.",
    buckets=[0.001 * 2**power for power in range(15)],
)
STATUS_WRITES = Counter(
    "pyroclast_status_writes_total",
    "Status writes by resource and outcome.",
    ["resource", "outcome"],
)
