"""Bodies: the session's objects as JSON, with the field names of Volcano's extenders.

Objects are written on demand: a pod once per session, a task once in each of its states, a node once after each change.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.framework.state.nodes import NodeView
from pyroclast.model.api.names import ALLOCATED_HYPER_NODE, MAX_UNAVAILABLE, MIN_AVAILABLE
from pyroclast.model.arrays import IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.nodes import Node
from pyroclast.model.quantity import QuantityError, millis
from pyroclast.model.queues import Queue
from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS, Amounts
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Bodies", "plain"]

_STATUS: Final = {
    TaskStatus.PENDING: 1,
    TaskStatus.ALLOCATED: 2,
    TaskStatus.PIPELINED: 4,
    TaskStatus.BINDING: 8,
    TaskStatus.BOUND: 16,
    TaskStatus.RUNNING: 32,
    TaskStatus.RELEASING: 64,
    TaskStatus.SUCCEEDED: 128,
    TaskStatus.FAILED: 256,
    TaskStatus.UNKNOWN: 512,
}
_READY: Final = 1
"""Phase of a node; snapshots contain no others."""
_OWN_FIELDS: Final = frozenset({CPU, MEMORY, PODS})


class Bodies:
    """Writes the objects of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pods: dict[TaskId, msgspec.Raw] = {}
        self._tasks: dict[tuple[TaskId, TaskStatus, NodeName | None], msgspec.Raw] = {}
        self._nodes: dict[int, msgspec.Raw] = {}
        self._objects: dict[int, msgspec.Raw] = {}
        self._cursor = 0
        """Position in the session's log of changed nodes."""

    def task(self, task: Task) -> msgspec.Raw:
        """Return a task as JSON."""
        key = (task.id, task.status, task.node)
        known = self._tasks.get(key)
        if known is None:
            known = self._tasks[key] = _raw(self._task(task))
        return known

    def _task(self, task: Task) -> dict[str, Any]:
        pod = self._pods.get(task.id)
        if pod is None:
            pod = self._pods[task.id] = _raw(plain(task.pod))
        request = _resource(task.template.request)
        return {
            "UID": task.id,
            "Job": task.job or "",
            "Name": task.name,
            "Namespace": task.namespace,
            "TaskRole": task.role,
            "Resreq": request,
            "InitResreq": request,
            "DRAResreq": None,
            "ResourceClaimKeys": None,
            "ResourceClaimDRAResreq": None,
            "NodeName": task.node or "",
            "EvictionOccurred": False,
            "JobAllocatedHyperNode": "",
            "Status": _STATUS[task.status],
            "LastTransaction": None,
            "Priority": task.priority,
            "VolumeReady": False,
            "Preemptable": task.preemptable,
            "BestEffort": task.template.best_effort,
            "HasRestartableInitContainer": any(
                each.restart_policy == "Always" for each in task.pod.spec.init_containers
            ),
            "SchGated": task.gated,
            "RevocableZone": task.revocable_zone,
            "NumaInfo": None,
            "Pod": pod,
            "PodAnnotations": dict(task.pod.metadata.annotations),
            "CustomBindErrHandlerSucceeded": False,
        }

    def node(self, view: NodeView) -> msgspec.Raw:
        """Return a node in its current state as JSON."""
        log = self._session.nodes.log
        for column in log[self._cursor :]:
            self._nodes.pop(column, None)
        self._cursor = len(log)
        known = self._nodes.get(view.column)
        if known is None:
            known = self._nodes[view.column] = _raw(self._node(view))
        return known

    def _node(self, view: NodeView) -> dict[str, Any]:
        nodes, facts = self._session.nodes, view.facts
        state = nodes.state[:, view.column]
        allocatable, used = nodes.table.allocatable[:, view.column], state[nodes.rows.used]
        return {
            "Name": view.name,
            "Node": self._object(view.column, facts),
            "State": {"Phase": _READY, "Reason": ""},
            "Releasing": self._amounts(state[nodes.rows.releasing]),
            "Pipelined": self._amounts(state[nodes.rows.pipelined]),
            "Idle": self._amounts(allocatable - used),
            "Used": self._amounts(used),
            "Allocatable": self._amounts(allocatable),
            "Capacity": _capacity(facts),
            "ResourceUsage": None,
            "Tasks": {task.key: self.task(task) for task in view.tasks.values()},
            "NumaInfo": None,
            "UnassignedNumaPods": {},
            "NumaSchedulerInfo": None,
            "RevocableZone": facts.revocable_zone,
            "Others": {},
            "OversubscriptionNode": bool(facts.oversubscribed),
            "OfflineJobEvicting": False,
            "OversubscriptionResource": _resource(facts.oversubscribed),
            "ImageStates": None,
            "Generation": 0,
            "BindGeneration": 0,
        }

    def _object(self, column: int, facts: Node) -> msgspec.Raw:
        known = self._objects.get(column)
        if known is None:
            named = {"metadata": {"name": facts.name, "labels": dict(facts.labels)}}
            known = self._objects[column] = _raw(named if facts.object is None else plain(facts.object))
        return known

    def _amounts(self, vector: IntArray) -> dict[str, Any]:
        return _resource(self._session.resources.amounts(vector))

    def job(self, job: SessionJob) -> dict[str, Any]:
        """Return a job in its current state as JSON."""
        tasks: dict[str, msgspec.Raw] = {task.id: self.task(task) for task in job.tasks.values()}
        by_status: dict[str, dict[str, msgspec.Raw]] = {}
        for task in job.tasks.values():
            by_status.setdefault(str(_STATUS[task.status]), {})[task.id] = tasks[task.id]
        group, waiting = job.job.group, job.job.waiting_seconds
        annotations = group.metadata.annotations
        return {
            "UID": job.id,
            "PgUID": job.job.uid,
            "Name": job.job.name,
            "Namespace": job.job.namespace,
            "Queue": job.queue,
            "Priority": job.priority,
            "MinAvailable": job.min_available,
            "WaitingTime": None if waiting is None else int(waiting * 10**9),
            "JobFitErrors": "",
            "NodesFitErrors": {},
            "AllocatedHyperNode": annotations.get(ALLOCATED_HYPER_NODE, ""),
            "NetworkTopology": plain(group.spec.network_topology),
            "SubJobs": {},
            "TaskToSubJob": {},
            "MinSubJobs": dict(job.min_sub_jobs),
            "TaskStatusIndex": by_status,
            "Tasks": tasks,
            "TaskMinAvailable": dict(job.job.min_by_role),
            "TaskMinAvailableTotal": sum(job.job.min_by_role.values()),
            "Allocated": self._amounts(job.allocated),
            "TotalRequest": self._amounts(self._session.snapshot.job_table.total[:, job.job.column]),
            "CreationTimestamp": group.metadata.creation_timestamp or None,
            "PodGroup": {**plain(group), "Version": "v1beta1"},
            "ScheduleStartTimestamp": None,
            "Preemptable": bool(job.job.preemptable),
            "RevocableZone": job.job.revocable_zone,
            "Budget": {
                "MinAvailable": annotations.get(MIN_AVAILABLE, ""),
                "MaxUnavailable": annotations.get(MAX_UNAVAILABLE, ""),
            },
        }

    def queue(self, queue: Queue) -> dict[str, Any]:
        """Return a queue as JSON."""
        return {
            "UID": queue.name,
            "Name": queue.name,
            "Weight": queue.weight,
            "Weights": queue.hierarchy_weights,
            "Hierarchy": queue.hierarchy,
            "Queue": {"metadata": {"name": queue.name}} if queue.object is None else plain(queue.object),
        }

    def cluster(self) -> dict[str, Any]:
        """Return the whole cluster as JSON."""
        session = self._session
        views = [session.nodes.view(column) for column in range(len(session.nodes))]
        nodes = {view.name: self.node(view) for view in views}
        return {
            "Jobs": {
                job.id: self.job(SessionJob(job, session.snapshot.job_table)) for job in session.snapshot.jobs.values()
            },
            "Nodes": nodes,
            "Queues": {name: self.queue(queue) for name, queue in session.queues.by_name.items()},
            "NamespaceInfo": self._namespaces(),
            "RevocableNodes": {view.name: nodes[view.name] for view in views if view.facts.revocable_zone},
            "NodeList": None,
        }

    def _namespaces(self) -> dict[str, Any]:
        quotas: dict[str, dict[str, Any]] = {}
        for quota in self._session.snapshot.objects.resource_quotas.values():
            quotas.setdefault(quota.metadata.namespace, {})[quota.metadata.name] = plain(quota.status)
        return {name: {"Name": name, "QuotaStatus": status} for name, status in sorted(quotas.items())}


