"""Extension points: every callback that a plugin may register, each declared once.

A point says who is asked, when, what comes back, and how answers combine. Plugins register functions at session open;
the configuration's tiers give their order, and the flag of a point switches one plugin's function off. The names are
those of Volcano's plugin guide.

How answers combine:

==================  =====================================================================================
keys                each plugin gives a key; the keys of all tiers make one tuple; smaller goes first
sum                 scores of all plugins are added as returned, nothing is clamped
all                 the first refusal counts; asked until then
any                 the first that says yes counts
votes               per tier: a reject ends with no; a permit makes the tier say yes; else the next tier is asked
first tier          the first tier with a function decides; all its functions must agree
victims             per tier: answers are intersected; the first tier with victims decides (see `votes`)
first               the first function that gives an answer
union               per tier: what any function names; the first tier that names anything decides
limits              each function narrows what the one before left, in the order of the configuration
each                everybody is told
==================  =====================================================================================
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from pyroclast.model.arrays import FloatArray, ReasonArray
from pyroclast.model.ids import NodeName, QueueName
from pyroclast.model.plain_members import with_plain_members
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task

if TYPE_CHECKING:
    from pyroclast.framework.session.jobs import SessionJob, SubJob
    from pyroclast.framework.session.nodes import NodeColumns, NodeView

__all__ = [
    "ALLOCATABLE",
    "ALL_POINTS",
    "BATCH_NODE_ORDER",
    "BEST_NODE",
    "CLUSTER_ORDER",
    "HYPER_NODE_GRADIENT_FOR_JOB",
    "HYPER_NODE_GRADIENT_FOR_SUB_JOB",
    "HYPER_NODE_ORDER",
    "JOB_ENQUEUEABLE",
    "JOB_ENQUEUED",
    "JOB_ORDER",
    "JOB_PIPELINED",
    "JOB_READY",
    "JOB_STARVING",
    "JOB_VALID",
    "MOVABLE",
    "NODE_MAP",
    "NODE_ORDER",
    "NODE_REDUCE",
    "OVERUSED",
    "PREDICATE",
    "PREEMPTABLE",
    "PREEMPTIVE",
    "PRE_PREDICATE",
    "QUEUE_ORDER",
    "QUEUE_SURPLUS",
    "RECLAIMABLE",
    "RESERVED_NODES",
    "SUB_JOB_ORDER",
    "SUB_JOB_PIPELINED",
    "SUB_JOB_READY",
    "TARGET_JOB",
    "TASK_ORDER",
    "UNIFIED_EVICTABLE",
    "VICTIM_QUEUE_ORDER",
    "VICTIM_TASKS",
    "Locality",
    "Move",
    "Point",
    "Registered",
    "Vote",
]

F = TypeVar("F", bound=Callable[..., Any])

Answer = bool | Refusal | None
"""True or None permits, False refuses in the plugin's name, a refusal refuses with its reason."""

Key = Any
"""Anything that compares with its like: numbers, strings, tuples."""


