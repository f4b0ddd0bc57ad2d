"""Cycle metrics: gauges of the last cycle, such as backlog, pending reasons and shares."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.elastic import ParsedQuota
from pyroclast.model.elastic.quota import unschedulable_amounts
from pyroclast.model.ids import JobId
from pyroclast.model.quantity import QuantityError
from pyroclast.model.refusals import Refusal
from pyroclast.model.requests import amounts
from pyroclast.model.resources import CPU, MEMORY, MILLI, Amounts
from pyroclast.model.tasks import TaskStatus
from pyroclast.scheduler.daemon.daemon import Seen
from pyroclast.scheduler.monitoring.metrics import Metrics

__all__ = ["observe_gangs", "observe_placements", "set_cycle_metrics"]

_MILLISECONDS: Final = 1000.0
_PHASES: Final = (
    wire.ReservationPhase.PENDING,
    wire.ReservationPhase.AVAILABLE,
    wire.ReservationPhase.SUCCEEDED,
    wire.ReservationPhase.FAILED,
)
_UNITS: Final = {CPU: ("core", MILLI), MEMORY: ("Gi", MILLI * 2**30)}
"""Units of reserved amounts, and how many thousandths they are."""
_STEP: Final = 100
_LARGEST: Final = 1000
"""Steps and end of the ranges of Koordinator's label `job_size`."""


def set_cycle_metrics(seen: Seen, metrics: Metrics) -> None:
    """Set the gauges of a cycle."""
    snapshot, report = seen.snapshot, seen.report
    table, queues = snapshot.job_table, snapshot.queue_names
    pending = table.by_queue(table.counts[[TaskStatus.PENDING]], len(queues))[0]
    metrics.replace(
        "pyroclast_backlog_tasks", {(name,): float(count) for name, count in zip(queues, pending, strict=True)}
    )
    outside = Counter((outsider.refusal.reason,) for outsider in snapshot.orphan_pods)
    metrics.replace("pyroclast_outsiders", {reason: float(count) for reason, count in outside.items()})
    lent = Counter[tuple[str]]()
    for job in table.jobs:
        if job is not None and job.lent:
            lent[job.queue,] += job.lent
    metrics.replace("pyroclast_lent_pods", {queue: float(count) for queue, count in lent.items()})
    waiting = Counter[tuple[str, str]]()
    first = list(_first_refusals(seen))
    by_refusal = {id(refusal): refusal for refusal in first}  # thousands of jobs share one: its text is read once
    for number, count in Counter(map(id, first)).items():
        waiting[by_refusal[number].plugin, by_refusal[number].reason] += count
    metrics.replace("pyroclast_refused_jobs", {rule: float(count) for rule, count in waiting.items()})
    metrics.show_shares(report.shares)
    if report.quotas or not snapshot.elastic_quotas:
        metrics.replace("scheduler_elastic_quota_status", dict(_figures_of_quotas(seen)))
        metrics.replace("scheduler_elastic_quota_spec", dict(_limits_of_quotas(seen)))
    reservations = snapshot.objects.reservations.values()
    metrics.replace("scheduler_reservation_status_phase", dict(_phases_of(reservations)))
    metrics.replace("scheduler_reservation_resource", dict(_amounts_of(reservations)))
    metrics.keep_queues(set(queues))
    metrics.keep_resources(snapshot.resources.rows)
    metrics.keep_jobs({job.id for job in table.jobs if job is not None})


def _figures_of_quotas(seen: Seen) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the amounts of elastic quotas: CPU in thousandths, other resources in their units, as in Koordinator."""
    for figures in seen.report.quotas:
        quota = seen.snapshot.elastic_quotas.get(figures.name)
        if quota is not None:
            for field, amounts in (
                ("used", figures.used),
                ("runtime", figures.runtime),
                ("request", figures.request),
                ("child-request", figures.child_request),
                ("guaranteed", figures.guaranteed),
                ("allocated", figures.allocated),
                ("non-preemptible-request", figures.non_preemptible_request),
                ("non-preemptible-used", figures.non_preemptible_used),
            ):
                yield from _by_resource(quota, field, amounts)
            if quota.tree_total is not None:
                yield from _by_resource(quota, "total-resource", quota.tree_total)
                yield from _by_resource(quota, "unschedulable-resource", unschedulable_amounts(quota.object))


def _limits_of_quotas(seen: Seen) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield the minimum and maximum of elastic quotas."""
    served = {figures.name for figures in seen.report.quotas}
    for name, quota in seen.snapshot.elastic_quotas.items():
        if name in served:
            yield from _by_resource(quota, "min", quota.minimum)
            yield from _by_resource(quota, "max", quota.maximum)


