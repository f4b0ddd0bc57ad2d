"""Assumptions: decisions that were handed out, and that the API does not show yet.

A bind is assumed until the pod shows a node, an eviction until the pod shows a deletion. A failure ends the assumption.
An assumption that the watch does not confirm in time is overdue: the pod is then read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from pyroclast.model import wire
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Assumption", "Assumptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """A task is assumed to be bound to `node`; None stands for an eviction."""

    node: NodeName | None
    annotations: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the bind adds to the pod."""
    deadline: float
    """When it is overdue, seconds of the caller's clock."""

    def is_settled_by(self, pod: wire.Pod) -> bool:
        """Return whether the pod shows the assumed change, or a change that makes it void."""
        if pod.metadata.deletion_timestamp or pod.status.phase in ("Succeeded", "Failed"):
            return True
        return self.node is not None and bool(pod.spec.node_name)

    def applied_to(self, task: Task) -> Task:
        """Return the task as it will be."""
        if self.node is None:
            return task.moved(TaskStatus.RELEASING, task.node)
        moved = task.moved(TaskStatus.BINDING, self.node)
        if not (self.annotations or self.labels):
            return moved
        return msgspec.structs.replace(
            moved, pod=msgspec.structs.replace(task.pod, metadata=self.added_to(task.pod.metadata))
        )

    def added_to(self, metadata: wire.ObjectMeta) -> wire.ObjectMeta:
        """Return the metadata of the pod with what the bind adds."""
        return msgspec.structs.replace(
            metadata,
            annotations={**metadata.annotations, **self.annotations},
            labels={**metadata.labels, **self.labels} if self.labels else metadata.labels,
        )


class Assumptions:
    """Assumptions by task, and the pods whose eviction a disruption budget refused."""

    def __init__(self, assumed: Mapping[TaskId, Assumption] | None = None, protected: Iterable[TaskId] = ()) -> None:
        """Start with these assumptions and protected pods."""
        self.by_task: dict[TaskId, Assumption] = dict(assumed or {})
        self.protected: set[TaskId] = set(protected)
        """Pods whose eviction a disruption budget refused: no victims until a budget of their namespace changes."""

    def applied_to(self, task: Task) -> Task:
        """Return a task with what is assumed of it."""
        if task.id in self.protected:
            task = msgspec.structs.replace(task, preemptable=False)
        assumption = self.by_task.get(task.id)
        return task if assumption is None else assumption.applied_to(task)

    def settle(self, task: TaskId, pod: wire.Pod) -> None:
        """End the assumption of a task if its pod shows the change."""
        assumption = self.by_task.get(task)
        if assumption is not None and assumption.is_settled_by(pod):
            del self.by_task[task]

    def forget(self, task: TaskId) -> None:
        """Forget everything about a task whose pod is gone."""
        self.by_task.pop(task, None)
        self.protected.discard(task)

    def overdue(self, now: float) -> list[TaskId]:
        """Return the tasks whose assumptions are overdue."""
        return [task for task, assumption in self.by_task.items() if assumption.deadline <= now]

    def extend(self, task: TaskId, deadline: float) -> None:
        """Set a later deadline for a task's assumption, if it has one."""
        assumption = self.by_task.get(task)
        if assumption is not None:
            self.by_task[task] = replace(assumption, deadline=deadline)

    def release(self, pods: Mapping[TaskId, wire.Pod], namespace: str) -> list[TaskId]:
        """Make the protected pods of a namespace victims again, and return them."""
        released = [task for task in self.protected if pods[task].metadata.namespace == namespace]
        self.protected.difference_update(released)
        return released

    def copy(self) -> "Assumptions":
        """Return assumptions that change on their own."""
        return Assumptions(self.by_task, self.protected)
