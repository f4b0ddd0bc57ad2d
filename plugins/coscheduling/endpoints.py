"""Endpoints of coscheduling, with the paths and field names of Koordinator's service API."""

from collections.abc import Iterator
from typing import Any

from pyroclast.framework.extension.contract import EndpointRequest
from pyroclast.model.gangs import Gang
from pyroclast.model.jobs import Job
from pyroclast.model.tasks import TaskStatus

__all__ = ["gang", "gangs"]


def gangs(request: EndpointRequest) -> dict[str, Any]:
    """Return all gangs by `namespace/name`."""
    return {gang.id: _gang(gang, job) for gang, job in _gangs(request)}


def gang(request: EndpointRequest) -> dict[str, Any] | None:
    """Return one gang; None for an unknown one."""
    name = f"{request.parameters['namespace']}/{request.parameters['name']}"
    return next((_gang(each, job) for each, job in _gangs(request) if each.id == name), None)


def _gangs(request: EndpointRequest) -> Iterator[tuple[Gang, Job | None]]:
    for job_id, group in sorted(request.snapshot.gangs.items()):
        for each in group.gangs:
            yield each, request.snapshot.jobs.get(job_id)


def _gang(each: Gang, job: Job | None) -> dict[str, Any]:
    members = [] if job is None else [task for task in job.tasks.values() if task.role == each.id]
    return {
        "name": each.id,
        "gangGroup": list(each.group),
        "minRequiredNumber": each.minimum,
        "totalChildrenNum": each.total,
        "mode": each.mode,
        "gangMatchPolicy": each.match_policy,
        "waitTime": each.waiting_seconds,
        "createTime": each.created,
        "children": sorted(task.key for task in members),
        "pendingChildren": sorted(task.key for task in members if task.status is TaskStatus.PENDING),
    }
