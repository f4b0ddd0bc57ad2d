"""Wrong answers: whatever a plugin answers at whatever point, the cycle goes on and the plugin is named.

The tables have a row for each point of `contract.py`, and for each function that is registered otherwise; a
point without a row fails `test_each_point_has_a_row`.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pytest

from pyroclast import Plugin, Reason, Refusal, Session
from pyroclast.framework.cycle import run_cycle
from pyroclast.framework.extension import answers, contract
from pyroclast.framework.extension.contract import Locality, Point
from pyroclast.model.counted import COUNTED
from pyroclast.model.ids import TaskId
from pyroclast.model.report import CycleReport
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.model.texts import MOST_CHARACTERS
from pyroclast.testing import Scenario
from pyroclast.testing.cluster import cluster_of
from pyroclast.testing.configuration import configured
from tests.elastic_quotas import elastic_quota, uses
from tests.hypernodes import rack
from tests.reservations import reservation
from tests.unit.framework.asking import Saying, always

# Answers --------------------------------------------------------------------------------------------------------------


class Unprintable(Exception):  # noqa: N818  # no error of ours
    """An exception whose text raises."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises."""

    def ask(*_: Any) -> Any:
        raise error

    return ask


def saying(answer: Callable[[], Any]) -> Callable[..., Any]:
    """Return a function that gives an answer, made anew each time."""
    return lambda *_: answer()


def breaking_off() -> Any:
    """Yield something, then raise."""
    yield "n0"
    raise RuntimeError("in the middle")


def takes_turns() -> Callable[..., Any]:
    """Return a function whose answers do not compare with each other."""
    turns = [None, "a"]

    def ask(*_: Any) -> Any:
        turns.append(turns.pop(0))
        return turns[0]

    return ask


KINDS: Final[Mapping[str, Callable[[], Callable[..., Any]]]] = {
    kind: (lambda function=function: function)
    for kind, function in {
        "none": saying(lambda: None),
        "false": saying(lambda: False),
        "text": saying(lambda: "much"),
        "number": saying(lambda: 7),
        "not a number": saying(lambda: float("nan")),
        "infinity": saying(lambda: float("inf")),
        "list": saying(lambda: [1, None, "a"]),
        "empty list": saying(list),
        "pair": saying(lambda: (1, 2)),
        "empty mapping": saying(dict),
        "mapping": saying(lambda: {1: "a", "n0": None}),
        "set": saying(lambda: {"a"}),
        "array": saying(lambda: np.array([1.0, 2.0, 3.0, 4.0, 5.0])),
        "array of texts": saying(lambda: np.array(["a", "b"])),
        "object": saying(object),
        "generator that breaks off": saying(breaking_off),
        "refusal of no texts": saying(lambda: Refusal(plugin=3, reason=None, message=[])),  # type: ignore[arg-type]  # the fault
        "reason of no text": saying(lambda: Reason(None)),  # type: ignore[arg-type]  # the fault
        "reason of half a surrogate pair": saying(lambda: Reason("\ud800")),
        "text of half a surrogate pair": saying(lambda: "\ud800"),
        "mapping to half a surrogate pair": saying(lambda: {"a": "\ud800"}),
        "mapping of a key with a space": saying(lambda: {"a b": "c"}),
        "annotation of counted amounts": saying(lambda: {COUNTED: "much"}),
        "use of no identifiers": saying(lambda: ReservationUse(usable=([],))),  # type: ignore[arg-type]  # the fault
        "use of one text": saying(lambda: ReservationUse(usable="uid")),  # type: ignore[arg-type]  # the fault
        "use with a number": saying(lambda: ReservationUse(is_required=7)),  # type: ignore[arg-type]  # the fault
        "view of labels of numbers": saying(lambda: contract.View(labels={1: 2})),  # type: ignore[dict-item]  # the fault
        "view of no amounts": saying(lambda: contract.View(request={"cpu": "much"})),  # type: ignore[dict-item]  # the fault
        "exception": raising(RuntimeError("broken")),
        "long exception": raising(RuntimeError("broken" * 1_000_000)),
        "exception without text": raising(Unprintable()),
        "SystemExit": raising(SystemExit(3)),
        "KeyboardInterrupt": raising(KeyboardInterrupt()),
        "CancelledError": raising(asyncio.CancelledError()),
    }.items()
} | {"turns": takes_turns}
"""What makes a function that answers in some way."""

