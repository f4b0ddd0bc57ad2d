"""Answers: validation of what external plugins return at each extension point.

A reader takes an answer and what was asked about. It returns the answer as the session uses it, or raises `TypeError`
or `ValueError` with what was expected. What it returns belongs to the session: arrays and mappings are copies.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from fractions import Fraction
from typing import Any, Final

import msgspec
import numpy as np

from pyroclast.framework.extension.contract import Addend, Allocation, Locality, Move, NumaHint, View, Vote
from pyroclast.framework.extension.votes import LAST
from pyroclast.model.counted import COUNTED, MOST_RESOURCES
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.label_keys import is_annotation_key, is_label_key, is_label_value
from pyroclast.model.matching.bounds import beyond_bounds
from pyroclast.model.nodes import Node, NodeFacts
from pyroclast.model.plan import Preparation
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.reservations.use import ReservationUse
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened
from pyroclast.model.wire import PodSpec
from pyroclast.model.wire.sealing import seal

__all__ = ["READ_PARTS", "READ_POINTS", "Reader", "anything", "number", "part_reader", "reader_of"]

Reader = Callable[[Any, Sequence[Any]], Any]
"""Given an answer and what was asked about; returns the answer as the session uses it."""

_MOST_HINTED: Final = 64
"""Maximum number of NUMA nodes, and of resources with hints."""
_MOST_ADDENDS: Final = 32
"""Maximum number of weighted scores that one function adds up."""
_LONGEST_KEY_SHOWN: Final = 100
_MOST_LABELS: Final = 64
"""Maximum number of labels that a plugin adds to a pod."""
_MOST_VIEW_BYTES: Final = 1 << 18
"""Maximum size of the labels, of the annotations, and of the specification of a view: that of annotations of a pod."""
_MOST_AMOUNT: Final = 1 << 53
"""Maximum amount in a view, so that sums of amounts do not overflow."""
_MOST_VIEW_RESOURCES: Final = 1024
"""Maximum number of resources that the request of a view names."""
_INTEGERS: Final = "biu"
_NUMBERS: Final = "biuf"
"""Kinds of numpy's types."""


def reader_of(point: str, *, locality: Locality | None, reasons: int | None) -> Reader:
    """Return a new reader for one function of a point.

    Args:
        point: Name of the point.
        locality: Locality of a function over arrays; None for a function of one task and one node.
        reasons: Number of reasons that verdicts may refer to; None if that differs by task.
    """
    make = READ_POINTS[point]
    return make(locality, reasons)


def part_reader(part: str) -> Reader:
    """Return the reader for a function that is registered beside one of a point, by its name in `Registered`."""
    return READ_PARTS[part]


def anything(_answer: Any, _about: Sequence[Any]) -> None:
    """Read what has no meaning."""


def number(value: Any) -> float:
    """Return a finite number; raises TypeError or ValueError."""
    if not isinstance(value, (int, float, Fraction, np.number, np.bool_)) or isinstance(value, np.complexfloating):
        raise _expected("a number", value)
    found = float(value)
    if not math.isfinite(found):
        raise ValueError(f"{found} is no finite number")
    return found


def _expected(what: str, got: Any) -> TypeError:
    return TypeError(f"expected {what}, got {_kind_name(got)}")


def _kind_name(got: Any) -> str:
    return "None" if got is None else type(got).__name__


# Single values --------------------------------------------------------------------------------------------------------


def _boolean(value: Any, _about: Sequence[Any] = ()) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _expected("a boolean", value)
    return bool(value)


def _count(value: Any, _about: Sequence[Any]) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise _expected("a whole number", value)
    return max(int(value), 0)


def _sign(value: Any, _about: Sequence[Any]) -> int:
    found = number(value)
    return (found > 0) - (found < 0)


def _score(value: Any, _about: Sequence[Any]) -> float:
    return number(value)


def _vote(value: Any, _about: Sequence[Any] = ()) -> Vote | Refusal:
    if isinstance(value, Refusal):
        return _refusal(value)
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise _expected("a vote", value)
    return Vote(int(value))


def _vote_or_none(value: Any, _about: Sequence[Any]) -> Vote | Refusal:
    return Vote.ABSTAIN if value is None else _vote(value)


def _answer(value: Any, _about: Sequence[Any]) -> bool | Refusal | None:
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, Refusal):
        return _refusal(value)
    raise _expected("a boolean, None or a refusal", value)


