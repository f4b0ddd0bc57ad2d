"""Report publisher: passes conditions, statuses and events of a cycle to the writers."""

from collections.abc import Iterable
from typing import Final

from pyroclast.cache.execution.writers import ClusterWriters
from pyroclast.cache.state import ClusterState
from pyroclast.kube.api.resources import ELASTIC_QUOTAS, POD_GROUPS, PODS, QUEUES, RESERVATIONS
from pyroclast.kube.writes.events import Regarding, regarding
from pyroclast.model import report, wire
from pyroclast.model.elastic.names import (
    ALLOCATED,
    CHILD_REQUEST,
    GUARANTEED,
    NON_PREEMPTIBLE_REQUEST,
    NON_PREEMPTIBLE_USED,
    REQUEST,
    RUNTIME,
)
from pyroclast.model.ids import TaskId
from pyroclast.model.requests import resource_list

__all__ = ["publish_report"]

_API_VERSIONS: Final = {each.kind: each.api_version for each in (PODS, POD_GROUPS, QUEUES, ELASTIC_QUOTAS)}


def publish_report(published: report.CycleReport, state: ClusterState, writers: ClusterWriters) -> None:
    """Pass the statuses, conditions and events of a cycle to the writers, without waiting for the requests."""
    writers.statuses.begin_cycle()
    for status in published.group_statuses:
        group: wire.PodGroup | None = state.stored("PodGroup").get(status.job)
        if group is not None and group.metadata.uid == status.uid:
            writers.statuses.pod_group(group, _group_status(group, status), annotations=status.annotations)
    for condition in published.native_statuses:
        key = f"{condition.namespace}/{condition.name}"
        native: wire.NativePodGroup | None = state.stored("NativePodGroup").get(key)
        if native is not None and native.metadata.uid == condition.uid:
            writers.statuses.native_pod_group(native, _native_condition(condition))
    assumed = state.assumed()
    for pod_condition in published.pod_conditions:
        reservation = state.reservation_of(pod_condition.task)
        if reservation is not None and not reservation.status.node_name and pod_condition.task not in assumed:
            writers.statuses.reservation(reservation, _pod_condition(pod_condition))
            continue
        pod: wire.Pod | None = state.stored("Pod").get(pod_condition.task)
        # The pod may be bound or assumed meanwhile: a condition of a waiting pod would be wrong.
        if pod is not None and pod_condition.task not in assumed and not pod.spec.node_name:
            writers.statuses.pod(
                pod, condition=_pod_condition(pod_condition), nominated_node=pod_condition.nominated_node
            )
    for queue_status in published.queue_statuses:
        queue: wire.Queue | None = state.stored("Queue").get(queue_status.queue)
        if queue is not None:
            writers.statuses.queue(queue, resource_list(queue_status.allocated))
    for figures in published.quotas:
        quota: wire.ElasticQuota | None = state.stored("ElasticQuota").get(f"{figures.namespace}/{figures.name}")
        if quota is not None and quota.metadata.uid == figures.uid:
            writers.statuses.elastic_quota(quota, resource_list(figures.used), _annotated(figures), figures.annotations)
    _record(published.events, state, writers)


def _annotated(figures: report.QuotaFigures) -> dict[str, dict[str, str]]:
    """Return the amounts that annotations of an elastic quota show."""
    return {
        RUNTIME: resource_list(figures.runtime),
        REQUEST: resource_list(figures.request),
        CHILD_REQUEST: resource_list(figures.child_request),
        GUARANTEED: resource_list(figures.guaranteed),
        ALLOCATED: resource_list(figures.allocated),
        NON_PREEMPTIBLE_REQUEST: resource_list(figures.non_preemptible_request),
        NON_PREEMPTIBLE_USED: resource_list(figures.non_preemptible_used),
    }


def _pod_condition(condition: report.PodCondition) -> wire.Condition:
    return wire.Condition(type="PodScheduled", status="False", reason=condition.reason, message=condition.message)


def _native_condition(condition: report.NativeGroupStatus) -> wire.NativeCondition:
    return wire.NativeCondition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=condition.generation,
    )


def _group_status(group: wire.PodGroup, status: report.GroupStatus) -> wire.PodGroupStatus:
    """Return the new status of a group.

    Conditions of other types stay. A condition whose status does not change keeps its transition time.
    """
    known = {condition.type: condition for condition in group.status.conditions}
    for new in status.conditions:
        old = known.get(new.type)
        known[new.type] = wire.PodGroupCondition(
            type=new.type,
            status=new.status,
            reason=new.reason,
            message=new.message,
            transition_id=new.transition_id,
            last_transition_time=old.last_transition_time if old is not None and old.status == new.status else "",
        )
    return wire.PodGroupStatus(
        phase=status.phase,
        running=status.running,
        succeeded=status.succeeded,
        failed=status.failed,
        conditions=tuple(known.values()),
    )


def _record(events: Iterable[report.EventNote], state: ClusterState, writers: ClusterWriters) -> None:
    for event in events:
        if event.kind == POD_GROUPS.kind and f"{event.namespace}/{event.name}" not in state.stored(event.kind):
            continue  # the group is made up for a single pod, or is gone
        reservation = state.reservation_of(TaskId(event.uid))
        if reservation is not None:
            writers.events.record(
                regarding(RESERVATIONS, reservation.metadata), event.type, event.reason, event.message
            )
            continue
        about = Regarding(
            api_version=_API_VERSIONS.get(event.kind, "v1"),
            kind=event.kind,
            namespace=event.namespace,
            name=event.name,
            uid=event.uid,
        )
        writers.events.record(about, event.type, event.reason, event.message)