@with_plain_members
class Vote(IntEnum):
    """Answer of a voting point."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


@with_plain_members
class Locality(Enum):
    """What an array function for nodes depends on, so what makes its answer stale.

    But for `GLOBAL`, a function that answers None for all nodes has no say about the template and is not asked again.
    """

    FACTS = "facts"
    """Labels, taints, names, images and other facts of the node: asked once per template."""
    AMOUNTS = "amounts"
    """The amounts in the columns it is given, nothing else: asked again for touched columns, once for nodes with equal
    amounts, and also about amounts that might be."""
    NODE = "node"
    """Anything of that node alone, its pods for example: asked again for touched columns."""
    GLOBAL = "global"
    """Other nodes, the task itself, a clock, a job's annotation: asked anew for each task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A task that should leave its node for nobody's sake, as a strategy of shuffle names it."""

    task: Task
    strategy: str
    """Which rule says so."""
    budget: str
    """What bounds how many the rule names, in words."""
    breaks_gangs: bool = False
    """Whether it goes even where that leaves its gang below its minimum: its node must be given back."""


@dataclass(frozen=True)  # no slots: a generic alias notes its parameters on the instance
class Point(Generic[F]):
    """One question that plugins can answer."""

    name: str
    flag: str | None
    """The key that switches it off per plugin in the configuration; None where it cannot be switched off."""
    combine: str
    """A row of the table above."""
    asked: str
    """When, for the documentation."""


@dataclass(frozen=True, slots=True, eq=False)
class Registered(Generic[F]):
    """One plugin's function for one point."""

    plugin: str
    function: F
    locality: Locality | None = None
    """Of array functions; None for functions of one task and one node, which are asked anew each time."""
    reasons: tuple[Reason, ...] = ()
    """Of predicates over arrays: the n-th verdict (from 1) means the n-th reason."""
    normalise: Callable[[FloatArray], FloatArray] | None = None
    """Of scores: rescales raw scores of the candidates, shape (candidates,)."""
    cares: Callable[[Task], bool] | None = None
    """Of locality `GLOBAL`: whether a task is any concern of this function; None where every task is."""
    headroom: Callable[[Queue, Task], int] | None = None
    """Of `ALLOCATABLE`: how many tasks like this one the queue may still take."""
    lent_headroom: Callable[[Queue, Task], int] | None = None
    """Of `ALLOCATABLE`: the same where idle room is lent beyond the share."""
    grouped: Callable[[Task], Any] | None = None
    """Of scores of locality `GLOBAL`: the same scores by group of nodes (`grouped_scores.GroupedScores`)."""
    kind: Callable[[Task], Any] | None = None
    """Of `ALLOCATABLE`: what of a task, beside its template, the answer depends on; None where nothing."""
    missing: Callable[[Any], int] | None = None
    """Of `JOB_READY` and `SUB_JOB_READY`: how many more placements are needed at least before the answer can be yes."""
    alike: bool = False
    """Of victim points: whether beneficiaries of equal queue, priorities, allocation and request get equal answers."""
    within_job: bool = False
    """Of `TASK_ORDER`: whether keys mean something among tasks of one job alone."""
    in_turn: bool = False
    """Of victim points: whether an answer about a candidate depends on those before it alone."""
    many: Callable[[Task, Sequence[Any]], Sequence[Any]] | None = None
    """Of `PREDICATE` over a task and a node: the same about several nodes in one go, an answer for each."""
    together: Callable[..., Any] | None = None
    """Of victim points: answers instead where a gang goes whole, told of all of it; else each member is judged as if it
    went first."""
    queues: Callable[["SessionJob", Sequence[int]], Collection[QueueName]] | None = None
    """Of `RECLAIMABLE`: from which queues tasks could be taken for a job's minimum; asked at queue admission."""
    reasons_of: Callable[[Task], Sequence[Reason]] | None = None
    """Of predicates over arrays whose reasons name parts of a task: gives them, in place of `reasons`."""


# Orders ---------------------------------------------------------------------------------------------------------------

JOB_ORDER: Final = Point[Callable[["SessionJob"], Key]](
    "job_order", "enableJobOrder", "keys", "when a job is queued in an action; ties: older, then lower name"
)
QUEUE_ORDER: Final = Point[Callable[[Queue], Key]](
    "queue_order", "enableQueueOrder", "keys", "whenever the next queue is chosen; ties: older, then lower name"
)
VICTIM_QUEUE_ORDER: Final = Point[Callable[[Queue, Queue, Queue], int]](
    "victim_queue_order", None, "first", "for (left, right, preemptor's queue): negative evicts from left first"
)
TASK_ORDER: Final = Point[Callable[[Task], Key]](
    "task_order", "enableTaskOrder", "keys", "when tasks of a job are queued; ties: index in the name, age, name"
)
SUB_JOB_ORDER: Final = Point[Callable[["SubJob"], Key]](
    "sub_job_order", "enabledSubJobOrder", "keys", "when sub-jobs of a job are queued; ties: match index, then id"
)
CLUSTER_ORDER: Final = Point[Callable[[str], Key]]("cluster_order", "enabledClusterOrder", "keys", "never, reserved")

# Nodes ----------------------------------------------------------------------------------------------------------------

PRE_PREDICATE: Final = Point[Callable[[Task], Answer]](
    "pre_predicate", "enablePredicate", "all", "once per task, before its nodes are looked at"
)
PREDICATE: Final = Point[Callable[[Task, "NodeColumns"], ReasonArray | None] | Callable[[Task, "NodeView"], Any]](
    "predicate",
    "enablePredicate",
    "all",
    "over arrays: verdicts, shape (columns,), None permits all; over a task and a node: an `Answer` or a reason text",
)
NODE_ORDER: Final = Point[Callable[[Task, "NodeColumns"], FloatArray | None] | Callable[[Task, "NodeView"], float]](
    "node_order",
    "enableNodeOrder",
    "sum",
    "over arrays: scores, shape (columns,), None adds nothing; over a task and a node: one score",
)
BATCH_NODE_ORDER: Final = Point[Callable[[Task, Sequence["NodeView"]], Mapping[NodeName, float] | Refusal]](
    "batch_node_order",
    "enableNodeOrder",
    "sum",
    "for all candidates of a task at once: scores by node; a refusal leaves the task without a node",
)
NODE_MAP: Final = Point[Callable[[Task, "NodeView"], float]](
    "node_map", "enableNodeOrder", "sum", "first half of a normalised score: raw, floored to an integer"
)
NODE_REDUCE: Final = Point[Callable[[Task, dict[NodeName, float]], None]](
    "node_reduce", "enableNodeOrder", "sum", "second half: edits the plugin's raw scores of the candidates in place"
)
BEST_NODE: Final = Point[Callable[[Task, Mapping[float, Sequence["NodeView"]]], NodeName | None]](
    "best_node", "enableBestNode", "first", "for the scored candidates, when there are several; else the best score"
)
HYPER_NODE_ORDER: Final = Point[Callable[["SubJob", Mapping[str, Sequence[NodeName]]], Mapping[str, float]]](
    "hyper_node_order", "enabledHyperNodeOrder", "sum", "for the topology domains in which a sub-job fits"
)
HYPER_NODE_GRADIENT_FOR_JOB: Final = Point[Callable[["SessionJob", str, str], Sequence[Sequence[str]]]](
    "hyper_node_gradient_for_job", "enabledHyperNodeGradient", "first", "domains to try for a job, best level first"
)
HYPER_NODE_GRADIENT_FOR_SUB_JOB: Final = Point[Callable[["SubJob", str, str], Sequence[Sequence[str]]]](
    "hyper_node_gradient_for_sub_job", "enabledHyperNodeGradient", "first", "domains to try for a sub-job"
)