RAISED: Final = frozenset({"exception", "long exception", "exception without text"})
"""About what was asked alone; the plugin is asked about the next."""
UNKNOWN_NAMES: Final = frozenset({"text", "turns"})
"""Answers of the right type, and no node: one for each question, likewise."""
EXITS: Final = frozenset({"SystemExit", "KeyboardInterrupt", "CancelledError"})
BOOLEAN: Final = frozenset({"false"})
ANSWER: Final = frozenset({"none", "false"})
NUMBER: Final = frozenset({"false", "number"})
KEYS: Final = frozenset(
    {"none", "false", "text", "text of half a surrogate pair", "number", "infinity", "list", "empty list", "pair"}
)
"""Keys that compare with their like."""
EMPTY: Final = frozenset({"empty list"})
NONE: Final = frozenset({"none"})
ANYTHING: Final = frozenset(KINDS) - RAISED - EXITS


# Clusters -------------------------------------------------------------------------------------------------------------

ODD: Final = "odd"
"""The plugin under test."""


class Ground:
    """A cluster and a configuration, made once, in which a plugin may register what a test says."""

    def __init__(
        self,
        scenario: Scenario,
        actions: str,
        *tiers: Sequence[Any],
        arguments: Mapping[str, Mapping[str, Any]] | None = None,
        sound: "Callable[[Session], None]" = lambda _: None,
    ) -> None:
        chosen = [[Registering if each == ODD else each for each in tier] for tier in tiers]
        self._parsed, self._registry = configured(actions.split(), chosen, arguments or {})
        self._snapshot = cluster_of(scenario.objects, shard_mode="none", shard="", warnings=[]).snapshot()
        self.sound = self.decide(sound)
        """What is decided beside a plugin that has nothing to say: it registers nothing, or what `sound` registers."""

    def decide(self, register: Callable[[Session], None]) -> CycleReport:
        """Run a cycle with what the plugin registers."""
        Registering.register = staticmethod(register)
        report, _ = run_cycle(self._snapshot, self._parsed.configuration, registry=self._registry, now=2e9)
        return report


class Registering(Plugin):
    """A plugin that registers what the test says that is running."""

    name = ODD
    watches_clock = False
    filters_nodes = False
    register: Callable[[Session], None]

    def on_session_open(self, session: Session) -> None:
        """Register."""
        Registering.register(session)


def parts() -> Scenario:
    """A node, and a job of two sub-jobs."""
    policy = [{"name": "part", "subGroupSize": 2, "matchLabelKeys": ["part"], "minSubGroups": 0}]
    scenario = Scenario().node("n1", cpu=4).job("a", tasks=0, min_available=3, group={"subGroupPolicy": policy})
    for number, part in enumerate("xxyy"):
        scenario = scenario.pod(f"a-{number}", job="a", labels={"part": part})
    return scenario


RACK_NAMES: Final = ("r0", "r1", "r2")


def racks() -> Scenario:
    """Racks of two nodes for a pod each, and a job of two pods that must share one."""
    scenario = Scenario()
    for name in RACK_NAMES:
        nodes = [f"{name}-n{number}" for number in range(2)]
        for node in nodes:
            scenario = scenario.node(node, cpu=1)
        scenario = scenario.add(rack(name, *nodes))
    return scenario.job("a", tasks=2, group={"networkTopology": {"mode": "hard", "highestTierAllowed": 1}})