def _capacity(facts: Node) -> dict[str, Any]:
    """Return the capacity of a node. Quantities that cannot be parsed are left out."""
    amounts: dict[str, int] = {}
    for name, quantity in ({} if facts.object is None else facts.object.status.capacity).items():
        try:
            amounts[name] = millis(quantity)
        except QuantityError:
            continue
    return _resource(amounts)


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value, enc_hook=dict))  # msgspec does not know read-only mappings


def _resource(amounts: Amounts) -> dict[str, Any]:
    """Return amounts, in thousandths by name, as a `Resource`: whole bytes, number of pods, others in thousandths."""
    pods = amounts.get(PODS, 0) // MILLI
    scalars = {name: millis for name, millis in sorted(amounts.items()) if name not in _OWN_FIELDS}
    if pods:
        scalars[PODS] = pods
    return {
        "MilliCPU": amounts.get(CPU, 0),
        "Memory": amounts.get(MEMORY, 0) // MILLI,
        "ScalarResources": scalars or None,
        "MaxTaskNum": pods,
    }


def plain(value: Any) -> Any:
    """Return an object as JSON values, with the field names of its API.

    Empty texts, lists and maps, and absent values, are omitted, as are fields that the scheduler does not read. Other
    fields are written even if they have their default, because the defaults of another language may differ.
    """
    if isinstance(value, msgspec.Struct):
        return {
            name: plain(each)
            for attribute, name in _fields(type(value))
            if not _is_absent(each := getattr(value, attribute))
        }
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    return value


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, (str, tuple, list, Mapping)) and not value)


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """Return the attributes of a struct with their JSON names."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))
