"""The contract with plugins: every point at which they are asked, and all else that they are made of.

A plugin is a class that inherits from `Plugin`. As the session opens it registers functions for extension points. The
tiers of the configuration give their order, and the flag of a point switches a plugin's function off. The names are
those of Volcano's plugin guide. Each point has a Protocol, which says when it is asked and what its answers mean; the
type checker refuses a function of another shape.

For all points holds: a function is called on the thread of the cycle, and it changes nothing that it is given. Equal
snapshots must get equal answers, unless the plugin watches the clock. A function that raises is noted in the plugin's
name: a permission is refused, a score adds nothing, and a key puts its subject last.

How answers combine:

==================  =====================================================================================
keys                each plugin gives a key; the keys of all tiers make one tuple; smaller goes first
sum                 scores of all plugins are added as returned, nothing is clamped
all                 the first refusal counts; the others are not asked
any                 the first that says yes counts
votes               per tier: a reject ends with no; a permit makes the tier say yes; else the next tier is asked
first tier          the first tier with a function decides; all its functions must agree
victims             per tier: answers are intersected; the first tier with victims decides (see `votes`)
first               the first function that gives an answer
union               per tier: what any function names; the first tier that names anything decides
limits              each function narrows what the one before left, in the order of the configuration
largest             for each resource the largest amount that any function names
views               each function gets the view that the one before returned, in the order of the configuration
each                all functions are called, and answer nothing
==================  =====================================================================================
"""

import inspect
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any, Final, Generic, Literal, NamedTuple, Protocol, TypedDict, TypeVar

from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import Needs, NodeColumns, NodeView
from pyroclast.framework.state.reservations import ReservationView
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from pyroclast.model.elastic.facts import QuotaFacts
from pyroclast.model.ids import NodeName, QueueName, TaskId
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.plain_members import with_plain_members
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.report import CycleReport
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.model.resources import Amounts
from pyroclast.model.sealed import SealedDict, SealedList
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task, TaskStatus, TaskTemplate
from pyroclast.model.watched import WatchedKind
from pyroclast.model.wire import PodSpec

F = TypeVar("F", bound=Callable[..., Any])

Answer = bool | Refusal | None
"""True or None permits, False refuses in the plugin's name, a refusal refuses with its reason."""

Key = Any
"""Anything that compares with its like: numbers, strings, tuples."""


# What a plugin is -----------------------------------------------------------------------------------------------------


Ability = Literal["guards_victims", "filters_nodes"]
"""Ability that a plugin may declare as absent, by the attribute of `Plugin` that declares it."""


class EndpointRequest(NamedTuple):
    """A request to an HTTP endpoint of a plugin."""

    snapshot: Snapshot
    """The snapshot of the last cycle."""
    report: CycleReport
    """The report of the last cycle."""
    parameters: Mapping[str, str]
    """Parts of the path by the names in the pattern: `gang/{namespace}/{name}`."""
    query: Mapping[str, str]


Endpoint = Callable[[EndpointRequest], Any]
"""Returns values that JSON supports, or None if there is no such thing. It reads its arguments alone."""


class ObjectClient(Protocol):
    """Reads and writes objects of any kind for a controller, as the service account of the scheduler.

    Each write may be repeated, and none affects another object of the same name. Objects are plain JSON. Calls raise
    `ApiError` if the server refuses, and `NotLeadingError` if the controller was stopped.
    """

    async def read(self, kind: WatchedKind, namespace: str, name: str) -> Mapping[str, Any] | None:
        """Return an object as the server has it; None if there is none."""
        ...

    async def create(self, kind: WatchedKind, body: Mapping[str, Any]) -> Mapping[str, Any]:
        """Create an object, with its name in `metadata`. Return it, or the one that has its name."""
        ...

    async def merge(
        self, kind: WatchedKind, existing: Mapping[str, Any], change: Mapping[str, Any], *, subresource: str = ""
    ) -> Mapping[str, Any]:
        """Apply a merge patch to an existing object, or to its subresource (`status`), and return the result."""
        ...

    async def delete(self, kind: WatchedKind, existing: Mapping[str, Any]) -> bool:
        """Delete an existing object. Return whether it existed."""
        ...


class ReconcileRequest(NamedTuple):
    """One object that a controller reconciles."""

    namespace: str
    """Empty for an object without a namespace."""
    name: str
    object: Mapping[str, Any] | None
    """The object as the watch last showed it, read-only; None if it was deleted."""
    objects: Callable[[WatchedKind], Mapping[str, Mapping[str, Any]]]
    """Returns the objects of a kind that the plugin watches, by `namespace/name`, as the watch shows them now."""
    api: ObjectClient