CLUSTER = (
    Scenario()
    .node("n0", cpu=4)
    .node("n1", cpu=4)
    .queue("red")
    .queue("green")
    .job("pair", tasks=2, queue="red", min_resources={"cpu": 1})
    .job("many", tasks=4, queue="green", min_available=1)
    .job("light", tasks=1, queue="green", cpu=None)
    .job("huge", tasks=3, cpu=9, queue="red")
)
ONE_QUEUE = (
    Scenario()
    .node("n0", cpu=2)
    .queue("red")
    .job("low", tasks=2, queue="red", min_available=1, running_on=("n0", "n0"), priority=1)
    .job("high", tasks=1, queue="red", priority=9, phase="Inqueue")
)
THREE_QUEUES = (
    Scenario()
    .queue("red")
    .queue("blue")
    .queue("mine")
    .node("n1", cpu=4)
    .running("r", on=["n1"] * 2, queue="red")
    .running("b", on=["n1"] * 2, queue="blue")
    .job("a", queue="mine", phase="Inqueue")
    .job("c", queue="mine", min_resources={"cpu": 1})
)
GIVES = Saying(
    "gives",
    {
        point: lambda _, candidates: candidates
        for point in (contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE)
    },
)
NAMES = Saying("names", {contract.VICTIM_TASKS: lambda tasks: tasks})
LEVELS = Saying("levels", {contract.HYPER_NODE_GRADIENT_FOR_JOB: lambda *_: [list(RACK_NAMES)]})
UNREADY = Saying("unready", {contract.SUB_JOB_READY: always(False)})
GANG = {"name": "gang", "enabledSubJobReady": False, "enabledSubJobPipelined": False}

PLACING = Ground(CLUSTER, "enqueue allocate backfill", (ODD, "gang", "predicates"))
RESERVING = Ground(CLUSTER.add(reservation("r", node="n1")), "enqueue allocate backfill", (ODD, "gang", "predicates"))
USES = Saying("uses", {contract.RESERVATION_USE: lambda _: ReservationUse(usable=(TaskId("uid-r"), TaskId("uid-s")))})
NOMINATING = Ground(
    CLUSTER.add(reservation("r", cpu=2, node="n1"), reservation("s", cpu=2, node="n1")),
    "enqueue allocate backfill",
    (ODD, USES, "gang", "predicates"),
)
IN_PARTS = Ground(parts(), "allocate", (GANG, ODD))
IN_PARTS_UNREADY = Ground(parts(), "allocate", (GANG, UNREADY, ODD))
IN_RACKS = Ground(racks(), "allocate", ("gang", "predicates", ODD))
IN_LEVELS = Ground(racks(), "allocate", ("gang", LEVELS, ODD))
IN_QUOTAS = Ground(
    Scenario().node("n0", cpu=4).add(elastic_quota("team", most={"cpu": 4})).job("a", tasks=2, labels=uses("team")),
    "enqueue allocate",
    ("gang", "predicates", "elastic-quota", ODD),
    arguments={"elastic-quota": {"hookPlugins": [{"key": "hook", "factoryKey": ODD}]}},
    sound=lambda session: session.extensions.register(contract.QUOTA_STATUS, ODD, lambda *_: {}),
)
PREEMPTING = Ground(ONE_QUEUE, "allocate preempt", (ODD, "priority", "gang", "predicates"))
PREEMPTING_GANGS = Ground(ONE_QUEUE, "allocate gangpreempt", (ODD, "priority", "gang", "predicates"))
RECLAIMING = Ground(THREE_QUEUES, "enqueue allocate reclaim", ("gang", GIVES, ODD))
ADMITTING = Ground(THREE_QUEUES, "enqueue reclaim", ("gang", "overcommit", "proportion", GIVES, ODD))
UNDOING = Ground(Scenario().node("n0", cpu=3).job("a", tasks=2, cpu=2), "allocate", ("gang", ODD))
SPARING = Ground(
    Scenario()
    .node("n0", cpu=3)
    .job("low", tasks=3, min_available=1, running_on=("n0",) * 3, priority=1)
    .job("high", tasks=1, cpu=2, priority=9, phase="Inqueue"),
    "allocate preempt",
    (ODD, "priority", "gang", "predicates"),
)
SHUFFLING = Ground(THREE_QUEUES, "shuffle", (NAMES, ODD))
SHUFFLING_ALONE = Ground(THREE_QUEUES, "shuffle", (ODD,))


