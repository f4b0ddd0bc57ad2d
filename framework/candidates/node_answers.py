"""Node answers: answers of plugins about nodes and a task, with the defaults of failing plugins."""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.views import SessionViews, ViewPredicate
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Registered
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import reason_of
from pyroclast.framework.state.nodes import NodeColumns, NodeView, SessionNodes
from pyroclast.model.arrays import BoolArray, FloatArray, ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.matching.bounds import beyond_bounds
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["Beyond", "Functions", "NodeAnswers", "NodeFunctions", "finite"]

Functions = tuple[Registered[Any], ...]

_FAILED: Final = object()
_MOST_MASK_BYTES: Final = 32 * 2**20
"""Maximum number of cached masks, and of their keys. Above it, all are computed again."""


class NodeFunctions:
    """The functions of all plugins about nodes, sorted by what their answers depend on; one per session."""

    __slots__ = ("global_scores", "normalised", "pair_scores", "predicates", "scores", "verdicts")

    def __init__(self, predicates: Sequence[Registered[Any]], scores: Sequence[Registered[Any]]) -> None:
        self.predicates = tuple(predicates)
        """All predicates in the order of the configuration."""
        self.verdicts = SealedDict(
            (locality, tuple(each for each in predicates if each.locality is locality))
            for locality in (*Locality, None)
        )
        self.scores = SealedDict(
            (locality, tuple(each for each in scores if each.locality is locality and each.normalise is None))
            for locality in (Locality.FACTS, Locality.AMOUNTS, Locality.NODE)
        )
        self.normalised = tuple(
            each for each in scores if each.normalise is not None and each.locality is not Locality.GLOBAL
        )
        self.global_scores = tuple(each for each in scores if each.locality is Locality.GLOBAL)
        self.pair_scores = tuple(each for each in scores if each.locality is None)


class Beyond:
    """The functions that depend on more than the node and concern one task; at least one, unless it is individual."""

    __slots__ = ("grouped", "is_individual", "scores", "verdicts")

    def __init__(
        self, verdicts: Functions, scores: Functions, *, is_individual: bool = False, has_own_scores: bool = False
    ) -> None:
        self.verdicts = verdicts
        self.scores = scores
        self.is_individual = is_individual
        """Whether the task is seen otherwise than its template, so that there may be no such functions."""
        is_alone = len(scores) == 1 and not (verdicts or is_individual or has_own_scores)
        self.grouped = scores[0] if is_alone and scores[0].grouped is not None else None
        """The only one of them, where it scores groups of nodes."""


