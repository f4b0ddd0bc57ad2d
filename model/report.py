"""Report of a cycle: all that it wants written, said and measured besides its plans."""

from collections.abc import Mapping

import msgspec

from model.ids import JobId, NodeName, QueueName, TaskId
from model.jobs import JobPhase
from model.plan import Plan
from model.refusals import Refusal
from model.resources import Amounts

__all__ = ["Condition", "CycleReport", "EventNote", "GroupStatus", "JobShare", "PodCondition", "QueueStatus", "Sample"]


class Condition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A condition of a PodGroup."""

    type: str
    status: str
    reason: str
    message: str
    transition_id: str
    """The cycle that set it."""


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New status of a PodGroup; given only when it differs from what the object says."""

    job: JobId
    uid: str
    phase: JobPhase
    running: int
    succeeded: int
    failed: int
    conditions: tuple[Condition, ...]
    """Those to set, replacing others of their type; conditions of other types stay."""
    annotations: Mapping[str, str] = {}
    """Annotations to set on the PodGroup."""


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`PodScheduled=False` for a pod that stays pending, and the node nominated for it."""

    task: TaskId
    namespace: str
    name: str
    reason: str
    message: str
    nominated_node: NodeName | None = None
    """None leaves the field as it is; an empty name clears it, for a pod that waits for no node any more."""


class QueueStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New `status.allocated` of a queue; given only when it differs."""

    queue: QueueName
    allocated: Amounts


class EventNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event to record."""

    kind: str
    """`Pod`, `PodGroup` or `Queue`."""
    namespace: str
    name: str
    uid: str
    type: str
    """`Normal` or `Warning`."""
    reason: str
    message: str


class JobShare(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Dominant resource of a job (DRF)."""

    resource: str
    share: float
    """Share of the cluster's total, from 0 to 1."""
    allocated: Amounts


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of a metric."""

    metric: str
    """Name without the `volcano_` prefix."""
    labels: tuple[tuple[str, str], ...]
    value: float
    kind: str = "gauge"
    """`gauge` sets, `counter` adds, `histogram` observes."""


class CycleReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one cycle found and decided."""

    cycle: int
    configuration: int
    """Generation of the configuration that decided."""
    plans: tuple[Plan, ...]
    pipelined: Mapping[JobId, Mapping[TaskId, NodeName]]
    """Places held in this cycle for tasks that wait for room to be released."""
    phases: Mapping[JobId, JobPhase]
    """Phase of every job of the snapshot at the end of the cycle."""
    group_statuses: tuple[GroupStatus, ...]
    pod_conditions: tuple[PodCondition, ...]
    queue_statuses: tuple[QueueStatus, ...]
    events: tuple[EventNote, ...]
    refusals: Mapping[JobId, tuple[Refusal, ...]]
    """Why a job waits, first binding rule first."""
    task_refusals: Mapping[TaskId, tuple[Refusal, ...]]
    vetoes: Mapping[TaskId, tuple[tuple[TaskId, Refusal], ...]]
    """Why a candidate was not evicted: (beneficiary, refusal)."""
    shares: Mapping[JobId, JobShare]
    status_counts: Mapping[JobId, Mapping[str, int]]
    """Tasks by status label, zero counts left out."""
    samples: tuple[Sample, ...]
    """Metrics of the decisions; stop-watch figures are the observer's."""