# Points ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Row:
    """A function that plugins register: where it is asked, and which answers are not wrong."""

    ground: Ground
    right: Collection[str]
    register: Callable[[Session, Callable[..., Any]], None]
    refuses: bool = True
    """Whether a plugin that fails may change what is decided, since it refuses; else all goes on as without it."""


def row(point: Point[Any], ground: Ground, right: Collection[str], *, refuses: bool = True, **options: Any) -> Row:
    """Return the row of a point."""
    return Row(
        ground=ground,
        right=right,
        refuses=refuses,
        register=lambda session, function: session.extensions.register(point, ODD, function, **options),
    )


def advice(point: Point[Any], ground: Ground, right: Collection[str], **options: Any) -> Row:
    """Return the row of a point that orders and prefers."""
    return row(point, ground, right, refuses=False, **options)


def half(point: Point[Any], other: Point[Any], function: Callable[..., Any], right: Collection[str]) -> Row:
    """Return the row of one of the two halves of a score."""

    def register(session: Session, asked: Callable[..., Any]) -> None:
        session.extensions.register(other, ODD, function)
        session.extensions.register(point, ODD, asked)

    return Row(ground=PLACING, right=right, register=register, refuses=False)


UNASKED: Final = frozenset({"cluster_order", "target_job", "reserved_nodes"})
"""Reserved points: never asked."""

ROWS: Final[Mapping[str, Row]] = {
    "job_order": advice(contract.JOB_ORDER, PLACING, KEYS),
    "queue_order": advice(contract.QUEUE_ORDER, PLACING, KEYS),
    "victim_queue_order": advice(contract.VICTIM_QUEUE_ORDER, RECLAIMING, NUMBER),
    "task_order": advice(contract.TASK_ORDER, PLACING, KEYS),
    "sub_job_order": advice(contract.SUB_JOB_ORDER, IN_PARTS, KEYS),
    "cluster_order": advice(contract.CLUSTER_ORDER, PLACING, KEYS),
    "before_pre_filter": row(contract.BEFORE_PRE_FILTER, PLACING, NONE),
    "after_pre_filter": row(contract.AFTER_PRE_FILTER, PLACING, NONE),
    "before_filter": row(contract.BEFORE_FILTER, PLACING, NONE),
    "before_score": advice(contract.BEFORE_SCORE, PLACING, NONE),
    "after_post_filter": row(contract.AFTER_POST_FILTER, PLACING, NONE, refuses=False),
    "pre_predicate": row(contract.PRE_PREDICATE, PLACING, ANSWER),
    "predicate": row(contract.PREDICATE, PLACING, ANSWER | {"text", "turns"}),
    "node_order": advice(contract.NODE_ORDER, PLACING, NUMBER),
    "batch_node_order": advice(contract.BATCH_NODE_ORDER, PLACING, {"empty mapping"}),
    "node_map": half(contract.NODE_MAP, contract.NODE_REDUCE, always(None), NUMBER),
    "node_reduce": half(contract.NODE_REDUCE, contract.NODE_MAP, always(1.0), NONE),
    "best_node": advice(contract.BEST_NODE, PLACING, NONE),
    "reservation_use": advice(contract.RESERVATION_USE, RESERVING, NONE),
    "resize_pod": row(contract.RESIZE_POD, PLACING, {"none", "empty mapping"}),
    "reservation_restore": row(contract.RESERVATION_RESTORE, NOMINATING, ANSWER),
    "reservation_filter": row(contract.RESERVATION_FILTER, NOMINATING, ANSWER | {"text", "turns"}),
    "reservation_nominate": advice(contract.RESERVATION_NOMINATE, NOMINATING, NONE),
    "reservation_score": advice(contract.RESERVATION_SCORE, NOMINATING, NUMBER),
    "hyper_node_order": advice(contract.HYPER_NODE_ORDER, IN_LEVELS, {"empty mapping"}),
    "hyper_node_gradient_for_job": row(contract.HYPER_NODE_GRADIENT_FOR_JOB, IN_RACKS, EMPTY),
    "hyper_node_gradient_for_sub_job": row(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB, IN_LEVELS, EMPTY),
    "job_valid": row(contract.JOB_VALID, PLACING, ANSWER),
    "job_ready": row(contract.JOB_READY, PLACING, BOOLEAN),
    "sub_job_ready": row(contract.SUB_JOB_READY, IN_PARTS, BOOLEAN),
    "job_pipelined": row(contract.JOB_PIPELINED, PLACING, NONE),
    "sub_job_pipelined": row(contract.SUB_JOB_PIPELINED, IN_PARTS_UNREADY, NONE),
    "job_starving": row(contract.JOB_STARVING, PREEMPTING, BOOLEAN),
    "job_enqueueable": row(contract.JOB_ENQUEUEABLE, PLACING, NONE),
    "job_enqueued": row(contract.JOB_ENQUEUED, PLACING, ANYTHING),
    "overused": row(contract.OVERUSED, PLACING, ANSWER),
    "allocatable": row(contract.ALLOCATABLE, PLACING, ANSWER),
    "preemptive": row(contract.PREEMPTIVE, RECLAIMING, ANSWER),
    "target_job": advice(contract.TARGET_JOB, PLACING, ANYTHING),
    "reserved_nodes": row(contract.RESERVED_NODES, PLACING, ANYTHING),
    "preemptable": row(contract.PREEMPTABLE, PREEMPTING, EMPTY),
    "reclaimable": row(contract.RECLAIMABLE, RECLAIMING, EMPTY),
    "unified_evictable": row(contract.UNIFIED_EVICTABLE, PREEMPTING_GANGS, EMPTY),
    "queue_surplus": row(contract.QUEUE_SURPLUS, RECLAIMING, EMPTY),
    "victim_tasks": row(contract.VICTIM_TASKS, SHUFFLING_ALONE, EMPTY),
    "movable": row(contract.MOVABLE, SHUFFLING, EMPTY),
    "quota_check": row(contract.QUOTA_CHECK, IN_QUOTAS, ANSWER),
    "quota_status": row(
        contract.QUOTA_STATUS, IN_QUOTAS, {"empty mapping", "annotation of counted amounts"}, refuses=False
    ),
}


