"""Progress: the status and the phase of a flow, computed from its Jobs.

                ┌────────── a Job runs or has completed, none has failed ──▶ Running
    Pending ────┤                                                             │
                └── a Job has failed or was terminated ──▶ Failed ◀───────────┤
                                                                              └── all have completed ──▶ Succeed

A completed Job stays completed after its deletion, because the status records it.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from pyroclast.controllers.jobs.durations import seconds_of
from pyroclast.model.api.batch import Job, JobPhase
from pyroclast.model.api.flow import (
    FlowCondition,
    FlowJobStatus,
    JobFlow,
    JobFlowPhase,
    JobFlowState,
    JobFlowStatus,
    JobRunningHistory,
)
from pyroclast.model.wire.times import time_text, unix_seconds

__all__ = ["completed_flows", "job_name", "progress"]

_LISTED: Final = frozenset(
    {
        JobPhase.PENDING,
        JobPhase.RUNNING,
        JobPhase.COMPLETING,
        JobPhase.COMPLETED,
        JobPhase.TERMINATING,
        JobPhase.TERMINATED,
        JobPhase.FAILED,
    }
)
"""Phases with a list in the status, and transient phases. Other phases count as unknown."""


def job_name(job_flow: JobFlow, flow: str) -> str:
    """Return the name of the Job of a flow: `<JobFlow>-<template>`."""
    return f"{job_flow.metadata.name}-{flow}"


def completed_flows(job_flow: JobFlow, jobs: Sequence[Job]) -> frozenset[str]:
    """Return the flows whose Jobs have completed. The status records completed Jobs that were deleted."""
    phases = {each.name: each.state for each in job_flow.status.job_status_list}
    phases |= {job.metadata.name: job.status.state.phase for job in jobs}
    names = {flow.name for flow in job_flow.spec.flows}
    return frozenset(name for name in names if phases.get(job_name(job_flow, name)) == JobPhase.COMPLETED)


def progress(job_flow: JobFlow, jobs: Sequence[Job], now: float) -> JobFlowStatus:
    """Return the status.

    Args:
        job_flow: The flow.
        jobs: Jobs that the flow controls.
        now: Seconds since 1970.
    """
    jobs = sorted(jobs, key=_order_of(job_flow))
    completed = {job_name(job_flow, flow) for flow in completed_flows(job_flow, jobs)}
    gone = completed - {job.metadata.name for job in jobs}
    status = JobFlowStatus(
        pending_jobs=_in_phase(jobs, JobPhase.PENDING),
        running_jobs=_in_phase(jobs, JobPhase.RUNNING),
        failed_jobs=_in_phase(jobs, JobPhase.FAILED),
        completed_jobs=(*sorted(gone), *_in_phase(jobs, JobPhase.COMPLETED)),
        terminated_jobs=_in_phase(jobs, JobPhase.TERMINATED),
        un_know_jobs=tuple(job.metadata.name for job in jobs if job.status.state.phase not in _LISTED),
        job_status_list=_histories(job_flow.status.job_status_list, jobs, now),
        conditions={job.metadata.name: _condition(job) for job in jobs},
    )
    is_complete = len(completed) == len({flow.name for flow in job_flow.spec.flows})
    phase = _phase(job_flow.status.state.phase or JobFlowPhase.PENDING, status, is_complete=is_complete)
    return msgspec.structs.replace(status, state=JobFlowState(phase=phase))


def _phase(phase: str, status: JobFlowStatus, *, is_complete: bool) -> str:
    """Return the phase that follows from the Jobs."""
    has_failed = bool(status.failed_jobs)
    has_ended_badly = has_failed or bool(status.terminated_jobs)
    if phase == JobFlowPhase.PENDING:
        if (status.running_jobs or status.completed_jobs) and not has_failed:
            phase = JobFlowPhase.RUNNING
        elif has_ended_badly:
            phase = JobFlowPhase.FAILED
    if phase == JobFlowPhase.RUNNING:
        if is_complete:
            phase = JobFlowPhase.SUCCEED
        elif has_ended_badly:
            phase = JobFlowPhase.FAILED
    return str(phase)


def _order_of(job_flow: JobFlow) -> Callable[[Job], tuple[int, str]]:
    """Return the order of a flow's Jobs: the order of the flows, then other Jobs by name."""
    places = {job_name(job_flow, flow.name): place for place, flow in enumerate(job_flow.spec.flows)}
    return lambda job: (places.get(job.metadata.name, len(places)), job.metadata.name)


def _in_phase(jobs: Sequence[Job], phase: JobPhase) -> tuple[str, ...]:
    return tuple(job.metadata.name for job in jobs if job.status.state.phase == phase)


def _condition(job: Job) -> FlowCondition:
    return FlowCondition(
        phase=job.status.state.phase,
        create_time=job.metadata.creation_timestamp,
        running_duration=job.status.running_duration,
        task_status_count=job.status.task_status_count,
    )


def _histories(known: Sequence[FlowJobStatus], jobs: Sequence[Job], now: float) -> tuple[FlowJobStatus, ...]:
    """Return the histories of all Jobs, including deleted ones, with the current phases."""
    by_name: dict[str, FlowJobStatus] = {each.name: each for each in known}
    for job in jobs:
        before = by_name.get(job.metadata.name)
        # The history restarts if a Job was created again with the same name.
        is_same = before is not None and before.start_timestamp == job.metadata.creation_timestamp
        running = before.running_histories if before is not None and is_same else ()
        by_name[job.metadata.name] = FlowJobStatus(
            name=job.metadata.name,
            state=job.status.state.phase,
            start_timestamp=job.metadata.creation_timestamp,
            end_timestamp=_end_of(job),
            restart_count=job.status.retry_count,
            running_histories=_running(running, job.status.state.phase, now),
        )
    return tuple(by_name.values())


def _running(known: tuple[JobRunningHistory, ...], phase: str, now: float) -> tuple[JobRunningHistory, ...]:
    """Add a phase to a history if it has changed."""
    if not phase or (known and known[-1].state == phase):
        return known
    entered = time_text(now)
    past = (*known[:-1], msgspec.structs.replace(known[-1], end_timestamp=entered)) if known else ()
    return (*past, JobRunningHistory(start_timestamp=entered, state=phase))


def _end_of(job: Job) -> str:
    """Return the end of a Job, empty if it has not ended."""
    seconds = seconds_of(job.status.running_duration)
    if seconds is None:
        return ""
    return time_text(unix_seconds(job.metadata.creation_timestamp) + seconds)
