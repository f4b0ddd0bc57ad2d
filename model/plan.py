"""Plans: decisions of a cycle, which the plan executor carries out.

Each committed statement becomes one plan. All of a plan is assumed into the cache, or none of it; all preparations
of a plan finish before its first bind.
"""

from collections.abc import Mapping

import msgspec

from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId

__all__ = ["Bind", "Eviction", "Nomination", "Plan", "Preparation"]


class Preparation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Work that must succeed before a pod may be bound, undone when its plan fails."""

    kind: str
    """Kind of work: `bind-volume`, `reserve-claim`, ...; key of its preparer."""
    namespace: str
    """Namespace of the object to prepare."""
    name: str
    """Name of the object."""
    details: Mapping[str, str] = {}
    """Parameters of the preparer, for example the chosen volume or node."""


class Bind(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Binding of one pod to one node."""

    task: TaskId
    job: JobId | None
    namespace: str
    name: str
    node: NodeName
    annotations: Mapping[str, str] = {}
    """Sent with the Binding; the API server merges them into the pod."""
    preparations: tuple[Preparation, ...] = ()
    """Preparations in order; undone in reverse order."""
    labels: Mapping[str, str] | msgspec.UnsetType = msgspec.UNSET
    """Labels that the pod gets before the bind, by a preparation. Unset without labels."""
    delegate: str | msgspec.UnsetType = msgspec.UNSET
    """Plugin instance that binds the pod instead of the scheduler. Unset otherwise, so most records stay unchanged."""
    reservation: str | msgspec.UnsetType = msgspec.UNSET
    """Name of the Reservation that becomes Available on the node, if the task stands for one. Unset for pods."""


class Eviction(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod leaves its node."""

    task: TaskId
    job: JobId | None
    namespace: str
    name: str
    node: NodeName
    reason: str
    """The action that decided: `preempt`, `reclaim`, `gangpreempt`, `gangreclaim`, `shuffle`."""
    message: str = ""
    """Message for users: the beneficiary and the rule."""


class Nomination(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One pod is planned on a node whose resources are still being released."""

    task: TaskId
    job: JobId | None
    namespace: str
    name: str
    node: NodeName


class Plan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One committed statement."""

    number: int
    """Position within its cycle, from 0."""
    cycle: int
    """The cycle that decided it."""
    configuration: int
    """Generation of the configuration that decided it."""
    action: str
    job: JobId | None
    """The job that the plan serves; None if an action evicts without a beneficiary."""
    queue: QueueName | None
    binds: tuple[Bind, ...] = ()
    evictions: tuple[Eviction, ...] = ()
    nominations: tuple[Nomination, ...] = ()
    together: bool | msgspec.UnsetType = msgspec.UNSET
    """True if a plan without a beneficiary evicts a gang: all its evictions are carried out, or none. Else unset."""