Reconcile = Callable[[ReconcileRequest], Awaitable[float | None]]
"""Takes the next step for an object. It returns the seconds until the next call even if nothing happens, or None.

An exception means that the step failed: the next call follows after a wait that grows with each failure in a row. Calls
for one object do not overlap. Each step may have been taken already by a process that was killed right after it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginController:
    """A controller of a plugin: it runs while the scheduler leads, and is called for each object of a kind."""

    name: str
    """Its name within the plugin."""
    kind: WatchedKind
    reconcile: Reconcile
    workers: int = 1
    """Maximum number of objects that are reconciled at a time, 1 to 8."""


class Plugin:
    """A policy; the configuration makes one anew for each cycle.

    Where it has arguments, `__init__` takes them as `args`, a dataclass with a default for each.
    """

    name: str = ""
    """As it stands in the configuration; where it is empty, the name under which the plugin is registered."""
    arguments: Any = None
    """The dataclass of its arguments; where None, the annotation of `args` in `__init__`, and no arguments else."""
    watches_clock: bool = True
    """Whether equal snapshots may get different answers; False lets a cycle on an unchanged cluster cost nothing."""
    guards_victims: bool = True
    """Whether it may protect pods from eviction: where it cannot be opened, none is evicted that it may protect."""
    filters_nodes: bool = True
    """Whether it may refuse nodes: where it cannot be opened, no pod is placed."""

    def on_session_open(self, session: Any) -> None:
        """Register a function for every extension point that the plugin serves, at `session.extensions`.

        Args:
            session: A `pyroclast.Session`, which stands above this module.
        """
        raise NotImplementedError

    def on_session_close(self, session: Any) -> None:
        """Do what is left as the session closes, after all actions; by default nothing."""

    def endpoints(self) -> Mapping[str, Endpoint]:
        """Return HTTP endpoints by the pattern of their paths below `/apis/v1/plugins/<name>/`; by default none."""
        return {}

    def watched_kinds(self) -> Sequence[WatchedKind]:
        """Return further kinds of objects that the plugin reads from `session.snapshot.objects.of`; by default none."""
        return ()

    def controllers(self) -> Sequence[PluginController]:
        """Return controllers, whose kinds are watched too; by default none."""
        return ()


class Action:
    """One phase of a cycle; its arguments come as those of a plugin do."""

    name: str = ""
    """As it stands in the configuration; where it is empty, the name under which the action is registered."""
    arguments: Any = None
    """The dataclass of its arguments, likewise."""

    def execute(self, session: Any) -> None:
        """Do the phase's work in the session."""
        raise NotImplementedError


@with_plain_members
class Verb(Enum):
    """Operations on tasks. The value is the status of a task after the operation."""

    ALLOCATE = TaskStatus.ALLOCATED
    """Placed on capacity that is free."""
    PIPELINE = TaskStatus.PIPELINED
    """Placed on capacity that is being released."""
    EVICT = TaskStatus.RELEASING
    """Asked to leave."""

    def __init__(self, status: TaskStatus) -> None:
        self.status = status
        """The value, which as `value` is looked up in Python each time."""


class Change:
    """Tasks of one job and one template, placed or evicted together; frozen by convention."""

    __slots__ = (
        "amounts",
        "columns",
        "each",
        "is_trial",
        "job",
        "needs",
        "sign",
        "tasks",
        "template",
        "totals",
        "verb",
    )

    def __init__(
        self,
        verb: Verb,
        job: SessionJob,
        tasks: Sequence[Task],
        columns: Sequence[int],
        *,
        needs: Needs,
        uncounted: IntArray | None = None,
        is_trial: bool = False,
    ) -> None:
        self.verb = verb
        self.job = job
        self.tasks = tuple(tasks)
        """The tasks in their new state."""
        self.columns = tuple(columns)
        """The node of each task, as columns of the node table."""
        self.needs = needs
        """Request of one task."""
        self.is_trial = is_trial
        """Whether it belongs to a trial, which is always undone; a ledger counts it, and sends nothing outside."""
        is_one = len(tasks) == 1
        each = needs.request if uncounted is None else needs.request - uncounted
        self.amounts: IntArray = each if is_one else each * len(tasks)
        self.amounts.setflags(write=False)
        """Sum of what counts of their requests, base units, shape (R,)."""
        self.each: SealedList[int] = needs.amounts if uncounted is None else SealedList(each.tolist())
        """Counted request of one task."""
        self.totals: SealedList[int] = self.each if is_one else SealedList(self.amounts.tolist())
        """The sum as a list."""
        self.sign = -1 if verb is Verb.EVICT else 1
        """+1 where the tasks take capacity, -1 where they give it up; `revert` counts the other way."""
        self.template: TaskTemplate = tasks[0].template


class Ledger:
    """Totals that follow the placements of a session: shares, quotas, pods by domain, devices.

    Each change is shown to every ledger, in the order of the configuration. Undoing a change shows it again to
    `revert`. A ledger must return to exactly the state it was in. (Volcano calls these event handlers.)
    """

    def apply(self, change: Change) -> Refusal | None:
        """Count a change, or refuse it before anything is counted."""
        raise NotImplementedError

    def revert(self, change: Change) -> None:
        """Undo `apply` of the same change exactly; changes are undone in reverse order."""
        raise NotImplementedError

    def chooses_for(self, task: Task) -> bool:  # noqa: ARG002  # for those that choose
        """Return whether the ledger also chooses what a task gets on its node, so that the order of placements matters.

        A plan with victims is then tried once more as it will be executed.
        """
        return False


# What is registered ---------------------------------------------------------------------------------------------------


@with_plain_members
class Vote(IntEnum):
    """Answer of a voting point."""

    REJECT = -1
    ABSTAIN = 0
    PERMIT = 1


@with_plain_members
class Locality(Enum):
    """What an array function for nodes depends on, and therefore which changes make its answer stale.

    But for `GLOBAL`, a function that answers None for all nodes does not concern the template and is not asked again.
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
    """A task that should leave its node without a preemptor, as a strategy of shuffle names it."""

    task: Task
    strategy: str
    """Rule that selected the task."""
    budget: str
    """What bounds how many the rule names, in words."""
    takes_gangs: bool = False
    """Whether its gang is evicted whole if it cannot spare the task. It stays if one of its pods is protected."""
    breaks_gangs: bool = False
    """Whether the task is evicted alone if its gang cannot spare it. Where both are set, `takes_gangs` counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangEviction:
    """Context of the query for pods that may be evicted for a whole gang."""

    job: SessionJob
    """The beneficiary."""
    task: Task
    """A task of the beneficiary: the one for which a place is sought, or the first where one is sought for all."""
    is_reclaim: bool
    """Whether the victims' owners have more than their share; else the victims are less important pods of the queue."""
    within_queue: bool = False
    """For a reclaim: whether the owners divide the job's own queue, such as elastic quotas; else they are queues."""


