"""Assumptions: what was decided and handed out, but is not seen in the API yet.

A bind is assumed until the pod shows a node, an eviction until it shows a deletion; a failure forgets it. One whose
echo does not come in time is overdue: the pod is then read again, and what was read settles it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["Assumption"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """One task is taken to be bound to `node`, or, where it is None, to be leaving its node."""

    node: NodeName | None
    annotations: Mapping[str, str] = field(default_factory=dict)
    deadline: float
    """When the echo is overdue, seconds of the caller's clock."""

    def is_settled_by(self, pod: wire.Pod) -> bool:
        """Tell whether the pod shows what was assumed, or something that makes it void."""
        if pod.metadata.deletion_timestamp or pod.status.phase in ("Succeeded", "Failed"):
            return True
        return self.node is not None and bool(pod.spec.node_name)

    def applied_to(self, task: Task) -> Task:
        """Return the task as it will be."""
        if self.node is None:
            return task.moved(TaskStatus.RELEASING, task.node)
        moved = task.moved(TaskStatus.BINDING, self.node)
        if not self.annotations:
            return moved
        metadata = task.pod.metadata
        annotations = {**metadata.annotations, **self.annotations}
        pod = msgspec.structs.replace(task.pod, metadata=msgspec.structs.replace(metadata, annotations=annotations))
        return msgspec.structs.replace(moved, pod=pod)
