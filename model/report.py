"""Report of a cycle: statuses, events and metrics to publish besides its plans."""

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
    "NativeGroupStatus",
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
    """UUID of the session that set it. A replay of the cycle sets the same UUID."""


class GroupStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New status of a PodGroup, and its annotations; given only if they differ from the object."""

    job: JobId
    uid: str
    phase: PodGroupPhase
    running: int
    succeeded: int
    failed: int
    conditions: tuple[GroupCondition, ...]
    """Changed conditions. Each replaces the one of its type; conditions of other types stay."""
    annotations: Mapping[str, str] = {}
    """Annotations to set on the PodGroup."""


class NativeGroupStatus(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New condition of a PodGroup of `scheduling.k8s.io`; given only if it differs from the object."""

    namespace: str
    name: str
    uid: str
    type: str
    status: str
    """`True` or `False`."""
    reason: str
    message: str
    generation: int
    """Generation of the object that was seen."""


class PodCondition(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """`PodScheduled=False` for a pod that is not bound, and the node nominated for it; given only when it differs."""

    task: TaskId
    namespace: str
    name: str
    reason: str
    message: str
    nominated_node: NodeName | None = None
    """None leaves the field unchanged. An empty name clears it, for a pod that no longer waits for a node."""


class QueueAllocation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """New `status.allocated` of a queue; given only when it differs."""

    queue: QueueName
    allocated: Amounts
    """Resources allocated to its tasks and to those of its child queues. CPU and memory always; others if not 0."""


class QuotaFigures(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Status of an elastic quota: thousandths by resource name, of the resources that it counts."""

    namespace: str
    name: str
    uid: str
    used: Amounts
    runtime: Amounts
    """Runtime amount: the most that it may use now."""
    request: Amounts
    child_request: Amounts
    guaranteed: Amounts
    allocated: Amounts
    """Use of its pods and guarantees of its child quotas; empty unless amounts in use are guaranteed."""
    non_preemptible_request: Amounts
    non_preemptible_used: Amounts
    annotations: Mapping[str, str] = {}
    """Annotations by hook plugins."""


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
    """Empty if the job has no resource that the cluster offers."""
    share: float
    """Part of the cluster's total, at least 0; above 1 if more is allocated than nodes offer, after a node is lost."""
    allocated: Amounts
    """Resources allocated to the job, without zeros."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One value of a metric."""

    metric: str
    """Name without its prefix, `volcano_` or `pyroclast_`."""
    labels: tuple[tuple[str, str], ...]
    value: float
    kind: str = "gauge"
    """`gauge` sets, `counter` adds, `histogram` observes; others are dropped and counted."""


class CycleReport(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results of one cycle.

    What is by job has the jobs that the cycle looked at: those of which nothing changed since they were settled are
    left out, and so their objects stay unchanged.
    """

    cycle: int
    configuration: int
    """Generation of the configuration that decided."""
    plans: tuple[Plan, ...]
    """Plans in the order of their commits."""
    pipelined: Mapping[JobId, Mapping[TaskId, NodeName]]
    """Nodes reserved in this cycle for tasks that wait for resources to be released."""
    phases: Mapping[JobId, PodGroupPhase]
    """Phases at the end of the cycle, of jobs whose status may need an update."""
    group_statuses: tuple[GroupStatus, ...]
    pod_conditions: tuple[PodCondition, ...]
    queue_statuses: tuple[QueueAllocation, ...]
    events: tuple[EventNote, ...]
    """Events in order; `kube.events` sends the new ones."""
    refusals: Mapping[JobId, tuple[Refusal, ...]]
    """Reasons why a job waits, first binding rule first. Includes jobs skipped because nothing changed for them."""
    task_refusals: Mapping[TaskId, tuple[Refusal, ...]]
    """Reasons why a task waits, likewise. Includes pods without a job. The refusal by nodes follows that of the queue
    if no node accepts the task either."""
    vetoes: Mapping[TaskId, tuple[tuple[TaskId, Refusal], ...]]
    """Vetoes by eviction candidate: (beneficiary, refusal), the first of each job for each plugin.

    Bounded in number. A later tier or another beneficiary may still evict the candidate: then it is in `plans` too.
    """
    shares: Mapping[JobId, JobShare]
    """Shares of jobs. Set only with the plugin drf; bounded in number."""
    status_counts: Mapping[JobId, Mapping[str, int]]
    """Tasks by status label, zero counts left out, at the end of the cycle."""
    samples: tuple[Sample, ...]
    """Metrics of the decisions; stop-watch figures are the observer's."""
    failures: Mapping[str, Refusal] = {}
    """First exception of each plugin that raised one, by instance name."""
    quotas: tuple[QuotaFigures, ...] = ()
    """Figures of all served elastic quotas, if a plugin serves them."""
    native_statuses: tuple[NativeGroupStatus, ...] = ()
    gates_lifted: tuple[TaskId, ...] = ()
    """Tasks that fit into their queue: the scheduling gate of the queue can be removed."""