def _by_resource(quota: ParsedQuota, field: str, amounts: Amounts) -> Iterator[tuple[tuple[str, ...], float]]:
    for resource, thousandths in amounts.items():
        value = thousandths if resource == CPU else thousandths / MILLI
        yield (quota.name, resource, quota.tree, str(quota.is_parent).lower(), quota.parent, field), float(value)


def _phases_of(reservations: Iterable[wire.Reservation]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield 1 for the phase of each Reservation and 0 for the others, as Koordinator does."""
    for each in reservations:
        current = each.status.phase or wire.ReservationPhase.PENDING
        for phase in _PHASES:
            yield (each.metadata.name, phase.value), float(current == phase)


def _amounts_of(reservations: Iterable[wire.Reservation]) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield reserved and used amounts of each Reservation in Koordinator's units, and their ratio."""
    for each in reservations:
        try:
            reserved, used = amounts(each.status.allocatable), amounts(each.status.allocated)
        except QuantityError:
            continue  # it is reported as a fault of the object
        for resource, amount in reserved.items():
            unit, divisor = _UNITS.get(resource, ("raw", MILLI))
            key = (each.metadata.name, resource)
            yield ("allocatable", *key, unit), amount / divisor
            yield ("allocated", *key, unit), used.get(resource, 0) / divisor
            if amount > 0:
                yield ("utilization", *key, "ratio"), used.get(resource, 0) / amount


def _first_refusals(seen: Seen) -> Iterator[Refusal]:
    """Yield the first refusal of each waiting job, or else the first refusal of one of its tasks."""
    snapshot, report = seen.snapshot, seen.report
    # All jobs count, not only those tried in this cycle: an untried job still waits for its old reason.
    evicting: set[JobId] = set()
    for job_id, refusals in report.refusals.items():
        first = refusals[0] if not refusals[0].action else next((each for each in refusals if not each.action), None)
        if first is not None:
            yield first
        else:
            evicting.add(job_id)
    for job in snapshot.job_table.jobs_in(np.flatnonzero(snapshot.job_table.counts[TaskStatus.PENDING])):
        if job.id not in report.refusals or job.id in evicting:
            refused = (report.task_refusals[task][0] for task in job.tasks if report.task_refusals.get(task))
            yield from islice(refused, 1)


def observe_placements(seen: Seen, metrics: Metrics, now: float) -> None:
    """Count pods without a node, and observe how long others and their jobs waited for the nodes that they received.

    Args:
        seen: The cycle.
        metrics: The metrics.
        now: Seconds since 1970.
    """
    metrics.add("volcano_schedule_attempts_total", len(seen.report.pod_conditions), "unschedulable")
    for bind in (bind for plan in seen.report.plans for bind in plan.binds):
        job = None if bind.job is None else seen.snapshot.jobs.get(bind.job)
        if job is None:
            continue
        waited = max(now - job.created, 0.0) * _MILLISECONDS
        labels = (job.name, job.queue, job.namespace)
        metrics.observe("volcano_e2e_job_scheduling_latency_milliseconds", waited)
        metrics.put("volcano_e2e_job_scheduling_duration", waited, *labels)
        metrics.put("volcano_e2e_job_scheduling_start_time", job.created, *labels)
        metrics.put("volcano_e2e_job_scheduling_last_time", now, *labels)
        task = job.tasks.get(bind.task)
        if task is not None:
            since_creation = (now - task.created) * _MILLISECONDS
            metrics.observe("volcano_task_scheduling_latency_milliseconds", since_creation, "Assumed")


def observe_gangs(seen: Seen, metrics: Metrics) -> None:
    """Observe the gang groups of a cycle under Koordinator's names: those that wait, and the time of their sessions."""
    waiting = 0
    for each in seen.turns or (seen,):
        placed = Counter(bind.job for plan in each.report.plans for bind in plan.binds)
        counts = each.snapshot.job_table.counts[TaskStatus.PENDING]
        for job_id in each.snapshot.gangs:
            job = each.snapshot.jobs.get(job_id)
            if job is None or job_id not in each.report.status_counts:
                continue
            is_waiting = int(counts[job.column]) > placed[job_id]
            waiting += is_waiting
            if is_waiting or placed[job_id]:
                reason = "waiting" if is_waiting else "scheduled"
                metrics.observe(
                    "scheduler_gang_schedule_cycle_duration_seconds", each.seconds, reason, _size(len(job.tasks))
                )
    metrics.put("scheduler_waiting_gang_group_number", waiting)


def _size(pods: int) -> str:
    """Return the range of a number of pods, as Koordinator writes it."""
    if pods == 0:
        return "0"
    hundreds = (pods - 1) // _STEP
    return "1000+" if pods > _LARGEST else f"{hundreds * _STEP + 1}-{(hundreds + 1) * _STEP}"