class GroupedScores(Protocol):
    """Scores of groups of nodes for the tasks of one template; G groups."""

    groups: IntArray
    """Group of each node, from 0 on, shape (N,)."""
    group_count: int
    """Number of groups, G; some may have no node."""

    def scores(self, candidates: IntArray) -> FloatArray:
        """Return the score of each group, shape (G,), where so many of its nodes are candidates, shape (G,)."""
        ...

    def place(self, group: int, column: int) -> None:
        """Suppose one more task of the template on a node of a group."""
        ...


class NumaHint(NamedTuple):
    """A set of NUMA nodes that could serve one resource, or one type of device, of a task."""

    nodes: int
    """The set as a bit mask: bit n is NUMA node n; not empty."""
    preferred: bool = True
    """Whether no smaller set would do."""
    score: int = 0
    """Preference among equally large sets; higher is better."""


class NumaHints(Protocol):
    """For a task and a node on which CPUs, memory and devices must come from few NUMA nodes.

    Answers the sets of NUMA nodes that could serve what the plugin allocates, by resource or type of device; None if
    the task requests nothing of it there. The last arguments are the NUMA nodes, ascending, and whether what is being
    released counts as free.
    """

    def __call__(
        self,
        task: Task,
        column: int,
        nodes: Sequence[int],
        in_future: bool,
        /,  # by position
    ) -> Mapping[str, Sequence[NumaHint]] | None: ...


class NumaPlan(Protocol):
    """For a task and a node: the NUMA nodes that the plugin which merges all hints has chosen.

    Answers a bit mask; None if the task is not aligned there, so that each plugin decides alone. A mask of 0 means that
    no set serves the task. The last argument is whether what is being released counts as free.
    """

    def __call__(self, task: Task, column: int, in_future: bool, /) -> int | None: ...  # by position


class Allocation(NamedTuple):
    """What an allocator gives a task on a node."""

    annotations: Mapping[str, str] = SealedDict()
    """Annotations of the bind: what the node agent, or the next cycle, reads."""
    items: Any = None
    """The same in the allocator's own words."""


class Allocator:
    """Gives tasks something of a node that amounts do not describe: devices, ports, licences, parts of a quota.

    (Koordinator calls it AllocatePlugin.) It keeps what is free, which it reads from the pods on the nodes as the
    session opens. It must return to exactly the state it was in: `free` after `allocate`, and `give` after `free`.
    """

    aligns: bool = False
    """Whether what it gives belongs to NUMA nodes, so that it is asked with the NUMA nodes chosen for all of a task."""

    def concerns(self, task: Task) -> bool:
        """Return whether a task gets something; the same for all tasks of a template, and while the session is open."""
        raise NotImplementedError

    def allocate(self, task: Task, column: int, numa_nodes: int | None, *, dry_run: bool) -> Allocation | Reason | str:
        """Allocate to a task on a node.

        Args:
            task: A task that it concerns and that has nothing from it.
            column: The node, see `session.nodes.view`.
            numa_nodes: The NUMA nodes that it may take from as a bit mask, not empty; None for any.
            dry_run: Whether nothing is taken: the answer is what the task would get.

        Returns:
            What the task gets; or why it gets nothing, as a `Reason` or a text that is counted over nodes.
        """
        raise NotImplementedError

    def free(self, task: Task, column: int) -> Allocation | None:
        """Take back what a task has on a node, also of a pod that ran before; None if it has nothing."""
        raise NotImplementedError

    def give(self, task: Task, column: int, allocation: Allocation) -> None:
        """Give a task exactly what `free` took back from it."""
        raise NotImplementedError


VictimAnswer = Sequence[Task] | tuple[Sequence[Task], Vote]
"""A bare list permits these; with a vote, `ABSTAIN` means that the rule does not concern the candidates."""