def test_each_point_has_a_row() -> None:
    """A new point is tried with every kind of answer, and its answers are read."""
    assert set(ROWS) == {point.name for point in contract.ALL_POINTS} == set(answers.READ_POINTS)


class Ledger(contract.Ledger):
    """A ledger of which one function is given."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.__dict__.update(functions)

    def apply(self, _change: Any) -> None:
        """Count nothing."""

    def revert(self, _change: Any) -> None:
        """Count nothing."""

    def chooses_for(self, _task: Any) -> bool:
        """Choose for none."""
        return False


class Slots(contract.Allocator):
    """An allocator of which one function is given. Others give nothing, to each task on each node."""

    def __init__(self, functions: Mapping[str, Callable[..., Any]], *, aligns: bool = False) -> None:
        self.__dict__.update(functions)
        self.aligns = aligns

    def concerns(self, _task: Any) -> bool:
        """All."""
        return True

    def allocate(self, *_: Any, dry_run: bool) -> contract.Allocation:  # noqa: ARG002  # as in `Allocator`
        """Nothing."""
        return contract.Allocation()

    def free(self, *_: Any) -> contract.Allocation:
        """The same."""
        return contract.Allocation()

    def give(self, *_: Any) -> None:
        """Take notice of nothing."""


class Groups:
    """Scores by groups of which one function is given."""

    def __init__(self, **functions: Callable[..., Any]) -> None:
        self.__dict__.update(functions)
        self.groups, self.group_count = np.zeros(2, dtype=np.int64), 1

    def scores(self, _candidates: Any) -> Any:
        """Score all groups alike."""
        return np.zeros(1)

    def place(self, _group: int, _column: int) -> None:
        """Suppose nothing."""


def ones(_task: Any, columns: Any) -> Any:
    """Score nodes by their column."""
    return columns.index + 1.0


def beside(point: Point[Any], ground: Ground, right: Collection[str], part: str, function: Any, **options: Any) -> Row:
    """Return the row of a function that is registered beside one of a point."""
    return Row(
        ground=ground,
        right=right,
        register=lambda session, asked: session.extensions.register(point, ODD, function, **{part: asked, **options}),
        refuses=point.combine != "sum",
    )


def method(name: str, right: Collection[str]) -> Row:
    """Return the row of a function that is registered by a method of the extensions."""
    return Row(
        ground=PLACING, right=right, register=lambda session, asked: getattr(session.extensions, name)(ODD, asked)
    )


def of_ledger(right: Collection[str], name: str) -> Row:
    """Return the row of a function of a ledger."""
    return Row(
        ground=UNDOING if name == "revert" else PLACING,
        right=right,
        register=lambda session, asked: session.extensions.register_ledger(ODD, Ledger(**{name: asked})),
    )


def of_allocator(name: str, ground: Ground, right: Collection[str]) -> Row:
    """Return the row of a function of an allocator."""

    def register(session: Session, asked: Callable[..., Any]) -> None:
        function = (lambda *about, dry_run: asked(*about, dry_run)) if name == "allocate" else asked
        session.extensions.register_allocator(ODD, Slots({name: function}))

    return Row(ground=ground, right=right, register=register)


def numa_plan(session: Session, asked: Callable[..., Any]) -> None:
    """Register a plan for what an allocator gives."""
    session.extensions.register_allocator(ODD, Slots({}, aligns=True))
    session.extensions.register_numa_plan(ODD, asked)


def numa_hints(session: Session, asked: Callable[..., Any]) -> None:
    """Register hints, and a plan that asks for them."""

    def plan(task: Any, column: int, in_future: bool) -> int:  # as in `NumaPlan`
        session.extensions.numa_hints(task, column, [0, 1], in_future=in_future)
        return 1

    numa_plan(session, plan)
    session.extensions.register_numa_hints(ODD, asked)


OTHERS: Final[Mapping[str, Row]] = {
    "normalise": beside(contract.NODE_ORDER, PLACING, (), "normalise", ones, locality=Locality.FACTS),
    "cares": beside(contract.NODE_ORDER, PLACING, BOOLEAN, "cares", always(None), locality=Locality.GLOBAL),
    "headroom": beside(contract.ALLOCATABLE, PLACING, {"number"}, "headroom", always(True)),
    "kind": beside(
        contract.ALLOCATABLE,
        PLACING,
        ANYTHING
        - {"list", "empty list", "empty mapping", "mapping", "set", "array", "array of texts", "refusal of no texts"}
        - {"mapping to half a surrogate pair", "mapping of a key with a space", "use of no identifiers"}
        - {"annotation of counted amounts"},
        "kind",
        always(True),
        headroom=always(9),
    ),
    "missing": beside(contract.JOB_READY, PLACING, {"number"}, "missing", always(True)),
    "grouped": beside(contract.NODE_ORDER, PLACING, NONE, "grouped", always(None), locality=Locality.GLOBAL),
    "many": beside(contract.PREDICATE, PLACING, {"array of texts"}, "many", always(True)),
    "queues": beside(
        contract.RECLAIMABLE,
        ADMITTING,
        {"empty list", "set", "empty mapping", "array of texts", "mapping to half a surrogate pair"}
        | {"mapping of a key with a space", "annotation of counted amounts"},
        "queues",
        lambda _, tasks: tasks,
    ),
    "annotations": method("register_annotations", {"empty mapping"}),
    "labels": method("register_labels", {"empty mapping", "annotation of counted amounts"}),
    "plan_annotations": method("register_plan_annotations", {"empty mapping"}),
    "preparations": method("register_preparations", EMPTY),
    "delegate": method("register_delegate", BOOLEAN),
    "apply": of_ledger(NONE, "apply"),
    "revert": of_ledger(ANYTHING, "revert"),
    "allocator concerns": of_allocator("concerns", PLACING, BOOLEAN),
    "allocator allocate": of_allocator("allocate", PLACING, {"text"}),
    "allocator free": of_allocator("free", UNDOING, NONE),
    "allocator give": of_allocator("give", SPARING, ANYTHING),
    "numa_plan": Row(ground=PLACING, right=NONE | {"number"}, register=numa_plan),
    "numa_hints": Row(ground=PLACING, right=NONE | {"empty mapping"}, register=numa_hints),
    "on_opened": method("on_opened", ANYTHING),
    "on_close": method("on_close", ANYTHING),
}


class Asked:
    """A function of a plugin that counts how often it is asked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.times = 0

    def __call__(self, *about: Any) -> Any:
        """Count, and answer."""
        self.times += 1
        return self._function(*about)