def _answer_of_node(value: Any, _about: Sequence[Any]) -> bool | Reason | Refusal | None:
    if isinstance(value, str):
        return Reason(shortened(_text(value)))
    if isinstance(value, Reason):
        return _reason(value)
    return _answer(value, ())


def _name_or_none(value: Any, _about: Sequence[Any]) -> str | None:
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _expected("a text", value)
    value.encode()  # raises where there is half a surrogate pair, which neither records nor the API server can hold
    return value


def _reason(value: Any) -> Reason:
    if not isinstance(value, Reason):
        raise _expected("a reason", value)
    return Reason(shortened(_text(value.text)), _boolean(value.resolvable), _amounts(value.amounts))


def _refusal(value: Refusal) -> Refusal:
    """Return a refusal whose fields have their declared types, since they end in messages and records."""
    return Refusal(
        plugin=_text(value.plugin),
        reason=_text(value.reason),
        message=shortened(_text(value.message)),
        counts={_text(key): int(count) for key, count in _mapping(value.counts).items()},
        resolvable=_boolean(value.resolvable),
        action=_text(value.action),
        amounts=_amounts(value.amounts),
        lendable=_boolean(value.lendable),
        details=shortened(_text(value.details)),
        fits_when=tuple(JobId(_text(job)) for job in _list(value.fits_when)),
    )


def _amounts(value: Any) -> dict[str, tuple[int, int]]:
    return {_text(key): (int(requested), int(there)) for key, (requested, there) in _mapping(value).items()}


def _hashable(value: Any, _about: Sequence[Any]) -> Any:
    hash(value)
    return value


# Several values -------------------------------------------------------------------------------------------------------


def _mapping(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise _expected("a mapping", value)
    return value


def _list(value: Any) -> list[Any]:
    """Read a sequence whole, since it may fail while it is read; a set has no order that decisions could follow."""
    if isinstance(value, (str, bytes, Mapping, AbstractSet)) or not isinstance(value, Iterable):
        raise _expected("a list", value)
    return list(value)


def _scores_by_name(value: Any, _about: Sequence[Any] = ()) -> dict[str, float]:
    return {_text(name): number(score) for name, score in _mapping(value).items()}


def _scores_or_refusal(value: Any, _about: Sequence[Any]) -> dict[str, float] | Refusal:
    return _refusal(value) if isinstance(value, Refusal) else _scores_by_name(value)


def _nothing(value: Any, _about: Sequence[Any]) -> None:
    if value is not None:
        raise _expected("None", value)


def _task(value: Any) -> Task:
    if not isinstance(value, Task):
        raise _expected("a task", value)
    return value


def _tasks(value: Any, _about: Sequence[Any] = ()) -> list[Task]:
    return [_task(each) for each in _list(value)]


def _victims(value: Any, _about: Sequence[Any]) -> list[Task] | tuple[list[Task], Vote | Refusal]:
    if isinstance(value, tuple):
        chosen, vote = value
        return _tasks(chosen), _vote(vote)
    return _tasks(value)


def _moves(value: Any, _about: Sequence[Any]) -> list[Task | Move]:
    return [_move(each) for each in _list(value)]


def _move(value: Any) -> Task | Move:
    if isinstance(value, Move):
        return Move(
            task=_task(value.task),
            strategy=_text(value.strategy),
            budget=_text(value.budget),
            takes_gangs=_boolean(value.takes_gangs),
            breaks_gangs=_boolean(value.breaks_gangs),
        )
    return _task(value)


def _levels(value: Any, _about: Sequence[Any]) -> list[list[str]]:
    return [[_text(name) for name in _list(level)] for level in _list(value)]


def _names(value: Any, _about: Sequence[Any]) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Collection):
        raise _expected("a collection of names", value)
    return sorted(map(_text, value))


def _reasons(value: Any, _about: Sequence[Any]) -> list[Reason]:
    return [_reason(each) for each in _list(value)]


def _answers_of_nodes(value: Any, about: Sequence[Any]) -> list[Any]:
    answers = [_answer_of_node(each, ()) for each in _list(value)]
    if len(answers) != len(about[1]):
        raise ValueError(f"{len(answers)} answers about {len(about[1])} nodes")
    return answers


def _texts(value: Any, _about: Sequence[Any] = ()) -> dict[str, str]:
    return {_text(key): _text(text) for key, text in _mapping(value).items()}


