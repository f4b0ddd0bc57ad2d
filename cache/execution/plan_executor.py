"""Plan executor: executes an assumed plan, and corrects the cluster state where the server refuses.

A plan is dropped before its first change if the server refuses the eviction of one of its victims. Binds come first.
If all binds of a plan fail, its evictions are skipped: they would be useless without the beneficiary.
"""

from collections.abc import Sequence
from typing import Final

import structlog

from pyroclast.cache.execution.eviction_dry_run import blocked_evictions, outcomes_of
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.state import ClusterState
from pyroclast.kube.api.resources import POD_GROUPS, PODS, RESERVATIONS
from pyroclast.kube.writes.binding import BindOutcome, PlanOutcome, refused
from pyroclast.kube.writes.events import regarding
from pyroclast.kube.writes.evictor import BUDGET, EvictionOutcome
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Eviction, Plan

__all__ = ["execute_plan"]

_WITHOUT_EVENT: Final = frozenset({"Gone", "NotLeader", "BoundElsewhere"})
"""Reasons without an event: the watch shows the cause, or another leader is responsible."""

_NAMED: Final = 3
"""Number of pods named in one log event."""

_log = structlog.get_logger(__name__)


async def execute_plan(plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    """Bind, nominate and evict the pods of a plan, or drop the whole plan."""
    blocked = await blocked_evictions(plan, state, writers.evictor)
    if blocked:
        _drop(plan, blocked, state, writers)
        return
    for placed in plan.binds:
        writers.statuses.forget_pod(placed.task, placed.namespace)
    outcome = await _bind(plan, writers) if plan.binds else None
    for bind in outcome.binds if outcome is not None else ():
        _settle_bind(bind, state, writers)
    if outcome is not None and not any(bind.is_bound for bind in outcome.binds):
        for eviction in plan.evictions:
            state.forget(eviction.task, None)
        return
    for nomination in plan.nominations:
        pod = _pod(state, nomination.task)
        if pod is not None:
            writers.statuses.pod(pod, nominated_node=nomination.node)
    for eviction_outcome in await outcomes_of(writers.evictor.evict, plan.evictions):
        _settle_eviction(eviction_outcome, plan, state, writers)


async def _bind(plan: Plan, writers: ClusterWriters) -> PlanOutcome:
    """Bind the pods of a plan. If the binder of a plugin raises, all its binds count as failed."""
    try:
        return await writers.binder.bind(plan)
    except Exception as error:  # noqa: BLE001  without outcomes the assumptions of the plan would stay
        _log.exception("plan_binding_failed", job=plan.job)
        message = f"{type(error).__name__}: {error}"
        return PlanOutcome(plan=plan, binds=tuple(refused(bind, "Failed", message) for bind in plan.binds))


def _drop(plan: Plan, blocked: Sequence[EvictionOutcome], state: ClusterState, writers: ClusterWriters) -> None:
    """End all assumptions of a plan, and report the evictions that are blocked."""
    for bind in plan.binds:
        state.forget(bind.task, bind.node)
    by_budget = {outcome.eviction.task for outcome in blocked if outcome.reason == BUDGET}
    for eviction in plan.evictions:
        state.forget(eviction.task, None, failed=eviction.task in by_budget)
    for outcome in blocked:
        _record_failed_eviction(outcome, plan, state, writers)
    _log.warning(
        "plan_dropped",
        action=plan.action,
        job=plan.job,
        victims=len(plan.evictions),
        blocked=[f"{each.eviction.namespace}/{each.eviction.name}" for each in blocked[:_NAMED]],
        reason=blocked[0].reason,
        message=blocked[0].message,
    )


def _settle_bind(outcome: BindOutcome, state: ClusterState, writers: ClusterWriters) -> None:
    bind = outcome.bind
    if isinstance(bind.reservation, str):
        _settle_reservation(outcome, bind.reservation, state, writers)
        return
    pod = _pod(state, bind.task)
    if outcome.is_bound:
        if pod is not None:
            message = f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}"
            writers.events.record(regarding(PODS, pod.metadata), "Normal", "Scheduled", message)
        return
    state.forget(bind.task, bind.node, failed=True)
    _log.warning("bind_failed", pod=f"{bind.namespace}/{bind.name}", node=bind.node, reason=outcome.reason)
    if pod is None or outcome.reason in _WITHOUT_EVENT:
        return
    message = f"binding to node {bind.node} failed: {outcome.message or outcome.reason}"
    writers.events.record(regarding(PODS, pod.metadata), "Warning", "FailedScheduling", message)
    condition = wire.Condition(type="PodScheduled", status="False", reason="SchedulerError", message=message)
    writers.statuses.pod(pod, condition=condition)


def _settle_reservation(outcome: BindOutcome, name: str, state: ClusterState, writers: ClusterWriters) -> None:
    bind, reservation = outcome.bind, state.reservation_of(outcome.bind.task)
    if not outcome.is_bound:
        state.forget(bind.task, bind.node, failed=True)
        _log.warning("bind_failed", reservation=name, node=bind.node, reason=outcome.reason)
    if reservation is None or (not outcome.is_bound and outcome.reason in _WITHOUT_EVENT):
        return
    about = regarding(RESERVATIONS, reservation.metadata)
    if outcome.is_bound:
        writers.events.record(about, "Normal", "Scheduled", f"Successfully assigned {name} to {bind.node}")
        return
    message = f"binding to node {bind.node} failed: {outcome.message or outcome.reason}"
    writers.events.record(about, "Warning", "FailedScheduling", message)


def _settle_eviction(outcome: EvictionOutcome, plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    eviction = outcome.eviction
    if not outcome.is_leaving:
        state.forget(eviction.task, None, failed=outcome.reason == BUDGET)
        _record_failed_eviction(outcome, plan, state, writers)
        _log.warning(
            "eviction_failed",
            pod=f"{eviction.namespace}/{eviction.name}",
            reason=outcome.reason,
            message=outcome.message,
        )
        return
    if outcome.reason == "Gone":
        return
    pod = _pod(state, eviction.task)
    if pod is not None:
        message = eviction.message or f"evicted by {eviction.reason}"
        writers.events.record(regarding(PODS, pod.metadata), "Warning", "Evict", message)
    _record_group_eviction(eviction, state, writers)


def _record_failed_eviction(outcome: EvictionOutcome, plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    """Record an event of a failed eviction for each pod that is nominated to the node."""
    if outcome.reason in _WITHOUT_EVENT:
        return
    eviction = outcome.eviction
    pod_name, why = f"{eviction.namespace}/{eviction.name}", outcome.message or outcome.reason
    message = f"{pod_name} is not evicted from node {eviction.node}: {why}"
    for nomination in plan.nominations:
        pod = _pod(state, nomination.task)
        if pod is not None:
            writers.events.record(regarding(PODS, pod.metadata), "Warning", "FailedScheduling", message)


def _record_group_eviction(eviction: Eviction, state: ClusterState, writers: ClusterWriters) -> None:
    if eviction.job is None or state.is_made_up(eviction.job):
        return
    group = state.stored("PodGroup").get(eviction.job)
    if group is not None:
        writers.events.record(regarding(POD_GROUPS, group.metadata), "Normal", "Evict", eviction.reason)


def _pod(state: ClusterState, task: TaskId) -> wire.Pod | None:
    pod: wire.Pod | None = state.stored("Pod").get(task)
    return pod