def faults_of(row: Row) -> dict[str, str]:
    """Return by kind of answer what came of it that should not have."""
    found = {kind: fault_of(row, kind) for kind in KINDS}
    return {kind: fault for kind, fault in found.items() if fault}


def fault_of(row: Row, kind: str) -> str:
    """Return what came of one kind of answer that should not have; empty where nothing did."""
    asked = Asked(KINDS[kind]())
    report = row.ground.decide(lambda session: row.register(session, asked))
    if not asked.times:
        return "it was not asked"
    if set(report.failures) != (set() if kind in row.right else {ODD}):
        return f"{list(report.failures)} failed"
    if kind in row.right:
        return ""
    message = report.failures[ODD].message
    if not message.startswith("plugin odd failed: ") or len(message) > MOST_CHARACTERS + 100:
        return f"the message is {message[:200]}"
    if [dict(each.labels) for each in report.samples if each.metric == "plugin_failures_total"] != [{"plugin": ODD}]:
        return "the failure is not counted"
    if kind not in RAISED | UNKNOWN_NAMES and asked.times > (2 if kind == "turns" else 1):
        return "it was asked again after a wrong answer"
    if not row.refuses and decided(report) != decided(row.ground.sound):
        return "another decision"
    return ""


def decided(report: CycleReport) -> Sequence[tuple[str, str]]:
    """Return which pods are bound and evicted, and where."""
    return sorted(
        [(bind.name, bind.node) for plan in report.plans for bind in plan.binds]
        + [(each.name, "") for plan in report.plans for each in plan.evictions]
    )


