"""Assumptions: decisions that were handed out, and that the API does not show yet.

A bind is assumed until the pod shows a node, an eviction until the pod shows a deletion. A failure ends the assumption.
An assumption that the watch does not confirm in time is overdue: the pod is then read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.device_claims import ALLOCATE_CLAIM, has_devices_of, reserved
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.plan import Bind
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["AssumedClaim", "Assumption", "Assumptions"]

_ENDED: Final = frozenset({"Succeeded", "Failed"})


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
        if pod.metadata.deletion_timestamp or pod.status.phase in _ENDED:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AssumedClaim:
    """A resource claim is assumed to be reserved for pods.

    It outlasts the assumptions about these pods: a pod and its claims arrive by different watches.
    """

    uid: str
    allocation: wire.AllocationResult | None
    """The allocation that a plan decided; None for a claim that was allocated before."""
    pods: Mapping[TaskId, str]
    """Name of each pod by its UID."""

    def applied_to(self, claim: wire.ResourceClaim) -> wire.ResourceClaim:
        """Return the claim as it will be."""
        return reserved(claim, self.pods, self.allocation)


class Assumptions:
    """Assumptions by task and by claim, and the pods whose eviction a disruption budget refused."""

    def __init__(
        self,
        assumed: Mapping[TaskId, Assumption] | None = None,
        protected: Iterable[TaskId] = (),
        claims: Mapping[str, AssumedClaim] | None = None,
    ) -> None:
        """Start with these assumptions and protected pods."""
        self.by_task: dict[TaskId, Assumption] = dict(assumed or {})
        self.claims: dict[str, AssumedClaim] = dict(claims or {})
        """Assumed resource claims by key."""
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
        if pod.status.phase in _ENDED:  # its claims may be free again before they arrive
            self.forget_claims(task)

    def forget(self, task: TaskId) -> None:
        """Forget everything about a task whose pod is gone."""
        self.by_task.pop(task, None)
        self.protected.discard(task)
        self.forget_claims(task)

    def assume_claims(self, bind: Bind) -> None:
        """Assume the resource claims of a bind to be allocated and reserved."""
        for each in bind.preparations:
            if each.kind == ALLOCATE_CLAIM:
                key, text = f"{each.namespace}/{each.name}", each.details.get("allocation")
                known = self.claims.get(key)
                allocation = known.allocation if known is not None else None
                if text is not None:
                    allocation = msgspec.json.decode(text, type=wire.AllocationResult)
                pods = {**(known.pods if known is not None else {}), bind.task: bind.name}
                self.claims[key] = AssumedClaim(uid=each.details["claim-uid"], allocation=allocation, pods=pods)

    def forget_claims(self, task: TaskId) -> None:
        """End what is assumed about the resource claims of a task."""
        for key, each in [(key, each) for key, each in self.claims.items() if task in each.pods]:
            self._narrow(key, each, {pod: name for pod, name in each.pods.items() if pod != task})

    def settle_claim(self, key: str, claim: wire.ResourceClaim | None) -> None:
        """End the assumption about a resource claim as far as the claim shows it; entirely if it is gone."""
        known = self.claims.get(key)
        if known is None:
            return
        if claim is None or claim.metadata.uid != known.uid:
            del self.claims[key]
        elif claim.status.allocation is not None and has_devices_of(claim.status.allocation, known.allocation):
            shown = {each.uid for each in claim.status.reserved_for}
            left = {pod: name for pod, name in known.pods.items() if pod not in shown}
            self._narrow(key, replace(known, allocation=None), left)

    def _narrow(self, key: str, known: AssumedClaim, pods: Mapping[TaskId, str]) -> None:
        if pods:
            self.claims[key] = replace(known, pods=pods)
        else:
            del self.claims[key]

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
        return Assumptions(self.by_task, self.protected, self.claims)