class NodeAnswers:
    """Asks the functions of plugins about the nodes of one session."""

    def __init__(
        self,
        extensions: Extensions,
        nodes: SessionNodes,
        snapshot: Snapshot,
        reserved: SessionReservations,
        views: SessionViews,
    ) -> None:
        self.extensions = extensions
        self.views = views
        """What the functions see instead of tasks and nodes."""
        self.reserved = reserved
        self.nodes = nodes
        self.snapshot = snapshot
        self.resources = snapshot.resources
        self.own_predicates: Callable[[], Functions] = tuple
        """Returns predicates of the session itself."""
        self.unscored: SealedDict[TaskId, Refusal] = SealedDict()
        """Tasks for which a plugin refused to score nodes, with the refusal, by task id."""
        self._beyond: tuple[Task | None, int, Beyond | None] = (None, -1, None)
        """The functions that concern the last task that was asked about, and the length of the log at that moment."""
        self._permitted: dict[int, BoolArray] = {}
        """Answers of `permitted_by_facts`, by template number."""
        self._masks: dict[bytes, BoolArray] = {}
        """Equal masks are kept once: most templates share one."""
        self._bounds: dict[int, Refusal | None] = {}
        """Answers of `beyond_bounds`, by template number."""

    def forget(self) -> None:
        """Drop what was answered: other functions are registered."""
        self.__dict__.pop("functions", None)
        self.__dict__.pop("takes_best_score", None)
        self._permitted.clear()
        self._beyond = (None, -1, None)

    @cached_property
    def functions(self) -> NodeFunctions:
        """The functions of all plugins about nodes."""
        return NodeFunctions(
            (
                *self.views.predicates,
                *self.own_predicates(),
                *self.extensions.functions(contract.PREDICATE),
            ),
            self.extensions.functions(contract.NODE_ORDER),
        )

    @cached_property
    def takes_best_score(self) -> bool:
        """Whether the highest standing score decides: no function asked per node, no chooser, no soft shard."""
        return not (
            self.functions.verdicts[None]
            or self.functions.pair_scores
            or self.extensions.functions(contract.BEST_NODE)
            or self.extensions.functions(contract.BATCH_NODE_ORDER)
            or self.extensions.functions(contract.NODE_MAP)
            or self.snapshot.shard_mode != "none"
        )

    def ask_verdicts(self, each: Registered[Any], task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Query a predicate over arrays. A failing one refuses every node."""
        try:
            if self.views.is_active:
                task, columns = self._for_predicate(each, task, columns)
            verdicts: ReasonArray | None = each.function(task, columns)
            if verdicts is not None and verdicts.shape != columns.index.shape:
                raise ValueError(f"verdicts of shape {verdicts.shape} for {len(columns)} columns")  # noqa: TRY301  # the plugin's failure
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            self.extensions.note_failure(each.plugin, error)
            return np.full(len(columns), len(self.reasons_of(each, task)) + 1, dtype=np.uint8)
        return verdicts

    def _for_predicate(self, each: Registered[Any], task: Task, columns: NodeColumns) -> tuple[Task, NodeColumns]:
        """Return what a predicate is asked about."""
        if not self.views.is_active or isinstance(each, ViewPredicate):
            return task, columns
        return self.views.for_predicates(task, columns)

    def for_score(self, task: Task, columns: NodeColumns) -> tuple[Task, NodeColumns]:
        """Return what a score is asked about."""
        return self.views.for_scores(task, columns) if self.views.is_active else (task, columns)

    def concerns(self, each: Registered[Any], task: Task, columns: NodeColumns, *, is_score: bool) -> bool:
        """Return whether a function over arrays concerns a template. None over all nodes means never."""
        seen = self.for_score(task, columns) if is_score else self._for_predicate(each, task, columns)
        return self.extensions.ask_or(each, _FAILED, *seen) is not None

    def reasons_of(self, each: Registered[Any], task: Task) -> Sequence[Reason]:
        """Return what the verdicts of a predicate over arrays mean for a task, the first one first."""
        if each.reasons_of is None:
            return each.reasons
        reasons: Sequence[Reason] = self.extensions.ask_or(each, (), self.views.late(task), asking=each.reasons_of)
        return reasons

    def ask_scores(self, each: Registered[Any], task: Task, columns: NodeColumns) -> FloatArray | None:
        """Query a score over arrays. A failing one adds nothing."""
        if self.views.is_active:
            task, columns = self.for_score(task, columns)
        scores: FloatArray | None = self.extensions.ask_or(each, None, task, columns)
        if scores is not None and scores.shape != columns.index.shape:
            self.extensions.note_failure(
                each.plugin, ValueError(f"scores of shape {scores.shape} for {len(columns)} columns")
            )
            return None
        return None if scores is None else self.extensions.ask_or(each, None, scores, asking=finite)

    def cares(self, each: Registered[Any], task: Task) -> bool:
        """Return whether a task is a concern of a function; where that fails the function is asked itself."""
        return each.cares is None or bool(self.extensions.ask_or(each, True, self.views.late(task), asking=each.cares))

    def beyond(self, task: Task) -> Beyond | None:
        """Return the functions beyond the node that currently concern a task; None if there are none."""
        last, version, known = self._beyond
        if last is not task or version != len(self.nodes.log):
            known = self._concerned(task)
            self._beyond = (task, len(self.nodes.log), known)
        return known

    def _concerned(self, task: Task) -> Beyond | None:
        if self.beyond_bounds(task) is not None:
            return None  # no node takes it, so that nothing need be asked
        functions = self.functions
        verdicts, scores = functions.verdicts[Locality.GLOBAL], functions.global_scores
        try:  # asked for every task: one call less for each function
            seen = self.views.late(task) if self.views.is_active else task
            verdicts = tuple([each for each in verdicts if each.cares is None or each.cares(seen)])
            scores = tuple([each for each in scores if each.cares is None or each.cares(seen)])
        except Exception:  # noqa: BLE001  # asked again one by one, which finds out who fails
            verdicts = tuple(each for each in verdicts if self.cares(each, task))
            scores = tuple(each for each in scores if self.cares(each, task))
        if self.views.is_active:
            is_individual = self.views.is_individual(task)
            has_own_scores = bool(scores) and self.views.changes_scores(task)
            if is_individual or has_own_scores:
                return Beyond(verdicts, scores, is_individual=is_individual, has_own_scores=has_own_scores)
        return Beyond(verdicts, scores) if verdicts or scores else None

    def normalised(self, each: Registered[Any], raw: FloatArray) -> FloatArray | float:
        """Rescale the scores of candidates with the plugin's function. A failing one adds nothing."""
        assert each.normalise is not None, "asked of scores that are rescaled"
        try:
            return finite(each.normalise(raw))
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.extensions.note_failure(each.plugin, error)
            return 0.0

    def ask_pair(self, each: Registered[Any], task: Task, column: int) -> Reason | None:
        """Query a predicate about one node; None if it permits."""
        seen, (node,) = self._pairs(contract.BEFORE_FILTER, task, (column,))
        return self._ask_pair(each, seen, node)

    def _pairs(self, point: contract.Point[Any], task: Task, columns: Sequence[int]) -> tuple[Task, Sequence[NodeView]]:
        """Return a task and nodes as functions of one task and one node see them."""
        if not self.views.is_active:
            return task, [self.nodes.view(column) for column in columns]
        return self.views.nodes_for(point, task, columns)

    def pairs_to_score(self, task: Task, columns: Sequence[int]) -> tuple[Task, Sequence[NodeView]]:
        """Return a task and candidates as scores of one task and one node see them."""
        return self._pairs(contract.BEFORE_SCORE, task, columns)

    def _ask_pair(self, each: Registered[Any], task: Task, node: NodeView) -> Reason | None:
        try:
            answer = each.function(task, node)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            return Reason(self.extensions.note_failure(each.plugin, error).message)
        return reason_of(each, answer)

    def ask_pairs(self, each: Registered[Any], task: Task, columns: Sequence[int]) -> list[Reason | None]:
        """Query a predicate about several nodes, in one call if possible; None for each node that it permits."""
        if not columns:
            return []
        task, nodes = self._pairs(contract.BEFORE_FILTER, task, columns)
        if each.many is None or len(nodes) <= 1:
            return [self._ask_pair(each, task, node) for node in nodes]
        try:
            answers = list(each.many(task, nodes))
            if len(answers) != len(nodes):
                raise ValueError(f"{len(answers)} answers about {len(nodes)} nodes")  # noqa: TRY301  # the plugin's failure
        except Exception as error:  # noqa: BLE001  # as above
            return [Reason(self.extensions.note_failure(each.plugin, error).message)] * len(nodes)
        return [reason_of(each, answer) for answer in answers]

    def ask_pair_score(self, each: Registered[Any], task: Task, node: NodeView) -> float:
        """Query the score of one node. A failing function gives 0."""
        try:
            return _finite_number(float(each.function(task, node)))
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.extensions.note_failure(each.plugin, error)
            return 0.0

    def shard_groups(self, mask: BoolArray) -> Sequence[BoolArray]:
        """Split nodes into groups to be tried in order: own shard first where sharding is soft."""
        mine = self.nodes.table.in_shard
        if self.snapshot.shard_mode == "hard":
            return (mask & mine,)
        if self.snapshot.shard_mode == "soft":
            return (mask & mine, mask & ~mine)
        return (mask,)

    def beyond_bounds(self, task: Task) -> Refusal | None:
        """Refuse a task with more placement rules than are checked, once per template."""
        number = task.template.number  # of the pod itself: a view has no more rules than are checked
        if number not in self._bounds:
            self._bounds[number] = _too_many(beyond_bounds(task.template.spec))
        return self._bounds[number]

    def permitted_by_facts(self, task: Task) -> BoolArray:
        """Return which nodes permit a task by all that no eviction can change, shape (N,); do not write.

        Candidates cost many times as much, since they also hold scores and amounts.
        """
        number = self.views.number(task)
        known = self._permitted.get(number)
        if known is None:
            is_bounded = self.beyond_bounds(task) is None
            known = np.full(len(self.nodes), is_bounded, dtype=np.bool_)
            columns = self.nodes.columns()
            for each in self.functions.verdicts[Locality.FACTS] if is_bounded else ():
                verdicts = self.ask_verdicts(each, task, columns)
                if verdicts is not None:
                    known = known & (verdicts == 0)
            if len(self._masks) * len(self.nodes) > _MOST_MASK_BYTES:
                self._masks.clear()
                self._permitted.clear()
            known.setflags(write=False)
            known = self._masks.setdefault(known.tobytes(), known)
            self._permitted[number] = known
        return known


def _too_many(rules: str) -> Refusal | None:
    if not rules:
        return None
    message = f"the pod has {rules}; it is not placed"
    return Refusal(plugin="scheduler", reason="TooManyRules", message=message, resolvable=False)


def finite(scores: FloatArray) -> FloatArray:
    """Return the scores if all are finite. A score that is not finite would decide for every node.

    Raises:
        ValueError: One of them is infinite or no number.
    """
    # A sum of squares is the cheapest look at all of them: this is asked after each placement.
    if not math.isfinite(scores.dot(scores)):
        raise ValueError("a score that is no finite number")
    return scores


def _finite_number(score: float) -> float:
    """Return the score if it is finite; raises as `finite`."""
    if not math.isfinite(score):
        raise ValueError(f"the score {score} is no finite number")
    return score