@pytest.mark.parametrize("name", [each for each in ROWS if each not in UNASKED])
def test_each_point(name: str) -> None:
    """The cycle comes to its end; a wrong answer names the plugin, which is not asked again."""
    assert faults_of(ROWS[name]) == {}


@pytest.mark.parametrize("name", OTHERS)
def test_each_other_function(name: str) -> None:
    """The same of what is registered otherwise."""
    assert faults_of(OTHERS[name]) == {}


def test_a_wrong_order_goes_on_without_the_keys_given_before() -> None:
    """Keys that do not compare leave the order to the next plugin."""
    report = PLACING.decide(lambda session: session.extensions.register(contract.JOB_ORDER, ODD, takes_turns()))

    assert decided(report) == decided(PLACING.sound)


class Exits(contract.Action):
    """An action from outside that ends the program."""

    def execute(self, _session: Session) -> None:
        """Exit."""
        raise SystemExit(3)


def test_an_action_from_outside_that_fails_is_named_and_the_next_one_runs() -> None:
    """Its place in the configuration is after enqueue; allocate binds all the same."""
    parsed, registry = configured(["enqueue", "allocate"], ["gang"], {})
    registry.register_action("exits", Exits, source="the test")
    profile = replace(parsed.configuration.profiles[0], actions=("exits", "allocate"))
    snapshot = cluster_of(CLUSTER.objects, shard_mode="none", shard="", warnings=[]).snapshot()
    configuration = replace(parsed.configuration, profiles=(profile,))
    report, _ = run_cycle(snapshot, configuration, registry=registry, now=2e9)

    assert report.failures["action exits"].message == "plugin action exits failed: SystemExit: 3"
    assert decided(report)


@pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "exception without text"])
def test_a_plugin_that_cannot_be_opened_is_left_out(kind: str) -> None:
    """Whatever it raises, it is named, and all goes on without it."""
    report = PLACING.decide(KINDS[kind]())

    assert list(report.failures) == [ODD]
    assert decided(report) == decided(PLACING.sound)