class Addend(NamedTuple):
    """One of several weighted scores that a function adds up, for tables of scores; n columns."""

    name: str
    weight: float
    """Weight that the scores contain."""
    scores: FloatArray
    """Weighted scores, shape (n,)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class View:
    """What later functions see instead of a task and of nodes; a part that is None stays as it is.

    A view changes neither the cluster nor the books of the session. The request of the pod and the amounts of the node
    decide whether the node has capacity, and these are what a placement counts. R resources, n columns.
    """

    labels: Mapping[str, str] | None = None
    """Labels of the pod, all of them."""
    annotations: Mapping[str, str] | None = None
    """Annotations of the pod, all of them."""
    spec: PodSpec | None = None
    """Specification of the pod: the rules for nodes, ports and images. Other fields stay those of the pod."""
    request: Amounts | None = None
    """Request of the pod, thousandths by resource name; `pods` stays."""
    kept: BoolArray | None = None
    """Which of the nodes may take the task, shape (n,)."""
    allocatable: IntArray | None = None
    """Allocatable amounts of the nodes, base units, shape (R, n)."""
    used: IntArray | None = None
    """Used amounts of the nodes, base units, shape (R, n)."""
    releasing: IntArray | None = None
    """Amounts of the nodes that are being released, base units, shape (R, n)."""
    pipelined: IntArray | None = None
    """Amounts of the nodes that wait for released capacity, base units, shape (R, n)."""
    facts: NodeFacts | None = None
    """Facts of all nodes of the session, in the order of their columns. Return the same object where nothing changed:
    it has a memo of what is derived from it."""


class RegistrationOptions(TypedDict, total=False):
    """Options of a registration beside the function. All of them are optional."""

    locality: Locality | None
    """For `PREDICATE` and `NODE_ORDER` over arrays: what the answer depends on. A function without one is asked about
    one task and one node, anew each time."""
    reasons: Sequence[Reason] | Callable[[Task], Sequence[Reason]]
    """For predicates over arrays: the n-th verdict (from 1) means the n-th reason. A function gives them where they
    name parts of a task; they must be the same for all tasks of a template. For functions whose views narrow nodes: the
    first is the reason of the nodes left out."""
    normalise: Callable[[FloatArray], FloatArray] | None
    """For scores over arrays: rescales raw scores over the candidates, shape (candidates,)."""
    cares: Callable[[Task], bool] | None
    """For locality `GLOBAL`: whether the function concerns a task; every task where there is none. It is asked about
    the view after `AFTER_PRE_FILTER`, for functions that return views about the pod itself."""
    grouped: Callable[[Task], GroupedScores | None] | None
    """For scores of locality `GLOBAL`: the same scores by group of nodes, so that runs of equal tasks are placed in one
    go; asked anew for each run."""
    many: Callable[[Task, Sequence[NodeView]], Sequence[Any]] | None
    """For `PREDICATE` over a task and a node: the same question about several nodes in one go, where asking costs more
    than answering; an answer for each of them, in their order."""
    headroom: Callable[[Queue, Task], int] | None
    """For `ALLOCATABLE`: how many more tasks like this one the queue may take, so that runs of equal tasks need not ask
    one by one."""
    lent_headroom: Callable[[Queue, Task], int] | None
    """For `ALLOCATABLE` that gives refusals which are `lendable`: how many the queue may take where these do not
    count."""
    kind: Callable[[Task], Any] | None
    """For `ALLOCATABLE`: what of a task, beside its template, the answer and the headroom depend on, where something
    does: tasks of one kind are judged alike."""
    missing: Callable[[Any], int] | None
    """For `JOB_READY` and `SUB_JOB_READY`: how many more placements the job or sub-job needs at least."""
    within_job: bool
    """For `TASK_ORDER`: whether keys order tasks of one job alone, and are not compared with those of others."""
    alike: bool
    """For points that choose victims: whether the answer depends on candidates, on what is allocated, and of the
    beneficiary on its queue, zone, priorities, allocation and request alone. One query serves all beneficiaries that
    are equal in these."""
    in_turn: bool
    """For points that choose victims: whether a candidate may go depends on it and on those before it, so that the
    first of many can be asked about alone."""
    together: Callable[[Any, Sequence[Task], Sequence[Task]], Any] | None
    """For points that choose victims, where it counts how many go: answers instead of the function where a gang goes
    whole, with the same arguments and all of that gang. Without it each member is judged as if it went first."""
    in_every_tier: bool
    """For points that choose victims: whether candidates that the function does not permit stay, whichever tier
    decides. Without it the function limits the victims of its own tier."""
    compares_queues: bool
    """For `RECLAIMABLE` and `UNIFIED_EVICTABLE`: whether the function compares shares of queues. It is not called for
    a reclaim within one queue."""
    within_queue: Callable[[Task], bool] | None
    """For `RECLAIMABLE` and `UNIFIED_EVICTABLE`: whether a task may reclaim from owners that divide its own queue with
    the task's owner. With it, victims may be of the task's queue, and the function must permit each of these in every
    tier."""
    queues: Callable[[SessionJob, Sequence[int]], Collection[QueueName]] | None
    """For `RECLAIMABLE`: queues from which tasks could be reclaimed for a job's minimum, base units by row. Queried at
    queue admission, when the job may have no pods yet. One query serves all jobs with equal queue, priority and
    minimum."""
    weight: float
    """For scores: the weight that the answer contains. Tables of scores show the answer with and without it."""
    addends: Callable[[Task, NodeColumns], Sequence[Addend]] | None
    """For scores over arrays that add several weighted scores: each of them, for tables of scores."""
    is_outside: bool
    """For predicates and scores: whether another process answers, so that examinations of pods do not query it."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Registered(Generic[F]):
    """One plugin's function for one point, with its `RegistrationOptions`."""

    plugin: str
    function: F
    locality: Locality | None = None
    reasons: tuple[Reason, ...] = ()
    reasons_of: Callable[[Task], Sequence[Reason]] | None = None
    """The option `reasons`, where it is a function."""
    normalise: Callable[[FloatArray], FloatArray] | None = None
    cares: Callable[[Task], bool] | None = None
    grouped: Callable[[Task], GroupedScores | None] | None = None
    many: Callable[[Task, Sequence[NodeView]], Sequence[Any]] | None = None
    headroom: Callable[[Queue, Task], int] | None = None
    lent_headroom: Callable[[Queue, Task], int] | None = None
    kind: Callable[[Task], Any] | None = None
    missing: Callable[[Any], int] | None = None
    within_job: bool = False
    alike: bool = False
    in_turn: bool = False
    together: Callable[[Any, Sequence[Task], Sequence[Task]], Any] | None = None
    in_every_tier: bool = False
    compares_queues: bool = False
    within_queue: Callable[[Task], bool] | None = None
    queues: Callable[[SessionJob, Sequence[int]], Collection[QueueName]] | None = None
    weight: float = 1.0
    addends: Callable[[Task, NodeColumns], Sequence[Addend]] | None = None
    is_outside: bool = False
    part: str = ""
    """The name by which the plugin tells its functions at this point apart."""


class Point(Generic[F]):
    """One question that plugins can answer."""

    def __init__(self, name: str, *shapes: type, flag: str | None, combine: str) -> None:
        """Declare a point.

        Args:
            name: As it stands in the documentation, in lower case.
            shapes: The Protocols of its functions; `F` is their union.
            flag: The key that switches it off per plugin in the configuration; None where it cannot be switched off.
            combine: A row of the table above.
        """
        self.name = name
        self.shapes = shapes
        self.flag = flag
        self.combine = combine

    @property
    def asked(self) -> str:
        """When it is asked: the first paragraph of each shape, for the documentation."""
        first = (inspect.getdoc(shape) or "" for shape in self.shapes)
        return ". ".join(" ".join(text.split("\n\n", 1)[0].split()).rstrip(".") for text in first)


# Orders ---------------------------------------------------------------------------------------------------------------


class JobOrder(Protocol):
    """When a job is queued in an action.

    Answers the key of a job: smaller goes first. Jobs with equal keys: the older one first, then the one with the
    lower name. A key is taken when the job is queued and not asked again while it waits there.
    """

    def __call__(self, job: SessionJob, /) -> Key: ...


