"""Views: what the functions of plugins see instead of a task and of nodes, as other plugins transform it.

Koordinator calls these plugins transformers. A view is a value. The books of the session, the request that a placement
counts and the pod that is bound stay as they are.

What is asked once for a template belongs to the template, like the answers of predicates. A task that a function of
locality `GLOBAL` changes is *individual*: it has a number of its own, under which its answers are remembered, and it is
placed for itself. Individual tasks with equal views share a number. Nothing of it outlives the session.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, Final

import msgspec
import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Point, Registered, View
from pyroclast.framework.extension.fences import LeftOutError
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.nodes import NodeColumns, NodeView, SessionNodes
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS
from pyroclast.model.sealed import SealedDict
from pyroclast.model.tasks import TEMPLATE_FIELDS, Task, TaskTemplate, new_template_number
from pyroclast.model.wire import PodSpec

__all__ = ["SessionViews", "ViewPredicate"]

_POINTS: Final = (
    contract.BEFORE_PRE_FILTER,
    contract.AFTER_PRE_FILTER,
    contract.BEFORE_FILTER,
    contract.BEFORE_SCORE,
)
_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic", enc_hook=dict)


@dataclass(frozen=True, slots=True)
class _Shape:
    """Changed parts of a task; None where a part is that of the pod."""

    template: TaskTemplate
    """The template of the task, or one that stands for its changed parts."""
    spec: PodSpec | None = None
    labels: Any = None
    annotations: Any = None

    def of(self, task: Task) -> Task:
        """Return the task as it is seen."""
        pod, metadata = task.pod, task.pod.metadata
        if self.labels is not None or self.annotations is not None:
            metadata = msgspec.structs.replace(
                metadata,
                labels=metadata.labels if self.labels is None else self.labels,
                annotations=metadata.annotations if self.annotations is None else self.annotations,
            )
            pod = msgspec.structs.replace(pod, metadata=metadata)
        if self.spec is not None:
            rules = {name: getattr(self.spec, name) for name in (*TEMPLATE_FIELDS, "host_network")}
            pod = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **rules))
        if pod is task.pod and self.template is task.template:
            return task
        return msgspec.structs.replace(task, template=self.template, pod=pod)


@dataclass(slots=True, kw_only=True)
class _Seen:
    """What is seen of the tasks of one template, or of individual tasks, at one stage."""

    number: int
    """Under which answers about these tasks are remembered: that of the template, or a negative one."""
    shape: _Shape
    is_individual: bool = False
    is_asked_anew: bool = False
    """Whether amounts of nodes are seen in a way that depends on more than the nodes."""
    refusal: Refusal | None = None
    """Why the tasks get no node at all."""
    kept: dict[str, "BoolArray | None"] = field(default_factory=dict)
    """Which nodes each function of `AFTER_PRE_FILTER` keeps, shape (N,), by its key; None if it failed."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """What is seen of one task and of some nodes."""

    task: Task
    columns: NodeColumns
    answers: dict[str, "View | None"]
    """Answers by the keys of functions."""
    failed: frozenset[str]
    """Keys of the functions that failed."""


class ViewPredicate(Registered[Any]):
    """The part of a function that narrows nodes, or that failed, as a predicate over arrays about the task itself."""

    __slots__ = ()


class SessionViews:
    """The views of one session."""

    def __init__(self, extensions: Extensions, nodes: SessionNodes) -> None:
        self._extensions, self._nodes = extensions, nodes
        self._functions: dict[str, tuple[Registered[Any], ...]] | None = None
        self._early: dict[int, _Seen] = {}
        self._seen: dict[int, _Seen] = {}
        self._early_of_task: dict[TaskId, _Seen] = {}
        self._seen_of_task: dict[TaskId, _Seen] = {}
        """What is seen after `BEFORE_PRE_FILTER`, and after `AFTER_PRE_FILTER`, by template and by task."""
        self._templates: dict[tuple[Any, ...], TaskTemplate] = {}
        self._own: dict[int, int] = {}
        """Number of the pod's template by that of one that stands for it. Plugins ask the session about views."""
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._negative = count(-1, -1)
        self._unconcerned: set[tuple[int, str]] = set()
        """Functions that left all nodes as they are for the tasks of a number, which are not asked again."""
        self._looked: dict[str, tuple[Task, NodeColumns, int, _Looked]] = {}
        """What was seen last, by point: predicates are asked one after the other about the same nodes."""
        self._viewed: tuple[Task | None, _Shape | None, Task | None] = (None, None, None)
        extensions.observe(self._forget)

    def _forget(self) -> None:
        """Drop everything, because other functions are registered."""
        self._functions = None
        for name in ("is_active", "asks_each_task", "predicates"):
            self.__dict__.pop(name, None)
        for known in (
            self._early,
            self._seen,
            self._early_of_task,
            self._seen_of_task,
            self._unconcerned,
            self._looked,
        ):
            known.clear()

    def _of_point(self, point: Point[Any]) -> tuple[Registered[Any], ...]:
        if self._functions is None:
            self._functions = {each.name: self._extensions.functions(each) for each in _POINTS}
        return self._functions[point.name]

    @cached_property
    def is_active(self) -> bool:
        """Whether any function transforms what others see."""
        return any(self._of_point(point) for point in _POINTS)

    @cached_property
    def asks_each_task(self) -> bool:
        """Whether a function looks at the task itself, so that tasks of a template may be seen in several ways."""
        return any(each.locality is Locality.GLOBAL for point in _POINTS for each in self._of_point(point))

    # Tasks ------------------------------------------------------------------------------------------------------------

    def early_number(self, task: Task) -> int:
        """Return the number under which answers about a task are remembered that precede its nodes."""
        return self._before(task).number if self.is_active else task.template.number

    def number(self, task: Task) -> int:
        """Return the number under which answers about a task and its nodes are remembered."""
        return self._after(task).number if self.is_active else task.template.number

    def is_individual(self, task: Task) -> bool:
        """Return whether a task is seen in a way that its template does not decide."""
        return self.asks_each_task and self._after(task).is_individual

    def is_asked_anew(self, task: Task) -> bool:
        """Return whether the candidates of a task hold for this moment alone."""
        return self.asks_each_task and self._after(task).is_asked_anew

    def refusal(self, task: Task) -> Refusal | None:
        """Return why a function of `BEFORE_PRE_FILTER` refuses a task."""
        return self._before(task).refusal if self.is_active else None

    def early(self, task: Task) -> Task:
        """Return a task as it is seen before its nodes are looked at."""
        return self._view(self._before(task).shape, task) if self.is_active else task

    def late(self, task: Task) -> Task:
        """Return a task as it is seen beside its nodes."""
        return self._view(self._after(task).shape, task) if self.is_active else task

    def _view(self, shape: _Shape, task: Task) -> Task:
        last, of, view = self._viewed
        if last is task and of is shape and view is not None:
            return view
        view = shape.of(task)
        self._viewed = (task, shape, view)
        return view

    def _before(self, task: Task) -> _Seen:
        by_task = self._early_of_task.get(task.id) if self.asks_each_task else None
        known = by_task or (None if self.asks_each_task else self._early.get(self._own_number(task)))
        if known is None:
            known = self._transform_early(task)
            self._store(self._early, self._early_of_task, task, known)
        return known

    def _after(self, task: Task) -> _Seen:
        by_task = self._seen_of_task.get(task.id) if self.asks_each_task else None
        known = by_task or (None if self.asks_each_task else self._seen.get(self._own_number(task)))
        if known is None:
            known = self._transform_late(task)
            self._store(self._seen, self._seen_of_task, task, known)
        return known

    def _own_number(self, task: Task) -> int:
        return self._own.get(task.template.number, task.template.number)

    def _store(self, by_template: dict[int, _Seen], by_task: dict[TaskId, _Seen], task: Task, seen: _Seen) -> None:
        if self.asks_each_task:
            by_task[task.id] = seen
        else:
            by_template[task.template.number] = seen

    def _transform_early(self, task: Task) -> _Seen:
        shape, refusal, is_individual = _Shape(task.template), None, False
        for each in self._concerned(contract.BEFORE_PRE_FILTER, task):
            try:
                answer = each.function(shape.of(task))
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
                answer = self._extensions.note_failure(each.plugin, error)
            if answer is not None:
                is_individual = is_individual or each.locality is Locality.GLOBAL
            if isinstance(answer, Refusal):
                refusal = answer
                break
            if answer is not None:
                shape = self._changed(shape, task, answer)
        number = self._number_of(task, shape, repr(refusal)) if is_individual else task.template.number
        return _Seen(number=number, shape=shape, is_individual=is_individual, refusal=refusal)

    def _transform_late(self, task: Task) -> _Seen:
        early = self._before(task)
        shape, is_individual = early.shape, early.is_individual
        kept: dict[str, BoolArray | None] = {}
        nodes = self._nodes.columns()
        for each in self._concerned(contract.AFTER_PRE_FILTER, task):
            try:
                answer = each.function(shape.of(task), nodes)
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises refuses all nodes
                self._extensions.note_failure(each.plugin, error)
                kept[_key(contract.AFTER_PRE_FILTER, each)] = None
                break
            if answer is not None:
                is_individual = is_individual or each.locality is Locality.GLOBAL
                shape = self._changed(shape, task, answer)
                if answer.kept is not None:
                    kept[_key(contract.AFTER_PRE_FILTER, each)] = answer.kept
        anew = any(
            each.locality is Locality.GLOBAL
            for point in (contract.BEFORE_FILTER, contract.BEFORE_SCORE)
            for each in self._concerned(point, task)
        )
        number = task.template.number
        if anew:
            number = self._number_of(task, shape, task.id)
        elif is_individual:
            masks = tuple((key, None if mask is None else mask.tobytes()) for key, mask in kept.items())
            number = self._number_of(task, shape, repr(early.refusal), masks)
        return _Seen(number=number, shape=shape, is_individual=is_individual or anew, is_asked_anew=anew, kept=kept)

    def _concerned(self, point: Point[Any], task: Task) -> list[Registered[Any]]:
        """Return the functions of a point that concern a task."""
        return [
            each
            for each in self._of_point(point)
            if each.cares is None or each.locality is not Locality.GLOBAL or self._cares(each, task)
        ]

    def _cares(self, each: Registered[Any], task: Task) -> bool:
        return bool(self._extensions.ask_or(each, True, task, asking=each.cares))

    def _number_of(self, task: Task, shape: _Shape, *more: Any) -> int:
        parts = (shape.labels, shape.annotations)
        texts = tuple(None if each is None else tuple(sorted(each.items())) for each in parts)
        key = (task.template.number, shape.template.number, *texts, *more)
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = next(self._negative)
        return known

    def _changed(self, shape: _Shape, task: Task, view: View) -> _Shape:
        """Return the parts of a task with those of a further view."""
        spec = shape.spec if view.spec is None else view.spec
        template = shape.template
        if view.spec is not None or view.request is not None:
            template = self._template(shape.template, task.template, view)
        return _Shape(
            template,
            spec=spec,
            labels=shape.labels if view.labels is None else view.labels,
            annotations=shape.annotations if view.annotations is None else view.annotations,
        )

    def _template(self, before: TaskTemplate, own: TaskTemplate, view: View) -> TaskTemplate:
        """Return a template with the changed parts: plugins remember what they computed by its number."""
        spec = before.spec if view.spec is None else view.spec
        request = before.request if view.request is None else SealedDict({**view.request, PODS: own.request[PODS]})
        key = (before.number, _ENCODER.encode(spec), tuple(sorted(request.items())))
        known = self._templates.get(key)
        if known is None:
            number = new_template_number()
            self._own[number] = own.number
            known = self._templates[key] = msgspec.structs.replace(
                before,
                number=number,
                request=request,
                scored_cpu_millis=request.get(CPU, own.scored_cpu_millis),
                scored_memory_bytes=request[MEMORY] // MILLI if MEMORY in request else own.scored_memory_bytes,
                spec=spec,
            )
        return known

    # Nodes ------------------------------------------------------------------------------------------------------------

    def for_predicates(self, task: Task, columns: NodeColumns) -> tuple[Task, NodeColumns]:
        """Return a task and nodes as predicates see them."""
        looked = self._look(contract.BEFORE_FILTER, task, columns)
        return looked.task, looked.columns

    def for_scores(self, task: Task, columns: NodeColumns) -> tuple[Task, NodeColumns]:
        """Return a task and nodes as scores see them."""
        looked = self._look(contract.BEFORE_SCORE, task, columns)
        return looked.task, looked.columns

    def nodes_for(self, point: Point[Any], task: Task, columns: Sequence[int]) -> tuple[Task, list[NodeView]]:
        """Return a task and nodes as functions of one task and one node see them."""
        index = np.array(columns, dtype=np.int64)
        seen = self._nodes.columns(index)
        looked = self._look(point, task, seen)
        if looked.columns is seen:
            return looked.task, [self._nodes.view(column) for column in columns]
        return looked.task, [self._nodes.view(column, looked.columns, at) for at, column in enumerate(columns)]

    def changes_scores(self, task: Task) -> bool:
        """Return whether scores may see a task, or nodes, in a way of their own."""
        number = self._after(task).number
        return any(
            (number, _key(contract.BEFORE_SCORE, each)) not in self._unconcerned
            for each in self._of_point(contract.BEFORE_SCORE)
        )

    def _look(self, point: Point[Any], task: Task, columns: NodeColumns) -> _Looked:
        functions = self._of_point(point)
        version = len(self._nodes.log)
        last = self._looked.get(point.name)
        if last is not None and last[0] is task and last[1] is columns and last[2] == version:
            return last[3]
        seen = self._after(task)
        shape, nodes = seen.shape, columns
        answers: dict[str, View | None] = {}
        failed: set[str] = set()
        for each in functions:
            key = _key(point, each)
            if (seen.number, key) in self._unconcerned:
                continue
            if each.locality is Locality.GLOBAL and each.cares is not None and not self._cares(each, task):
                continue
            try:
                answer = each.function(shape.of(task), nodes)
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
                self._extensions.note_failure(each.plugin, error)
                failed.add(key)
                continue
            answers[key] = answer
            if answer is not None:
                shape = self._changed(shape, task, answer)
                nodes = nodes.seen_as(
                    allocatable=answer.allocatable,
                    used=answer.used,
                    releasing=answer.releasing,
                    pipelined=answer.pipelined,
                    facts=answer.facts,
                )
            elif columns.is_all and each.locality is not Locality.GLOBAL:
                self._unconcerned.add((seen.number, key))
        looked = _Looked(self._view(shape, task), nodes, answers, frozenset(failed))
        self._looked[point.name] = (task, columns, version, looked)
        return looked

    # Predicates -------------------------------------------------------------------------------------------------------

    @cached_property
    def predicates(self) -> tuple[ViewPredicate, ...]:
        """What functions leave out, as predicates, so that it is explained and kept true as their answers are."""
        return (
            *(self._kept_by_stage(each) for each in self._of_point(contract.AFTER_PRE_FILTER)),
            *(self._kept_by_nodes(contract.BEFORE_FILTER, each) for each in self._of_point(contract.BEFORE_FILTER)),
            *(self._kept_by_nodes(contract.BEFORE_SCORE, each) for each in self._of_point(contract.BEFORE_SCORE)),
        )

    def _kept_by_stage(self, each: Registered[Any]) -> ViewPredicate:
        key = _key(contract.AFTER_PRE_FILTER, each)

        def verdicts(task: Task, columns: NodeColumns) -> ReasonArray | None:
            seen = self._after(task)
            if key not in seen.kept:
                return None
            kept = seen.kept[key]
            if kept is None:
                raise LeftOutError
            return (~kept[columns.index]).astype(np.uint8)

        return _predicate(each, verdicts, Locality.FACTS)

    def _kept_by_nodes(self, point: Point[Any], each: Registered[Any]) -> ViewPredicate:
        key = _key(point, each)

        def verdicts(task: Task, columns: NodeColumns) -> ReasonArray | None:
            looked = self._look(point, task, columns)
            if key in looked.failed:
                if point is contract.BEFORE_FILTER:
                    raise LeftOutError
                return np.zeros(len(columns), dtype=np.uint8)
            answer = looked.answers.get(key)
            if answer is None:
                return None
            if answer.kept is None:
                return np.zeros(len(columns), dtype=np.uint8)
            return (~answer.kept).astype(np.uint8)

        locality = Locality.AMOUNTS if each.locality is Locality.AMOUNTS else Locality.NODE
        return _predicate(each, verdicts, locality)


def _predicate(each: Registered[Any], verdicts: Any, locality: Locality) -> ViewPredicate:
    reasons = each.reasons[:1] or (
        Reason(f"node(s) left out by {each.plugin}", resolvable=locality is not Locality.FACTS),
    )
    return ViewPredicate(plugin=each.plugin, function=verdicts, locality=locality, reasons=reasons)


def _key(point: Point[Any], each: Registered[Any]) -> str:
    return f"{point.name}/{each.plugin}/{each.part}"
