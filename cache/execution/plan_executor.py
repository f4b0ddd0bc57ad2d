"""Plan executor: executes an assumed plan, and corrects the cluster state where the server refuses.

A plan whose victims cannot all leave is dropped before anything of it is done. Binds come first. When none of a plan's
binds could be made, nothing is evicted for it: victims must not leave for a beneficiary that does not come.
"""

from collections.abc import Sequence
from typing import Final

import structlog

from pyroclast.cache.execution.eviction_dry_run import asked_of_all, objections
from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.state import ClusterState
from pyroclast.kube.binding import BindOutcome, PlanOutcome, refused
from pyroclast.kube.events import regarding
from pyroclast.kube.evictor import BUDGET, EvictionOutcome
from pyroclast.kube.resources import POD_GROUPS, PODS
from pyroclast.model import wire
from pyroclast.model.ids import TaskId
from pyroclast.model.plan import Eviction, Plan

__all__ = ["execute_plan"]

_SILENT: Final = frozenset({"Gone", "NotLeader", "BoundElsewhere"})
"""Failures that the watch explains better, or that are not ours to write about any more."""

_NAMED: Final = 3
"""Pods named in a line of the log."""

_log = structlog.get_logger(__name__)


async def execute_plan(plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    """Bind, nominate and evict as a plan says, or nothing of it."""
    kept = await objections(plan, state, writers.evictor)
    if kept:
        _drop(plan, kept, state, writers)
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
    for eviction_outcome in await asked_of_all(writers.evictor.evict, plan.evictions):
        _settle_eviction(eviction_outcome, plan, state, writers)


async def _bind(plan: Plan, writers: ClusterWriters) -> PlanOutcome:
    """Bind; a binder from outside that raises has bound nothing, as far as anyone knows."""
    try:
        return await writers.binder.bind(plan)
    except Exception as error:  # noqa: BLE001  see above; without an outcome the books would hold the plan's assumptions
        _log.exception("binder_broke", job=plan.job)
        message = f"{type(error).__name__}: {error}"
        return PlanOutcome(plan=plan, binds=tuple(refused(bind, "Failed", message) for bind in plan.binds))


def _drop(plan: Plan, kept: Sequence[EvictionOutcome], state: ClusterState, writers: ClusterWriters) -> None:
    """Make the books as if a plan had not been made, and say who stands in its way."""
    for bind in plan.binds:
        state.forget(bind.task, bind.node)
    by_budget = {outcome.eviction.task for outcome in kept if outcome.reason == BUDGET}
    for eviction in plan.evictions:
        state.forget(eviction.task, None, failed=eviction.task in by_budget)
    for outcome in kept:
        _tell_beneficiaries(outcome, plan, state, writers)
    _log.warning(
        "plan_dropped",
        action=plan.action,
        job=plan.job,
        victims=len(plan.evictions),
        kept=[f"{each.eviction.namespace}/{each.eviction.name}" for each in kept[:_NAMED]],
        reason=kept[0].reason,
        message=kept[0].message,
    )


def _settle_bind(outcome: BindOutcome, state: ClusterState, writers: ClusterWriters) -> None:
    bind = outcome.bind
    pod = _pod(state, bind.task)
    if outcome.is_bound:
        if pod is not None:
            message = f"Successfully assigned {bind.namespace}/{bind.name} to {bind.node}"
            writers.events.record(regarding(PODS, pod.metadata), "Normal", "Scheduled", message)
        return
    state.forget(bind.task, bind.node, failed=True)
    _log.warning("bind_failed", pod=f"{bind.namespace}/{bind.name}", node=bind.node, reason=outcome.reason)
    if pod is None or outcome.reason in _SILENT:
        return
    message = f"binding to node {bind.node} failed: {outcome.message or outcome.reason}"
    writers.events.record(regarding(PODS, pod.metadata), "Warning", "FailedScheduling", message)
    condition = wire.Condition(type="PodScheduled", status="False", reason="SchedulerError", message=message)
    writers.statuses.pod(pod, condition=condition)


def _settle_eviction(outcome: EvictionOutcome, plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    eviction = outcome.eviction
    if not outcome.is_leaving:
        state.forget(eviction.task, None, failed=outcome.reason == BUDGET)
        _tell_beneficiaries(outcome, plan, state, writers)
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
    _tell_group(eviction, state, writers)


def _tell_beneficiaries(outcome: EvictionOutcome, plan: Plan, state: ClusterState, writers: ClusterWriters) -> None:
    """Say to those who were to get the room why it does not become free."""
    if outcome.reason in _SILENT:
        return
    eviction = outcome.eviction
    message = f"{eviction.namespace}/{eviction.name} stays on node {eviction.node}: {outcome.message or outcome.reason}"
    for nomination in plan.nominations:
        pod = _pod(state, nomination.task)
        if pod is not None:
            writers.events.record(regarding(PODS, pod.metadata), "Warning", "FailedScheduling", message)


def _tell_group(eviction: Eviction, state: ClusterState, writers: ClusterWriters) -> None:
    if eviction.job is None or state.is_made_up(eviction.job):
        return
    group = state.stored("PodGroup").get(eviction.job)
    if group is not None:
        writers.events.record(regarding(POD_GROUPS, group.metadata), "Normal", "Evict", eviction.reason)


def _pod(state: ClusterState, task: TaskId) -> wire.Pod | None:
    pod: wire.Pod | None = state.stored("Pod").get(task)
    return pod