JOB_ORDER: Final = Point[JobOrder]("job_order", JobOrder, flag="enableJobOrder", combine="keys")


class QueueOrder(Protocol):
    """Whenever the next queue is chosen.

    Answers the key of a queue: smaller goes first. Queues with equal keys: the older one first, then the one with
    the lower name. Asked again after each placement, so that shares of this moment count.
    """

    def __call__(self, queue: Queue, /) -> Key: ...


QUEUE_ORDER: Final = Point[QueueOrder]("queue_order", QueueOrder, flag="enableQueueOrder", combine="keys")


class VictimQueueOrder(Protocol):
    """When victims of several queues are ordered.

    Answers a negative number to evict from the left queue first, a positive one for the right, 0 for no answer. The
    third argument is the queue of the preemptor.
    """

    def __call__(self, left: Queue, right: Queue, preemptor: Queue, /) -> int: ...


VICTIM_QUEUE_ORDER: Final = Point[VictimQueueOrder]("victim_queue_order", VictimQueueOrder, flag=None, combine="first")


class TaskOrder(Protocol):
    """When tasks of a job are queued.

    Answers the key of a task: smaller goes first. Tasks with equal keys: by the index in the name, then the older
    one, then the lower name. Victims go in the reversed order.
    """

    def __call__(self, task: Task, /) -> Key: ...


TASK_ORDER: Final = Point[TaskOrder]("task_order", TaskOrder, flag="enableTaskOrder", combine="keys")


class SubJobOrder(Protocol):
    """When sub-jobs of a job are queued.

    Answers the key of a sub-job: smaller goes first. Sub-jobs with equal keys: by match index, then by id.
    """

    def __call__(self, sub_job: SubJob, /) -> Key: ...


SUB_JOB_ORDER: Final = Point[SubJobOrder]("sub_job_order", SubJobOrder, flag="enabledSubJobOrder", combine="keys")


class ClusterOrder(Protocol):
    """Never; reserved.

    Answers the key of a cluster: smaller goes first. Volcano orders clusters here.
    """

    def __call__(self, cluster: str, /) -> Key: ...


CLUSTER_ORDER: Final = Point[ClusterOrder]("cluster_order", ClusterOrder, flag="enabledClusterOrder", combine="keys")


# Views ----------------------------------------------------------------------------------------------------------------


class BeforePreFilter(Protocol):
    """Once for a template, before `PRE_PREDICATE`; for each task with locality `GLOBAL`.

    Answers a view with labels, annotations, spec or request; None leaves all as it is. All later functions about the
    task and its nodes see it. A refusal leaves the task without a node. Without a locality the answer must be the same
    for all tasks of a template, whose labels and annotations may differ.
    """

    def __call__(self, task: Task, /) -> View | Refusal | None: ...


BEFORE_PRE_FILTER: Final = Point[BeforePreFilter](
    "before_pre_filter", BeforePreFilter, flag="enablePredicate", combine="views"
)


class AfterPreFilter(Protocol):
    """Once for a template, when its nodes are first looked at; for each task with locality `GLOBAL`.

    Answers a view with the parts of `BEFORE_PRE_FILTER`, for predicates and scores, and `kept`, which narrows the nodes
    for good. The first of the `reasons` at registration explains the other nodes. It is given all nodes, and must not
    depend on their amounts or pods. If it fails, no node takes the task.
    """

    def __call__(self, task: Task, nodes: NodeColumns, /) -> View | None: ...


AFTER_PRE_FILTER: Final = Point[AfterPreFilter](
    "after_pre_filter", AfterPreFilter, flag="enablePredicate", combine="views"
)


class BeforeFilter(Protocol):
    """For the nodes that predicates are about to be asked about.

    Answers a view for predicates alone: of the task, of amounts or of facts. The parts about the task and about facts
    must not depend on amounts, on pods, or on which nodes are asked about: predicates over facts are asked once. With
    locality `AMOUNTS` it depends on the amounts in the columns and nothing else. With `GLOBAL` it is asked anew for
    each task, and otherwise again for touched columns. If it fails, the nodes do not take the task.
    """

    def __call__(self, task: Task, nodes: NodeColumns, /) -> View | None: ...


BEFORE_FILTER: Final = Point[BeforeFilter]("before_filter", BeforeFilter, flag="enablePredicate", combine="views")


class BeforeScore(Protocol):
    """For the nodes that scores are about to be asked about.

    Answers a view for scores and for `BEST_NODE`, as `BEFORE_FILTER` does for predicates, and `kept`, the nodes that
    are scored. The task gets none of the others. If it fails, scores see what they would see without it.
    """

    def __call__(self, task: Task, nodes: NodeColumns, /) -> View | None: ...


BEFORE_SCORE: Final = Point[BeforeScore]("before_score", BeforeScore, flag="enableNodeOrder", combine="views")


class AfterPostFilter(Protocol):
    """For each job with tasks that no action of the cycle placed, after all actions.

    Takes notice of it. Given the refusals of its waiting tasks by their ids; `job.all_refusals` has those of the job.
    A job that is not tried, because nothing changed for it, is not shown again.
    """

    def __call__(self, job: SessionJob, refusals: Mapping[TaskId, Refusal], /) -> None: ...


AFTER_POST_FILTER: Final = Point[AfterPostFilter]("after_post_filter", AfterPostFilter, flag=None, combine="each")


# Nodes ----------------------------------------------------------------------------------------------------------------


class PrePredicate(Protocol):
    """Once for a task, before its nodes are looked at.

    Answers whether the task may be placed at all. A refusal leaves the task without a node.
    """

    def __call__(self, task: Task, /) -> Answer: ...


PRE_PREDICATE: Final = Point[PrePredicate]("pre_predicate", PrePredicate, flag="enablePredicate", combine="all")


