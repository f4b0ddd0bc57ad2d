"""Tasks: pods as the scheduler sees them, and the templates they share.

A task moves through these states; `framework` makes the moves of the first line, the cluster all others::

    PENDING → ALLOCATED → BINDING → BOUND → RUNNING → SUCCEEDED | FAILED
        └→ PIPELINED (waits for resources that are being released)
    BOUND | RUNNING → RELEASING (deletion has begun)
"""

from enum import IntEnum
from itertools import count
from typing import Final

import msgspec

from pyroclast.model import wire
from pyroclast.model.api.names import LENT, QUEUE_ALLOCATION_GATE
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.plain_members import with_plain_members
from pyroclast.model.resources import Amounts

__all__ = [
    "ALLOCATED_STATUSES",
    "READY_STATUSES",
    "SCORING_TYPE",
    "SCORING_WEIGHTS",
    "TEMPLATE_FIELDS",
    "Task",
    "TaskStatus",
    "TaskTemplate",
    "by_name",
    "new_template_number",
    "task_order_key",
]


@with_plain_members
class TaskStatus(IntEnum):
    """Status of a task. The values are rows of status counts."""

    PENDING = 0
    ALLOCATED = 1
    PIPELINED = 2
    BINDING = 3
    BOUND = 4
    RUNNING = 5
    RELEASING = 6
    SUCCEEDED = 7
    FAILED = 8
    UNKNOWN = 9

    __hash__ = int.__hash__  # that of enums is computed from the name, in Python

    @property
    def label(self) -> str:
        """Return the name as Kubernetes would write it: `Pending`."""
        return self.name.capitalize()


ALLOCATED_STATUSES: Final = frozenset({TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED})
"""Statuses whose requests count as allocated to job and queue."""

READY_STATUSES: Final = ALLOCATED_STATUSES | {TaskStatus.SUCCEEDED}
"""Statuses that count towards a gang's minimum."""


SCORING_TYPE: Final = "volcano.sh/resource-strategy-scoring-type"
SCORING_WEIGHTS: Final = "volcano.sh/resource-strategy-weight"
"""Annotations of pods that configure node scores. Pods of one template have equal values."""


TEMPLATE_FIELDS: Final = (
    "node_selector",
    "affinity",
    "tolerations",
    "topology_spread_constraints",
    "containers",
    "init_containers",
    "overhead",
    "resources",
)
"""Fields of a specification that are equal for all pods of a template."""

_NUMBERS = count(1)
"""Numbers of templates, unique in the process, because plugins cache by number across cluster states."""


def new_template_number() -> int:
    """Return a number that no template has."""
    return next(_NUMBERS)


class TaskTemplate(msgspec.Struct, frozen=True, gc=False, eq=False):
    """Requirements of equal pods. Interned: two tasks have equal requirements if their templates are the same object.

    Labels, names and volume claims of a pod are not part of its template. Rules that depend on them read the task.
    """

    number: int
    """Unique as long as the process lives; keys memos."""
    request: Amounts
    """Effective request, thousandths; `pods` is always in it."""
    scored_cpu_millis: int
    """CPU as node scores see it: a container without a request counts 100 (Kubernetes' non-zero request)."""
    scored_memory_bytes: int
    """Memory as node scores see it: a container without a request counts 200 MiB."""
    best_effort: bool
    """Whether the request has no resource other than `pods`."""
    spec: wire.PodSpec
    """The specification of one pod of the template: constraints, ports, images."""
    reservations: tuple[str, ...] = ()
    """UIDs of the Reservations whose owners its waiting pods match, ascending."""


class Task(msgspec.Struct, frozen=True, gc=False, eq=False):
    """One pod. Frozen: a change of status or node makes a new task with the same id."""

    id: TaskId
    job: JobId | None
    """None for a pod without a pod group: it only uses resources of its node."""
    namespace: str
    name: str
    role: str
    """Role in its job (`volcano.sh/task-spec`), or empty."""
    template: TaskTemplate
    status: TaskStatus
    node: NodeName | None
    priority: int
    preemptable: bool
    revocable_zone: str
    gated: bool
    """Has scheduling gates; is not placed in this cycle."""
    created: float
    """Creation of the pod, seconds since 1970."""
    pod: wire.Pod
    """The pod as the API server gave it: labels, annotations, claims, conditions."""

    @property
    def key(self) -> str:
        """Return `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def waits_for_queue_only(self) -> bool:
        """Whether its only scheduling gate is that of its queue."""
        gates = self.pod.spec.scheduling_gates
        return len(gates) == 1 and gates[0].name == QUEUE_ALLOCATION_GATE

    @property
    def lets_queue_decide(self) -> bool:
        """Whether its annotation delegates that gate to its queue."""
        return self.pod.metadata.annotations.get(QUEUE_ALLOCATION_GATE) == "true"

    @property
    def is_lent(self) -> bool:
        """Whether it was bound on resources that its queue borrowed."""
        return self.pod.metadata.annotations.get(LENT) == "true"

    @property
    def has_lent_room(self) -> bool:
        """Whether it uses resources that its queue borrowed."""
        return self.status in ALLOCATED_STATUSES and self.is_lent

    def moved(self, status: TaskStatus, node: NodeName | None) -> "Task":
        """Return this task in another state."""
        return Task(
            self.id,
            self.job,
            self.namespace,
            self.name,
            self.role,
            self.template,
            status,
            node,
            self.priority,
            self.preemptable,
            self.revocable_zone,
            self.gated,
            self.created,
            self.pod,
        )


_INDEXED_NAME_PIECES: Final = 3


def by_name(task: Task) -> tuple[str, str, str]:
    """Order tasks by namespace and name, which a second creation of the same pods keeps; UIDs are drawn anew."""
    return task.namespace, task.name, task.id


def task_order_key(task: Task) -> tuple[bool, int, float, str, str, str]:
    """Order tasks that plugins rank equally: by the index at the end of `job-role-3`, then by age, then by name."""
    pieces = task.name.rsplit("-", 1)
    if task.name.count("-") >= _INDEXED_NAME_PIECES - 1 and pieces[-1].isdecimal():
        return (False, int(pieces[-1]), task.created, *by_name(task))
    return (True, 0, task.created, *by_name(task))
