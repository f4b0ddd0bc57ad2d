"""Catalogue of the scheduler's metrics: name, labels, buckets, meaning.

The first table has Volcano's metrics under their names, so that Volcano's dashboards work. The second has additional
metrics. A test compares docs/metrics.md with both.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["OURS", "SCALARS", "VOLCANO", "VOLCANO_PREFIX", "MetricKind", "Shape", "spread"]

MetricKind = Literal["gauge", "counter", "histogram"]

VOLCANO_PREFIX: Final = "volcano_"

SCALARS: Final = "_scalar_resources"
"""Name suffix of metrics with one series for each extended resource of a queue."""


@dataclass(frozen=True, slots=True)
class Shape:
    """Definition of a metric."""

    kind: MetricKind
    labels: tuple[str, ...]
    about: str
    buckets: tuple[float, ...] = ()
    """Upper bounds of a histogram, ascending, without the infinite one."""


def spread(first: float, last: float, count: int) -> tuple[float, ...]:
    """Return `count` bucket bounds from `first` to `last` at equal ratios."""
    return tuple(first * (last / first) ** (index / (count - 1)) for index in range(count))


_CYCLE: Final = spread(1, 5000, 20)
_JOB: Final = ("job_name", "queue", "job_namespace")
_QUOTA: Final = ("name", "resource", "tree", "is_parent", "parent", "field")
_DEVICE: Final = ("devID", "NodeName")


def _queue_amounts(name: str, about: str) -> dict[str, Shape]:
    """Return the three metrics for one resource vector of a queue."""
    return {
        f"queue_{name}_milli_cpu": Shape("gauge", ("queue_name",), f"{about}: CPU, thousandths."),
        f"queue_{name}_memory_bytes": Shape("gauge", ("queue_name",), f"{about}: memory, bytes."),
        f"queue_{name}{SCALARS}": Shape("gauge", ("queue_name", "resource"), f"{about}: other resources."),
    }


VOLCANO: Final[Mapping[str, Shape]] = {
    "e2e_scheduling_latency_milliseconds": Shape("histogram", (), "A whole cycle.", _CYCLE),
    "open_session_duration_milliseconds": Shape("histogram", (), "Snapshot, and opening of the plugins.", _CYCLE),
    "e2e_job_scheduling_latency_milliseconds": Shape(
        "histogram", (), "From creation of a job to each placement of one of its tasks.", spread(100, 120_000, 30)
    ),
    "e2e_job_scheduling_duration": Shape("gauge", _JOB, "From creation of a job to its last placement, milliseconds."),
    "e2e_job_scheduling_start_time": Shape("gauge", _JOB, "Creation of a job, seconds since 1970."),
    "e2e_job_scheduling_last_time": Shape("gauge", _JOB, "Last placement of a job, seconds since 1970."),
    "plugin_scheduling_latency_milliseconds": Shape(
        "histogram",
        ("plugin", "OnSession"),
        "Opening (`OnSessionOpen`) and closing (`OnSessionClose`) of a plugin.",
        spread(0.1, 100, 15),
    ),
    "action_scheduling_latency_milliseconds": Shape("histogram", ("action",), "One action.", spread(1, 2000, 20)),
    "task_scheduling_latency_milliseconds": Shape(
        "histogram",
        ("stage",),
        "From creation of a pod until it is `Watched`, `Assumed`, `PreBound`, `Bound`.",
        spread(50, 60_000, 30),
    ),
    "scheduling_stage_duration_milliseconds": Shape(
        "histogram",
        ("stage",),
        "Stages `PreBind` and `Bind`; `Predicate` and `Scoring` are never reported: arrays answer for many at once.",
        spread(0.1, 500, 20),
    ),
    "schedule_attempts_total": Shape(
        "counter", ("result",), "Tries to place a pod: `scheduled`, `unschedulable`, `error`."
    ),
    "pod_preemption_victims": Shape("gauge", (), "Size of the last list of victims that preempt found."),
    "total_preemption_attempts": Shape("counter", (), "Nodes on which preempt looked for victims."),
    "eviction_transactions_total": Shape("counter", ("action",), "Committed plans that evict."),
    "unschedule_task_count": Shape("gauge", ("job_id",), "Tasks that a job's gang lacks, by the group's name."),
    "unschedule_job_count": Shape("gauge", (), "Jobs whose gang is not complete."),
    "job_share": Shape("gauge", ("job_ns", "job_id"), "Dominant share of a job (DRF), from 0 to 1."),
    "job_retry_counts": Shape("counter", ("job_id",), "Cycles that left a job's gang incomplete, by the group's name."),
    "namespace_share": Shape("gauge", ("namespace_name",), "Kept for dashboards; not set, as in Volcano."),
    "namespace_weight": Shape("gauge", ("namespace_name",), "Kept for dashboards; not set, as in Volcano."),
    "namespace_weighted_share": Shape("gauge", ("namespace_name",), "Kept for dashboards; not set, as in Volcano."),
    **_queue_amounts("allocated", "Held by a queue's jobs"),
    **_queue_amounts("request", "Asked for by a queue's jobs, held or not"),
    **_queue_amounts("deserved", "Deserved by a queue"),
    "queue_share": Shape("gauge", ("queue_name",), "Largest ratio of allocated to deserved."),
    "queue_weight": Shape("gauge", ("queue_name",), "Weight of a queue."),
    "queue_overused": Shape(
        "gauge", ("queue_name",), "1 when a queue holds all that it deserves (proportion), or more (capacity)."
    ),
    **_queue_amounts("capacity", "Upper limit of a queue"),
    **_queue_amounts("real_capacity", "Upper limit of a queue, after guarantees of others"),
    **_queue_amounts("inqueue", "Promised to jobs that were admitted and do not run yet"),
    "vgpu_device_shared_number": Shape("gauge", _DEVICE, "Pods that share a device."),
    "vgpu_device_allocated_memory": Shape("gauge", _DEVICE, "Device memory in use."),
    "vgpu_device_allocated_cores": Shape("gauge", _DEVICE, "Device cores in use, percent."),
    "vgpu_device_memory_limit": Shape("gauge", _DEVICE, "Memory of a device."),
    "vgpu_device_memory_allocation_for_a_certain_pod": Shape(
        "gauge", (*_DEVICE, "podName"), "Device memory that a pod holds."
    ),
    "vgpu_device_core_allocation_for_a_certain_pod": Shape(
        "gauge", (*_DEVICE, "podName"), "Device cores that a pod holds, percent."
    ),
}
"""Metrics of Volcano, by name without prefix."""

_PHASE_SECONDS: Final = spread(0.0001, 10, 21)

OURS: Final[Mapping[str, Shape]] = {
    "pyroclast_cycles_total": Shape("counter", ("result",), "Cycles that `finished` or `failed`."),
    "pyroclast_cycle_phase_seconds": Shape(
        "histogram",
        ("phase",),
        "Cycle time by phase: snapshot, open, each plugin, each action, lend, close, write.",
        _PHASE_SECONDS,
    ),
    "pyroclast_binds_total": Shape(
        "counter", ("result",), "Binds that `succeeded`, `failed`, or were `refused` unsent."
    ),
    "pyroclast_binds_per_second": Shape("gauge", (), "Successful binds over the last ten seconds."),
    "pyroclast_evictions_total": Shape(
        "counter", ("result",), "Evictions that `succeeded`, `failed`, or were `refused`."
    ),
    "pyroclast_plans_total": Shape(
        "counter", ("result",), "Plans `assumed`, or `refused` because the cluster moved on."
    ),
    "pyroclast_backlog_tasks": Shape("gauge", ("queue_name",), "Pending tasks of a queue's jobs."),
    "pyroclast_lent_pods": Shape(
        "gauge", ("queue_name",), "Pods of a queue on room that it was lent beyond its share."
    ),
    "pyroclast_outsiders": Shape("gauge", ("reason",), "Pending pods that no job holds, by reason."),
    "pyroclast_profile_session_seconds": Shape(
        "histogram", ("profile",), "Time of the session of a profile.", _PHASE_SECONDS
    ),
    "pyroclast_profile_binds_total": Shape("counter", ("profile",), "Binds that a profile decided."),
    "pyroclast_profile_evictions_total": Shape("counter", ("profile",), "Evictions that a profile decided."),
    "pyroclast_profile_failures_total": Shape("counter", ("profile",), "Sessions of a profile that failed."),
    "pyroclast_profile_waiting_jobs": Shape("gauge", ("profile",), "Jobs of a profile that wait for a reason."),
    "pyroclast_refused_jobs": Shape("gauge", ("plugin", "reason"), "Waiting jobs, by the first rule that keeps them."),
    "pyroclast_job_dominant_share": Shape(
        "gauge",
        ("job_namespace", "job_name", "resource"),
        "Dominant resource and share of the jobs with the largest shares; a bounded number of them.",
    ),
    "pyroclast_configuration_generation": Shape("gauge", (), "Generation of the configuration that decides."),
    "pyroclast_configuration_reload_ok": Shape("gauge", (), "0 while the file on disk is refused, else 1."),
    "pyroclast_configuration_reload_time_seconds": Shape(
        "gauge", (), "When a configuration was last taken, seconds since 1970."
    ),
    "pyroclast_leader": Shape("gauge", (), "1 while this process holds the lease."),
    "pyroclast_cache_drift": Shape("gauge", (), "Differences found by the last audit of the state; 0 is right."),
    "pyroclast_assumed_tasks": Shape("gauge", (), "Decisions that the API server has not echoed yet."),
    "pyroclast_watch_lag_seconds": Shape(
        "gauge", ("resource",), "Time since a watch last brought something, bookmarks included."
    ),
    "pyroclast_broken_fields_total": Shape("counter", ("kind",), "Fields of objects that could not be read."),
    "pyroclast_uncounted_claims_total": Shape(
        "counter", ("queue_name",), "Resource claims in queues with quotas of devices that quotas do not count."
    ),
    "pyroclast_pods_with_ignored_terms": Shape(
        "gauge",
        (),
        "Pods on nodes whose terms of pod affinity and anti-affinity do not count, because there are too many.",
    ),
    "pyroclast_deferred_jobs_total": Shape(
        "counter",
        ("action", "namespace"),
        "Jobs that an action did not try in a cycle, since their namespace had used up its share.",
    ),
    "pyroclast_least_harm_searches_cut_short_total": Shape(
        "counter", ("action",), "Plans taken when the search for less harmful ones gave up."
    ),
    "pyroclast_plugin_failures_total": Shape("counter", ("plugin",), "Cycles in which a plugin failed."),
    "pyroclast_plugin_over_budget_total": Shape(
        "counter", ("plugin",), "Sessions in which a plugin used up its time budget and was left out."
    ),
    "pyroclast_shadow_answers_total": Shape(
        "counter",
        ("plugin", "point", "result"),
        "Answers of plugins in shadow mode that `agrees` or `differs` from the decision, or that `failed`.",
    ),
    "pyroclast_plugin_slow_calls_total": Shape(
        "counter", ("plugin",), "Calls of a plugin that lasted for longer than --plugin-call-limit."
    ),
    "pyroclast_plugin_watched_objects": Shape("gauge", ("kind",), "Objects of a kind that plugins watch."),
    "pyroclast_plugin_controller_running": Shape(
        "gauge", ("plugin", "controller"), "1 for each controller of a plugin while this process leads."
    ),
    "pyroclast_usage_failures_total": Shape(
        "counter", ("source",), "Collections of node usage that failed; earlier measurements stay until they are old."
    ),
    "pyroclast_extender_requests_total": Shape(
        "counter", ("plugin", "verb", "result"), "Questions to extenders that were `answered` or `failed`."
    ),
    "pyroclast_extender_request_seconds": Shape(
        "histogram",
        ("plugin", "verb"),
        "Time from a question to an extender to the end of its answer.",
        _PHASE_SECONDS,
    ),
    "pyroclast_background_failures_total": Shape(
        "counter", ("work",), "Surprises that ended background work, which is begun again after a pause."
    ),
    "scheduler_waiting_gang_group_number": Shape("gauge", (), "Gang groups of Koordinator's with members that wait."),
    "scheduler_gang_schedule_cycle_duration_seconds": Shape(
        "histogram",
        ("reason", "job_size"),
        "Time of a session that tried a gang group, by its result (`scheduled`, `waiting`) and number of pods.",
        _PHASE_SECONDS,
    ),
    "scheduler_scheduling_timeout": Shape(
        "counter", ("profile",), "Sessions that lasted longer than --scheduling-timeout."
    ),
    "scheduler_elastic_quota_spec": Shape("gauge", _QUOTA, "What an elastic quota is guaranteed and may have."),
    "scheduler_elastic_quota_process_latency": Shape(
        "histogram", ("operation",), "Seconds in which elastic quotas are computed, by operation.", spread(1e-5, 80, 24)
    ),
    "scheduler_elastic_quota_status": Shape("gauge", _QUOTA, "How an elastic quota stands, by `field`."),
    "scheduler_reservation_status_phase": Shape(
        "gauge", ("name", "phase"), "1 for the phase of a Reservation, 0 for the others."
    ),
    "scheduler_reservation_resource": Shape(
        "gauge", ("type", "name", "resource", "unit"), "Reserved and used amounts of a Reservation, and their ratio."
    ),
    "pyroclast_samples_dropped_total": Shape(
        "counter", ("metric",), "Samples of plugins that do not fit their metric."
    ),
}
"""Additional metrics, by full name."""
