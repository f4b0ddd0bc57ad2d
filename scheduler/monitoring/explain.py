"""Explain: the last cycle's result for one job, as JSON values."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from pyroclast.model.gangs import Gang
from pyroclast.model.jobs import Job
from pyroclast.model.native import NativeGroup
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import TaskStatus
from pyroclast.scheduler.monitoring.examinations import job_named
from pyroclast.scheduler.simulation.answer import amounts_in_words, share_in_words

__all__ = ["explain_job"]


def explain_job(job_id: str, snapshot: Snapshot, report: CycleReport) -> Mapping[str, Any] | None:
    """Return the state of a job and why it waits.

    Args:
        job_id: `namespace/name` of a PodGroup, of the Job that controls it, or of a gang.
        snapshot: The snapshot of the cycle.
        report: The report of the cycle.

    Returns:
        Phase, counts, refusals of the job and of its pending tasks, pods on borrowed resources, pipelined nodes, and
        the gangs of the job. None for an unknown job.
    """
    job = job_named(job_id, snapshot)
    if job is None:
        return None
    share = report.shares.get(job.id)
    names = {task.id: task.key for task in job.tasks.values()}
    return {
        "job": job.id,
        "queue": job.queue,
        "cycle": report.cycle,
        "configuration": report.configuration,
        "phase": report.phases.get(job.id, job.phase),
        "minAvailable": job.min_available,
        "tasks": dict(report.status_counts.get(job.id) or _counts(job)),
        "refusals": [_refusal(each) for each in report.refusals.get(job.id, ())],
        "taskRefusals": {
            task.key: [_refusal(each) for each in report.task_refusals[task.id]]
            for task in job.tasks.values()
            if task.status is TaskStatus.PENDING and task.id in report.task_refusals
        },
        "lent": [task.key for task in job.tasks.values() if task.has_lent_room],
        "gangs": [_gang(each) for each in _gangs_of(job, snapshot)],
        "nativeGroup": None if job.native is None else _native(job.native, snapshot),
        "pipelined": {names.get(task, task): node for task, node in report.pipelined.get(job.id, {}).items()},
        "share": None if share is None else share_in_words(share),
    }


def _gangs_of(job: Job, snapshot: Snapshot) -> tuple[Gang, ...]:
    group = snapshot.gangs.get(job.id)
    return () if group is None else group.gangs


def _gang(gang: Gang) -> dict[str, Any]:
    """Return the state of a gang, with the field names of Koordinator's service API."""
    return {
        "name": gang.id,
        "gangGroup": list(gang.group),
        "minRequiredNumber": gang.minimum,
        "totalChildrenNum": gang.total,
        "mode": gang.mode,
        "gangMatchPolicy": gang.match_policy,
        "waitTime": gang.waiting_seconds,
        "createTime": gang.created,
    }


def _native(group: NativeGroup, snapshot: Snapshot) -> dict[str, Any]:
    """Return the settings of a native group, and the template that it was made of."""
    metadata, reference = group.object.metadata, group.object.spec.reference
    workload = None if reference is None else f"{metadata.namespace}/{reference.workload_name}"
    return {
        "name": metadata.key,
        "apiVersion": group.object.api_version,
        "minCount": group.minimum,
        "disruptionMode": group.disruption.value,
        "topologyKey": group.topology_key,
        "preempts": group.preempts,
        "workload": workload,
        "template": None if reference is None else reference.template,
        "workloadExists": workload in snapshot.objects.workloads,
        "conditions": [msgspec.to_builtins(each) for each in group.object.status.conditions],
    }


def _counts(job: Job) -> Mapping[str, int]:
    """Count a job's tasks by status in the snapshot; the report omits jobs that the cycle did not change."""
    return Counter(task.status.label for task in job.tasks.values())


def _refusal(refusal: Refusal) -> dict[str, Any]:
    return {
        "plugin": refusal.plugin,
        "reason": refusal.reason,
        "message": refusal.text,
        "counts": dict(refusal.counts),
        "resolvable": refusal.resolvable,
        "action": refusal.action,
        "amounts": amounts_in_words(refusal),
        "fitsWhen": list(refusal.fits_when),
    }