def _annotations(value: Any, _about: Sequence[Any] = ()) -> dict[str, str]:
    """Read annotations; one key that the API server refuses would keep the whole object from being written."""
    found = _texts(value)
    for key in found:
        if not is_annotation_key(key):
            raise ValueError(f"expected the key of an annotation, got {shortened(key, _LONGEST_KEY_SHOWN)!r}")
    return found


def _annotations_of_bind(value: Any, _about: Sequence[Any] = ()) -> dict[str, str]:
    """Read annotations of a pod, likewise; not those by which the scheduler counts it, which must be readable."""
    found = _annotations(value)
    if COUNTED in found:
        raise ValueError(f"expected no annotation {COUNTED}, which the scheduler writes for plugins that resize pods")
    return found


def _labels(value: Any, _about: Sequence[Any]) -> dict[str, str]:
    """Read labels of a pod, likewise."""
    found = _texts(value)
    if len(found) > _MOST_LABELS:
        raise ValueError(f"expected at most {_MOST_LABELS} labels, got {len(found)}")
    for key, text in found.items():
        if not (is_label_key(key) and is_label_value(text)):
            shown = shortened(f"{key}={text}", _LONGEST_KEY_SHOWN)
            raise ValueError(f"expected a label, got {shown!r}")
    return found


def _texts_by_task(value: Any, _about: Sequence[Any]) -> dict[str, dict[str, str]]:
    return {_text(task): _annotations_of_bind(texts) for task, texts in _mapping(value).items()}


def _numa_hints(value: Any, _about: Sequence[Any]) -> dict[str, list[NumaHint]] | None:
    if value is None:
        return None
    found = {_text(name): [_numa_hint(each) for each in _list(hints)] for name, hints in _mapping(value).items()}
    if len(found) > _MOST_HINTED:
        raise ValueError(f"expected hints for at most {_MOST_HINTED} resources, got {len(found)}")
    return found


def _numa_hint(value: Any) -> NumaHint:
    if not isinstance(value, NumaHint):
        raise _expected("a NumaHint", value)
    return NumaHint(_mask(value.nodes), _boolean(value.preferred, ()), _count(value.score, ()))


def _numa_nodes(value: Any, _about: Sequence[Any]) -> int | None:
    return None if value is None else _mask(value, least=0)


