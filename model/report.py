"""Report of a cycle: all that it wants written, said and measured besides its plans."""

from collections.abc import Mapping

import msgspec

from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.plan import Plan
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import Amounts

__all__ = [
    "CycleReport",
    "EventNote",
    "GroupCondition",
    "GroupStatus",
    "JobShare",
    "PodCondition",
    "QueueAllocation",
    "QuotaFigures",
    "Sample",
]


class GroupCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A condition of a PodGroup."""

    type: str
    status: str
    """`True` or `False`."""
    reason: str
    message: str
    transition_id: str
    """The session that set it, a UUID; the same cycle replayed has the same."""


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New status of a PodGroup, and its annotations; given only when something of it differs from the object."""

    job: JobId
    uid: str
    phase: PodGroupPhase
    running: int
    succeeded: int
    failed: int
    conditions: tuple[GroupCondition, ...]
    """Those that differ, each to replace the one of its type; conditions of other types stay."""
    annotations: Mapping[str, str] = {}
    """Annotations to set on the PodGroup."""


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`PodScheduled=False` for a pod that is not bound, and the node nominated for it; given only when it differs."""

    task: TaskId
    namespace: str
    name: str
    reason: str
    message: str
    nominated_node: NodeName | None = None
    """None leaves the field as it is; an empty name clears it, for a pod that waits for no node any more."""


class QueueAllocation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New `status.allocated` of a queue; given only when it differs."""

    queue: QueueName
    allocated: Amounts
    """What its tasks and those of the queues below it hold; CPU and memory always, others where they are not 0."""


class QuotaFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an elastic quota stands: thousandths by resource name, of what it counts."""

    namespace: str
    name: str
    uid: str
    used: Amounts
    runtime: Amounts
    """Most that it may have now."""
    request: Amounts
    child_request: Amounts
    guaranteed: Amounts
    non_preemptible_request: Amounts
    non_preemptible_used: Amounts


class EventNote(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An event to record."""

    kind: str
    """`Pod`, `PodGroup`, `Queue` or `ElasticQuota`."""
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
    """Empty where the job holds nothing that the cluster offers."""
    share: float
    """Part of the cluster's total, at least 0; above 1 where more is held than nodes offer, after one is lost."""
    allocated: Amounts
    """What the job holds; resources of which it holds none are left out."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of a metric."""

    metric: str
    """Name without its prefix, `volcano_` or `pyroclast_`."""
    labels: tuple[tuple[str, str], ...]
    value: float
    kind: str = "gauge"
    """`gauge` sets, `counter` adds, `histogram` observes; others are dropped and counted."""


class CycleReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one cycle found and decided.

    What is by job has the jobs that the cycle looked at: those of which nothing changed since they were settled are
    left out, and so what stands in their objects stays.
    """

    cycle: int
    configuration: int
    """Generation of the configuration that decided."""
    plans: tuple[Plan, ...]
    """In the order of their commits."""
    pipelined: Mapping[JobId, Mapping[TaskId, NodeName]]
    """Places held in this cycle for tasks that wait for room to be released."""
    phases: Mapping[JobId, PodGroupPhase]
    """Phases at the end of the cycle, of jobs whose status may have to be written."""
    group_statuses: tuple[GroupStatus, ...]
    pod_conditions: tuple[PodCondition, ...]
    queue_statuses: tuple[QueueAllocation, ...]
    events: tuple[EventNote, ...]
    """What was noted, in order; `kube.events` sends what is news."""
    refusals: Mapping[JobId, tuple[Refusal, ...]]
    """Why a job waits, first binding rule first, also of jobs passed over because nothing changed for them."""
    task_refusals: Mapping[TaskId, tuple[Refusal, ...]]
    """Why a task waits, likewise, also of pods that no job holds; behind its queue's refusal that of nodes, where none
    would take it either."""
    vetoes: Mapping[TaskId, tuple[tuple[TaskId, Refusal], ...]]
    """By candidate for eviction who spared it: (beneficiary, refusal), the first of each job for each plugin.

    Bounded in number. A later tier, or another beneficiary, may have had it evicted all the same: then it stands in
    `plans` too.
    """
    shares: Mapping[JobId, JobShare]
    """Of jobs, with the plugin drf alone; bounded in number."""
    status_counts: Mapping[JobId, Mapping[str, int]]
    """Tasks by status label, zero counts left out, at the end of the cycle."""
    samples: tuple[Sample, ...]
    """Metrics of the decisions; stop-watch figures are the observer's."""
    failures: Mapping[str, Refusal] = {}
    """Plugins that raised something, by instance name, with the first of it."""
    quotas: tuple[QuotaFigures, ...] = ()
    """Of all elastic quotas that are served, where a plugin serves them."""
    gates_lifted: tuple[TaskId, ...] = ()
    """Tasks whose queue has room for them: the scheduling gate of their queue may go."""