class PredicateOverNodes(Protocol):
    """Over arrays, as often as its locality says: which nodes take a task.

    Answers verdicts, shape (columns,); None permits all. Registered with a locality. Capacity is judged apart. A
    verdict of 0 permits, n means the n-th of the reasons.
    """

    def __call__(self, task: Task, nodes: NodeColumns, /) -> ReasonArray | None: ...


class PredicateOfNode(Protocol):
    """Over a task and a node, on the nodes that all else leaves.

    Answers whether the node takes the task; a text or a `Reason` refuses, and is counted in messages. Registered
    without a locality, and asked anew for each task.
    """

    def __call__(self, task: Task, node: NodeView, /) -> Answer | Reason | str: ...


PREDICATE: Final = Point[PredicateOverNodes | PredicateOfNode](
    "predicate", PredicateOverNodes, PredicateOfNode, flag="enablePredicate", combine="all"
)


class UseOfReservations(Protocol):
    """Once for a template, before its nodes are looked at: which Reservations its tasks may use.

    Answers a `ReservationUse`, which must be the same for all tasks of a template; None leaves the answer to the next
    function. Capacity of a node with a usable Reservation includes what is left of it.
    """

    def __call__(self, task: Task, /) -> ReservationUse | None: ...


RESERVATION_USE: Final = Point[UseOfReservations]("reservation_use", UseOfReservations, flag=None, combine="first")


class ResizePod(Protocol):
    """For a task and a node that it may get, and again when it is placed there: what the task counts as.

    Answers amounts, thousandths by resource name; None leaves the request. The largest amount of each resource counts,
    and never less than the request. Node, queue, quotas and ledgers count it, and so does the next session. The answer
    must be the same for all tasks of a template. Not asked about tasks that request nothing, and about Reservations and
    tasks that may use one. If it fails, the node does not take the task.
    """

    def __call__(self, task: Task, column: int, /) -> Amounts | None: ...


RESIZE_POD: Final = Point[ResizePod]("resize_pod", ResizePod, flag=None, combine="largest")


class RestoredReservations(NamedTuple):
    """The Reservations of a session, for the tasks of one template, by the node that they keep capacity on."""

    matched: Mapping[NodeName, Sequence[ReservationView]]
    """Those that the tasks may use: what these keep on a node is given back to the tasks."""
    unmatched: Mapping[NodeName, Sequence[ReservationView]]
    """All others."""


class RestoreReservations(Protocol):
    """Once for a template, before `PRE_PREDICATE`, if the session has Reservations.

    Takes notice of the Reservations that the tasks may use, so that a plugin with books of its own can give back what
    they keep. A refusal leaves the tasks without a node. The views show later placements too.
    """

    def __call__(self, task: Task, reservations: RestoredReservations, /) -> Answer: ...


RESERVATION_RESTORE: Final = Point[RestoreReservations](
    "reservation_restore", RestoreReservations, flag=None, combine="all"
)


class FilterReservation(Protocol):
    """For each usable Reservation with enough capacity, whenever one of a node is nominated.

    Answers whether the task may use it; a text or a `Reason` refuses, and is counted in messages. Asked again when the
    task is placed.
    """

    def __call__(self, task: Task, reservation: ReservationView, /) -> Answer | Reason | str: ...


RESERVATION_FILTER: Final = Point[FilterReservation]("reservation_filter", FilterReservation, flag=None, combine="all")


class NominateReservation(Protocol):
    """When several Reservations of one node can serve a task.

    Answers the UID of one of them; None leaves the choice to the next function, and at last to the scores.
    """

    def __call__(self, task: Task, reservations: Sequence[ReservationView], /) -> TaskId | None: ...


RESERVATION_NOMINATE: Final = Point[NominateReservation](
    "reservation_nominate", NominateReservation, flag=None, combine="first"
)


class ScoreReservation(Protocol):
    """For each of several Reservations of one node, if no function nominates one.

    Answers the score of one Reservation: higher is better, by custom from 0 to 100. Ties go to the lowest name.
    """

    def __call__(self, task: Task, reservation: ReservationView, /) -> float: ...


RESERVATION_SCORE: Final = Point[ScoreReservation]("reservation_score", ScoreReservation, flag=None, combine="sum")


class ScoreOverNodes(Protocol):
    """Over arrays, as often as its locality says: how good nodes are for a task.

    Answers scores, shape (columns,); None adds nothing. Registered with a locality. Higher is better, by custom
    from 0 to 100 times a weight. Ties go to the lowest node name.
    """

    def __call__(self, task: Task, nodes: NodeColumns, /) -> FloatArray | None: ...


class ScoreOfNode(Protocol):
    """Over a task and a node, on all candidates.

    Answers the score of one node: higher is better. Registered without a locality, and asked anew for each task.
    """

    def __call__(self, task: Task, node: NodeView, /) -> float: ...


NODE_ORDER: Final = Point[ScoreOverNodes | ScoreOfNode](
    "node_order", ScoreOverNodes, ScoreOfNode, flag="enableNodeOrder", combine="sum"
)


class BatchNodeOrder(Protocol):
    """For all candidates of a task at once.

    Answers scores by node; nodes without one get 0. A refusal leaves the task without a node.
    """

    def __call__(self, task: Task, nodes: Sequence[NodeView], /) -> Mapping[NodeName, float] | Refusal: ...


BATCH_NODE_ORDER: Final = Point[BatchNodeOrder](
    "batch_node_order", BatchNodeOrder, flag="enableNodeOrder", combine="sum"
)


class NodeMap(Protocol):
    """First half of a normalised score, for each candidate.

    Answers the raw score of one node, which is floored to an integer. Counts only for a plugin that also registers
    `NODE_REDUCE`.
    """

    def __call__(self, task: Task, node: NodeView, /) -> float: ...


NODE_MAP: Final = Point[NodeMap]("node_map", NodeMap, flag="enableNodeOrder", combine="sum")