# Jobs and queues ------------------------------------------------------------------------------------------------------

JOB_VALID: Final = Point[Callable[["SessionJob"], Answer]]("job_valid", None, "all", "before an action takes up a job")
JOB_READY: Final = Point[Callable[["SessionJob"], bool]](
    "job_ready", "enableJobReady", "all", "after placements: may the statement be committed"
)
SUB_JOB_READY: Final = Point[Callable[["SubJob"], bool]](
    "sub_job_ready", "enabledSubJobReady", "all", "the same for a sub-job"
)
JOB_PIPELINED: Final = Point[Callable[["SessionJob"], Vote]](
    "job_pipelined", "enableJobPipelined", "votes", "may places that wait for released room be held"
)
SUB_JOB_PIPELINED: Final = Point[Callable[["SubJob"], Vote]](
    "sub_job_pipelined", "enabledSubJobPipelined", "votes", "the same for a sub-job"
)
JOB_STARVING: Final = Point[Callable[["SessionJob"], bool]](
    "job_starving", "enableJobStarving", "first tier", "may evictions be made for this job"
)
JOB_ENQUEUEABLE: Final = Point[Callable[["SessionJob"], Vote | Refusal]](
    "job_enqueueable", "enableJobEnqueued", "votes", "may a pending job with minimum resources pass the queue's gate"
)
JOB_ENQUEUED: Final = Point[Callable[["SessionJob"], None]](
    "job_enqueued", "enableJobEnqueued", "each", "a job has passed the gate"
)
OVERUSED: Final = Point[Callable[[Queue], Answer]](
    "overused", "enabledOverused", "any", "before a queue is served: True or a refusal means it has had enough"
)
ALLOCATABLE: Final = Point[Callable[[Queue, Task], Answer]](
    "allocatable", "enabledAllocatable", "all", "before a task is placed on behalf of its queue"
)
PREEMPTIVE: Final = Point[Callable[[Queue, Sequence[Task]], Answer]](
    "preemptive", "enablePreemptive", "all", "may the queue take room from others for these tasks"
)
TARGET_JOB: Final = Point[Callable[[Sequence["SessionJob"]], "SessionJob | None"]](
    "target_job", "enableTargetJob", "first", "never, reserved"
)
RESERVED_NODES: Final = Point[Callable[[], None]]("reserved_nodes", "enableReservedNodes", "each", "never, reserved")

# Victims --------------------------------------------------------------------------------------------------------------

VictimAnswer = "Sequence[Task] | tuple[Sequence[Task], Vote]"
"""A bare list permits these; with a vote, `ABSTAIN` means that the plugin does not care."""

PREEMPTABLE: Final = Point[Callable[[Task, Sequence[Task]], Any]](
    "preemptable", "enablePreemptable", "victims", "which of the candidates may give way to a task of their own queue"
)
RECLAIMABLE: Final = Point[Callable[[Task, Sequence[Task]], Any]](
    "reclaimable", "enableReclaimable", "victims", "which of the candidates may give way to a task of another queue"
)
UNIFIED_EVICTABLE: Final = Point[Callable[[Any, Sequence[Task]], Any]](
    "unified_evictable", None, "victims", "which of the candidates may give way to a whole gang"
)
QUEUE_SURPLUS: Final = Point[Callable[[Task, Sequence[Task]], Iterable[Task]]](
    "queue_surplus",
    None,
    "limits",
    "which of the chosen victims of other queues belong to queues that have more than they deserve, in every tier",
)
VICTIM_TASKS: Final = Point[Callable[[Sequence[Task]], Iterable["Task | Move"]]](
    "victim_tasks", "enabledVictim", "union", "which running tasks should move (shuffle)"
)
MOVABLE: Final = Point[Callable[[Sequence[Task]], Iterable[Task]]](
    "movable", "enabledVictim", "limits", "which of the tasks that should move may go now (shuffle)"
)

ALL_POINTS: Final[tuple[Point[Any], ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Point)
)