def _mask(value: Any, least: int = 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < 1 << _MOST_HINTED:
        raise _expected("a bit mask of NUMA nodes", value)
    return value


def _preparations(value: Any, _about: Sequence[Any]) -> list[Preparation]:
    steps = _list(value)
    for each in steps:
        if not isinstance(each, Preparation):
            raise _expected("a preparation", each)
        for text in (each.kind, each.namespace, each.name):
            _text(text)
        _texts(each.details)
    return steps


def _allocated(value: Any, _about: Sequence[Any]) -> Allocation | Reason:
    if isinstance(value, str):
        return Reason(shortened(_text(value)))
    if isinstance(value, Reason):
        return _reason(value)
    if not isinstance(value, Allocation):
        raise _expected("an Allocation, a Reason or a text", value)
    return _allocation(value)


def _allocation_or_none(value: Any, _about: Sequence[Any]) -> Allocation | None:
    if value is not None and not isinstance(value, Allocation):
        raise _expected("an Allocation or None", value)
    return None if value is None else _allocation(value)


def _allocation(value: Allocation) -> Allocation:
    return Allocation(annotations=SealedDict(_annotations_of_bind(value.annotations)), items=value.items)


def _applied(value: Any, _about: Sequence[Any]) -> Refusal | None:
    if value is not None and not isinstance(value, Refusal):
        raise _expected("None or a refusal", value)
    return None if value is None else _refusal(value)


# Arrays ---------------------------------------------------------------------------------------------------------------


def _array(value: Any, shape: tuple[int, ...], kinds: str) -> Any:
    if not isinstance(value, np.ndarray):
        raise _expected("an array", value)
    if value.dtype.kind not in kinds:
        raise TypeError(f"expected an array of numbers, got one of {value.dtype}")
    if value.shape != shape:
        raise ValueError(f"expected an array of shape {shape}, got {value.shape}")
    return value


def _finite_array(value: Any, shape: tuple[int, ...]) -> Any:
    scores = np.array(_array(value, shape, _NUMBERS), dtype=np.float64)
    if not np.isfinite(scores).all():
        raise ValueError("a score that is no finite number")
    return scores


def _scores(value: Any, about: Sequence[Any]) -> Any:
    return None if value is None else _finite_array(value, about[1].index.shape)


def _addends(value: Any, about: Sequence[Any]) -> list[Addend]:
    found = _list(value)
    if len(found) > _MOST_ADDENDS:
        raise ValueError(f"expected at most {_MOST_ADDENDS} addends, got {len(found)}")
    return [
        Addend(shortened(_text(name)), number(weight), _finite_array(scores, about[1].index.shape))
        for name, weight, scores in found
    ]


def _normalised(value: Any, about: Sequence[Any]) -> Any:
    return _finite_array(value, about[0].shape)


def _verdicts(reasons: int | None) -> Reader:
    def read(value: Any, about: Sequence[Any]) -> Any:
        if value is None:
            return None
        verdicts = _array(value, about[1].index.shape, _INTEGERS)
        most = np.iinfo(np.uint8).max if reasons is None else reasons
        if verdicts.size and not 0 <= verdicts.min() <= verdicts.max() <= most:
            raise ValueError(f"expected verdicts from 0 to {most}, got {verdicts.min()} to {verdicts.max()}")
        return verdicts.astype(np.uint8)

    return read


class _Groups:
    """Scores by group of nodes, read each time that they are asked."""

    def __init__(self, grouped: Any) -> None:
        self._grouped = grouped
        self.group_count = _count(grouped.group_count, ())
        groups = _array(grouped.groups, np.shape(grouped.groups), _INTEGERS)
        if groups.ndim != 1 or (groups.size and not 0 <= groups.min() <= groups.max() < self.group_count):
            raise ValueError(f"expected a group from 0 to {self.group_count - 1} for each node")
        self.groups = groups.astype(np.int64)

    def scores(self, candidates: Any) -> Any:
        """Return the score of each group."""
        return _finite_array(self._grouped.scores(candidates.copy()), (self.group_count,))

    def place(self, group: int, column: int) -> None:
        """Suppose one more task of the template on a node of a group."""
        self._grouped.place(group, column)


def _grouped(value: Any, _about: Sequence[Any]) -> _Groups | None:
    return None if value is None else _Groups(value)


# Views ----------------------------------------------------------------------------------------------------------------

_OF_TASKS: Final = frozenset({"labels", "annotations", "spec", "request"})
_OF_NODES: Final = frozenset({"allocatable", "used", "releasing", "pipelined"})


def _views(*, has_nodes: bool = False, has_kept: bool = False, may_refuse: bool = False) -> Reader:
    """Return a reader of views with the parts that a point permits."""
    parts = _OF_TASKS | (_OF_NODES | {"facts"} if has_nodes else set()) | ({"kept"} if has_kept else set())

    def read(value: Any, about: Sequence[Any]) -> View | Refusal | None:
        if value is None:
            return None
        if may_refuse and isinstance(value, Refusal):
            return _refusal(value)
        if not isinstance(value, View):
            raise _expected("a view, a refusal or None" if may_refuse else "a view or None", value)
        for part in (*_OF_TASKS, *_OF_NODES, "facts", "kept"):
            if part not in parts and getattr(value, part) is not None:
                raise ValueError(f"a view has no {part} at this point")
        columns = about[1] if len(about) > 1 else None
        amounts = {part: _amounts_of_nodes(getattr(value, part), columns) for part in _OF_NODES & parts}
        return View(
            labels=None if value.labels is None else _bounded_texts(_texts(value.labels)),
            annotations=None if value.annotations is None else _bounded_texts(_annotations(value.annotations)),
            spec=None if value.spec is None else _specification(value.spec),
            request=None if value.request is None else _request(value.request),
            kept=None if value.kept is None else _kept(value.kept, columns),
            facts=None if value.facts is None else _facts(value.facts, columns),
            **amounts,
        )

    return read


def _bounded_texts(texts: dict[str, str]) -> Mapping[str, str]:
    size = sum(len(key) + len(text) for key, text in texts.items())
    if size > _MOST_VIEW_BYTES:
        raise ValueError(f"expected texts of at most {_MOST_VIEW_BYTES} characters, got {size}")
    return SealedDict(texts)


def _specification(value: Any) -> PodSpec:
    """Read a specification as that of a pod is read, since parts of wrong types would fail in other plugins."""
    if not isinstance(value, PodSpec):
        raise _expected("a specification", value)
    encoded = msgspec.json.encode(value, enc_hook=dict)
    if len(encoded) > _MOST_VIEW_BYTES:
        raise ValueError(f"expected a specification of at most {_MOST_VIEW_BYTES} bytes, got {len(encoded)}")
    spec = msgspec.json.decode(encoded, type=PodSpec)
    if too_many := beyond_bounds(spec):
        raise ValueError(f"a specification with {too_many}")
    seal(spec)
    return spec


def _request(value: Any) -> Mapping[str, int]:
    amounts = {_text(name): _count(amount, ()) for name, amount in _mapping(value).items()}
    if len(amounts) > _MOST_VIEW_RESOURCES or max(amounts.values(), default=0) > _MOST_AMOUNT:
        raise ValueError(f"expected at most {_MOST_VIEW_RESOURCES} amounts, of at most {_MOST_AMOUNT}")
    return SealedDict(amounts)


def _resized(value: Any, _about: Sequence[Any]) -> Mapping[str, int] | None:
    """Read what a pod counts as; of more resources its annotation could not be read again."""
    amounts = None if value is None else _request(value)
    if amounts is not None and len(amounts) > MOST_RESOURCES:
        raise ValueError(f"expected amounts of at most {MOST_RESOURCES} resources, got {len(amounts)}")
    return amounts


def _amounts_of_nodes(value: Any, columns: Any) -> Any:
    """Read amounts of nodes; those that are no amounts would overflow in sums."""
    if value is None:
        return None
    amounts = np.array(_array(value, columns.allocatable.shape, _INTEGERS), dtype=np.int64)
    if amounts.size and not -_MOST_AMOUNT <= amounts.min() <= amounts.max() <= _MOST_AMOUNT:
        raise ValueError(f"expected amounts of at most {_MOST_AMOUNT}")
    amounts.flags.writeable = False
    return amounts


def _kept(value: Any, columns: Any) -> Any:
    kept = np.array(_array(value, columns.index.shape, "b"), dtype=np.bool_)
    kept.flags.writeable = False
    return kept


def _facts(value: Any, columns: Any) -> NodeFacts:
    """Read facts of nodes: the same nodes in the same order, each as it is or another `Node`."""
    if not isinstance(value, NodeFacts):
        raise _expected("facts of nodes", value)
    nodes: Sequence[Node] = columns.facts.nodes
    given: Any = value.nodes
    if not isinstance(given, tuple) or len(given) != len(nodes):
        raise ValueError(f"expected facts of {len(nodes)} nodes")
    for there, each in zip(nodes, given, strict=True):
        if each is not there and not (isinstance(each, Node) and each.name == there.name):
            raise ValueError(f"expected facts of node {there.name}")
    return value


# Keys -----------------------------------------------------------------------------------------------------------------


def _keys() -> Reader:
    """Return a reader of the keys of one order: each must compare with those before it."""
    known: Any = None

    def read(key: Any, _about: Sequence[Any]) -> Any:
        nonlocal known
        kind = _kind_of(key)
        known = kind if known is None else _merged(known, kind)
        return key

    return read


def _kind_of(key: Any) -> Any:
    """Return what a key compares with; raises ValueError where it is not even ordered beside its like."""
    if isinstance(key, (tuple, list)):
        return (type(key), [_kind_of(each) for each in key])
    if isinstance(key, (int, float, Fraction, np.number, np.bool_)):
        if key != key:  # noqa: PLR0124  # what alone differs from itself is no number
            raise ValueError("a key that is no number")
        return "a number"
    if key is None or key is LAST or isinstance(key, (str, bytes)):
        return type(key)
    if isinstance(key, AbstractSet):
        raise _expected("a key", key)  # sets compare, but not each with each
    bool(key < key)  # noqa: PLR0124  # raises where it cannot be compared
    return type(key)


def _merged(known: Any, kind: Any) -> Any:
    """Return what compares with keys of both kinds; raises TypeError where some would not."""
    if isinstance(known, tuple) and isinstance(kind, tuple) and known[0] is kind[0]:
        longer, shorter = sorted((known[1], kind[1]), key=len, reverse=True)
        both = [_merged(left, right) for left, right in zip(known[1], kind[1], strict=False)]
        return known[0], [*both, *longer[len(shorter) :]]
    if type(LAST) in (known, kind):
        return kind if known is type(LAST) else known
    if known != kind:
        raise TypeError(f"a key that does not compare with earlier ones: {_named(kind)} beside {_named(known)}")
    return known


def _named(kind: Any) -> str:
    if isinstance(kind, tuple):
        return _named(kind[0])
    return kind if isinstance(kind, str) else "None" if kind is type(None) else str(kind.__name__)


# Tables ---------------------------------------------------------------------------------------------------------------


def _use(value: Any, _about: Sequence[Any]) -> ReservationUse | None:
    if value is None:
        return None
    if not isinstance(value, ReservationUse):
        raise _expected("a ReservationUse or None", value)
    return ReservationUse(
        usable=tuple(TaskId(_text(each)) for each in _list(value.usable)),
        is_required=_boolean(value.is_required),
        takes_any=_boolean(value.takes_any),
    )


_Make = Callable[[Locality | None, int | None], Reader]


def _always(reader: Reader) -> _Make:
    return lambda _locality, _reasons: reader


def _ordering(_locality: Locality | None, _reasons: int | None) -> Reader:
    return _keys()


READ_POINTS: Final[Mapping[str, _Make]] = {
    "job_order": _ordering,
    "queue_order": _ordering,
    "victim_queue_order": _always(_sign),
    "task_order": _ordering,
    "sub_job_order": _ordering,
    "cluster_order": _ordering,
    "before_pre_filter": _always(_views(may_refuse=True)),
    "after_pre_filter": _always(_views(has_kept=True)),
    "before_filter": _always(_views(has_nodes=True)),
    "before_score": _always(_views(has_nodes=True, has_kept=True)),
    "after_post_filter": _always(_nothing),
    "pre_predicate": _always(_answer),
    "predicate": lambda locality, reasons: _answer_of_node if locality is None else _verdicts(reasons),
    "node_order": lambda locality, _: _score if locality is None else _scores,
    "batch_node_order": _always(_scores_or_refusal),
    "node_map": _always(_score),
    "node_reduce": _always(_nothing),
    "best_node": _always(_name_or_none),
    "reservation_use": _always(_use),
    "resize_pod": _always(_resized),
    "reservation_restore": _always(_answer),
    "reservation_filter": _always(_answer_of_node),
    "reservation_nominate": _always(_name_or_none),
    "reservation_score": _always(_score),
    "hyper_node_order": _always(_scores_by_name),
    "hyper_node_gradient_for_job": _always(_levels),
    "hyper_node_gradient_for_sub_job": _always(_levels),
    "job_valid": _always(_answer),
    "job_ready": _always(_boolean),
    "sub_job_ready": _always(_boolean),
    "job_pipelined": _always(_vote_or_none),
    "sub_job_pipelined": _always(_vote_or_none),
    "job_starving": _always(_boolean),
    "job_enqueueable": _always(_vote_or_none),
    "job_enqueued": _always(anything),
    "overused": _always(_answer),
    "allocatable": _always(_answer),
    "preemptive": _always(_answer),
    "target_job": _always(anything),
    "reserved_nodes": _always(anything),
    "preemptable": _always(_victims),
    "reclaimable": _always(_victims),
    "unified_evictable": _always(_victims),
    "queue_surplus": _always(_tasks),
    "victim_tasks": _always(_moves),
    "movable": _always(_tasks),
    "quota_check": _always(_answer),
    "quota_status": _always(_annotations),
}
"""Readers by the name of the point. A test compares the names with `framework.extension.contract.ALL_POINTS`."""

READ_PARTS: Final[Mapping[str, Reader]] = {
    "normalise": _normalised,
    "cares": _boolean,
    "headroom": _count,
    "lent_headroom": _count,
    "grouped": _grouped,
    "kind": _hashable,
    "missing": _count,
    "many": _answers_of_nodes,
    "together": _victims,
    "together_limit": _tasks,
    "queues": _names,
    "within_queue": _boolean,
    "reasons_of": _reasons,
    "addends": _addends,
    "annotations": _annotations_of_bind,
    "labels": _labels,
    "plan_annotations": _texts_by_task,
    "preparations": _preparations,
    "delegate": _boolean,
    "numa_hints": _numa_hints,
    "numa_plan": _numa_nodes,
    "apply": _applied,
    "allocate": _allocated,
    "free": _allocation_or_none,
    "chooses_for": _boolean,
    "hook": anything,
}