class NodeReduce(Protocol):
    """Second half of a normalised score, for all candidates.

    Edits the raw scores in place; they are added as they are then. Given the raw scores of the same plugin, by
    node.
    """

    def __call__(self, task: Task, scores: dict[NodeName, float], /) -> None: ...


NODE_REDUCE: Final = Point[NodeReduce]("node_reduce", NodeReduce, flag="enableNodeOrder", combine="sum")


class BestNode(Protocol):
    """For the scored candidates, when there are several; else the best score.

    Answers the node to take, of candidates by their score; None for no answer. Naming a node that is no candidate
    is a failure.
    """

    def __call__(self, task: Task, nodes: Mapping[float, Sequence[NodeView]], /) -> NodeName | None: ...


BEST_NODE: Final = Point[BestNode]("best_node", BestNode, flag="enableBestNode", combine="first")


class HyperNodeOrder(Protocol):
    """For the topology domains in which a sub-job fits.

    Answers scores by domain: higher is better. Given the nodes of each domain, by the name of the domain.
    """

    def __call__(self, sub_job: SubJob, domains: Mapping[str, Sequence[NodeName]], /) -> Mapping[str, float]: ...


HYPER_NODE_ORDER: Final = Point[HyperNodeOrder](
    "hyper_node_order", HyperNodeOrder, flag="enabledHyperNodeOrder", combine="sum"
)


class HyperNodeGradientForJob(Protocol):
    """Before a job is placed: which topology domains to try.

    Answers the domains inside another by level, the best level first. The purpose is `allocate` for domains with
    capacity, or `evict` for domains in which evictions can free capacity.
    """

    def __call__(self, job: SessionJob, domain: str, purpose: str, /) -> Sequence[Sequence[str]]: ...


HYPER_NODE_GRADIENT_FOR_JOB: Final = Point[HyperNodeGradientForJob](
    "hyper_node_gradient_for_job", HyperNodeGradientForJob, flag="enabledHyperNodeGradient", combine="first"
)


class HyperNodeGradientForSubJob(Protocol):
    """Before a sub-job is placed: which topology domains to try.

    Answers the domains inside another by level, the best level first. The purpose is as for a job.
    """

    def __call__(self, sub_job: SubJob, domain: str, purpose: str, /) -> Sequence[Sequence[str]]: ...


HYPER_NODE_GRADIENT_FOR_SUB_JOB: Final = Point[HyperNodeGradientForSubJob](
    "hyper_node_gradient_for_sub_job", HyperNodeGradientForSubJob, flag="enabledHyperNodeGradient", combine="first"
)


# Jobs and queues ------------------------------------------------------------------------------------------------------


class JobValid(Protocol):
    """Before an action takes up a job.

    Answers whether the job may be taken up. A refusal leaves the job alone in this cycle, and is its reason for
    waiting.
    """

    def __call__(self, job: SessionJob, /) -> Answer: ...


JOB_VALID: Final = Point[JobValid]("job_valid", JobValid, flag=None, combine="all")


class JobReady(Protocol):
    """After placements: may the statement be committed.

    Answers whether the job may start with what is placed. Asked of a job with the placements of the open statement.
    """

    def __call__(self, job: SessionJob, /) -> bool: ...


JOB_READY: Final = Point[JobReady]("job_ready", JobReady, flag="enableJobReady", combine="all")


class SubJobReady(Protocol):
    """After placements of a sub-job: may they stay.

    Answers whether the sub-job may start with what is placed. Asked of jobs whose PodGroup divides them; others ask
    `JOB_READY`.
    """

    def __call__(self, sub_job: SubJob, /) -> bool: ...


SUB_JOB_READY: Final = Point[SubJobReady]("sub_job_ready", SubJobReady, flag="enabledSubJobReady", combine="all")


class JobPipelined(Protocol):
    """May places that wait for released capacity be held.

    Answers a vote. Asked of a job that is not ready; yes where all abstain.
    """

    def __call__(self, job: SessionJob, /) -> Vote: ...


JOB_PIPELINED: Final = Point[JobPipelined]("job_pipelined", JobPipelined, flag="enableJobPipelined", combine="votes")


class SubJobPipelined(Protocol):
    """May places of a sub-job that wait for released capacity be held.

    Answers a vote. Asked of jobs whose PodGroup divides them; others ask `JOB_PIPELINED`.
    """

    def __call__(self, sub_job: SubJob, /) -> Vote: ...


SUB_JOB_PIPELINED: Final = Point[SubJobPipelined](
    "sub_job_pipelined", SubJobPipelined, flag="enabledSubJobPipelined", combine="votes"
)


class JobStarving(Protocol):
    """May evictions be made for this job.

    Answers whether the job lacks what it should have. No where no plugin answers.
    """

    def __call__(self, job: SessionJob, /) -> bool: ...


JOB_STARVING: Final = Point[JobStarving]("job_starving", JobStarving, flag="enableJobStarving", combine="first tier")


class JobEnqueueable(Protocol):
    """May a pending job with minimum resources pass the queue's gate.

    Answers a vote, or a refusal. A refusal is a reject with a reason; yes where all abstain.
    """

    def __call__(self, job: SessionJob, /) -> Vote | Refusal: ...


JOB_ENQUEUEABLE: Final = Point[JobEnqueueable](
    "job_enqueueable", JobEnqueueable, flag="enableJobEnqueued", combine="votes"
)


class JobEnqueued(Protocol):
    """When a job has passed the gate.

    Takes notice of it. The place to count what an admitted job is promised.
    """

    def __call__(self, job: SessionJob, /) -> None: ...


JOB_ENQUEUED: Final = Point[JobEnqueued]("job_enqueued", JobEnqueued, flag="enableJobEnqueued", combine="each")


class Overused(Protocol):
    """Before a queue is served: True or a refusal means it has had enough.

    Answers whether the queue has had enough. A refusal may be `lendable`: then it does not count while idle capacity is
    lent.
    """

    def __call__(self, queue: Queue, /) -> Answer: ...


OVERUSED: Final = Point[Overused]("overused", Overused, flag="enabledOverused", combine="any")


class Allocatable(Protocol):
    """Before a task is placed on behalf of its queue.

    Answers whether the queue may take one more task. A refusal may be `lendable`: then it does not count while idle
    capacity is lent. So limits are checked before shares.
    """

    def __call__(self, queue: Queue, task: Task, /) -> Answer: ...


ALLOCATABLE: Final = Point[Allocatable]("allocatable", Allocatable, flag="enabledAllocatable", combine="all")


class Preemptive(Protocol):
    """May the queue take capacity from others for these tasks.

    Answers whether the queue may take as much. The tasks are those that would be placed together.
    """

    def __call__(self, queue: Queue, tasks: Sequence[Task], /) -> Answer: ...


PREEMPTIVE: Final = Point[Preemptive]("preemptive", Preemptive, flag="enablePreemptive", combine="all")


class TargetJob(Protocol):
    """Never; reserved.

    Answers one of the jobs, or None for no answer. Volcano chooses a job here for which nodes are reserved.
    """

    def __call__(self, jobs: Sequence[SessionJob], /) -> SessionJob | None: ...


TARGET_JOB: Final = Point[TargetJob]("target_job", TargetJob, flag="enableTargetJob", combine="first")


class ReservedNodes(Protocol):
    """Never; reserved.

    Takes notice of it. Volcano reserves nodes here.
    """

    def __call__(self) -> None: ...


RESERVED_NODES: Final = Point[ReservedNodes](
    "reserved_nodes", ReservedNodes, flag="enableReservedNodes", combine="each"
)


# Victims --------------------------------------------------------------------------------------------------------------


class Preemptable(Protocol):
    """Which of the candidates may give way to a task of their own queue.

    Answers the candidates that may go, in the order in which they go. Candidates come first to go first. A
    candidate that is not named is protected, and the plugin is named for it.
    """

    def __call__(self, preemptor: Task, candidates: Sequence[Task], /) -> VictimAnswer: ...


PREEMPTABLE: Final = Point[Preemptable]("preemptable", Preemptable, flag="enablePreemptable", combine="victims")


class Reclaimable(Protocol):
    """Which of the candidates may give way to a task of another queue, or of another owner in one queue.

    Answers the candidates that may go, in the order in which they go. As for `PREEMPTABLE`; `QUEUE_SURPLUS` narrows
    what each tier names of other queues. See `within_queue` of `RegistrationOptions` for owners in one queue.
    """

    def __call__(self, reclaimer: Task, candidates: Sequence[Task], /) -> VictimAnswer: ...


RECLAIMABLE: Final = Point[Reclaimable]("reclaimable", Reclaimable, flag="enableReclaimable", combine="victims")


class UnifiedEvictable(Protocol):
    """Which of the candidates may give way to a whole gang.

    Answers the candidates that may go, in the order in which they go. As for `PREEMPTABLE`.
    """

    def __call__(self, eviction: GangEviction, candidates: Sequence[Task], /) -> VictimAnswer: ...


UNIFIED_EVICTABLE: Final = Point[UnifiedEvictable]("unified_evictable", UnifiedEvictable, flag=None, combine="victims")


class QueueSurplus(Protocol):
    """Which of the chosen victims of other queues belong to queues that have more than they deserve, in every tier.

    Answers the victims that may go. Asked for each tier that names victims.
    """

    def __call__(self, reclaimer: Task, victims: Sequence[Task], /) -> Iterable[Task]: ...


QUEUE_SURPLUS: Final = Point[QueueSurplus]("queue_surplus", QueueSurplus, flag=None, combine="limits")


class VictimTasks(Protocol):
    """Which running tasks should move (shuffle).

    Answers tasks, or moves with the names of rule and budget. Asked once in a cycle, by the action shuffle.
    `MOVABLE` narrows what is named.
    """

    def __call__(self, tasks: Sequence[Task], /) -> Iterable[Task | Move]: ...


VICTIM_TASKS: Final = Point[VictimTasks]("victim_tasks", VictimTasks, flag="enabledVictim", combine="union")


class Movable(Protocol):
    """Which of the tasks that should move may go now (shuffle).

    Answers the tasks that may go now. Given one task that `VICTIM_TASKS` named, or all tasks of its gang, which is
    evicted only if all of them may go. Evictions before it are in the session.
    """

    def __call__(self, tasks: Sequence[Task], /) -> Iterable[Task]: ...


MOVABLE: Final = Point[Movable]("movable", Movable, flag="enabledVictim", combine="limits")


# Elastic quotas -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaHook:
    """One entry of the argument `hookPlugins` of elastic-quota, as the plugin that it names is called for it."""

    key: str
    """Name of the entry."""
    args: str
    """Its `factoryArgs`."""
    quota: Callable[[str], QuotaFacts | None]
    """Returns the facts of a served quota by name; None if there is none."""


class QuotaCheck(Protocol):
    """Before a task is placed: may it use its quota, by an entry of `hookPlugins` that names the plugin.

    Answers whether the quota takes the task. Asked when its own limits permit the task, for each task.
    """

    def __call__(self, hook: QuotaHook, quota: str, task: Task, /) -> Answer: ...


QUOTA_CHECK: Final = Point[QuotaCheck]("quota_check", QuotaCheck, flag=None, combine="all")


class QuotaStatus(Protocol):
    """When a session is open: annotations for the object of a quota, by an entry of `hookPlugins` for the plugin.

    Answers annotations by key, at most 16 of 4096 characters each.
    """

    def __call__(self, hook: QuotaHook, quota: str, /) -> Mapping[str, str]: ...


QUOTA_STATUS: Final = Point[QuotaStatus]("quota_status", QuotaStatus, flag=None, combine="each")


ALL_POINTS: Final[tuple[Point[Any], ...]] = tuple(
    value for value in list(globals().values()) if isinstance(value, Point)
)
