"""Scoring: choosing among several nodes when all kinds of scores count.

Used where scores are rescaled over the candidates, depend on more than the node, or come from functions of one task and
one node; otherwise `framework.placement.candidates` takes the best of its standing scores.
"""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyroclast.framework.extension import points
from pyroclast.framework.extension.answers import number
from pyroclast.framework.extension.finite import finite
from pyroclast.framework.extension.points import Registered
from pyroclast.framework.session.nodes import NodeView
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened

if TYPE_CHECKING:
    from pyroclast.framework.placement.candidates import Candidates
    from pyroclast.framework.session.node_questions import NodeQuestions

__all__ = ["ScoredNodes"]


class ScoredNodes:
    """The candidates of one task with their scores."""

    __slots__ = ("_columns", "_session", "_task", "scores")

    def __init__(
        self,
        session: "NodeQuestions",
        candidates: "Candidates",
        task: Task,
        columns: IntArray,
        normalised: Sequence[tuple[Registered[Any], FloatArray]],
    ) -> None:
        self._session = session
        self._task = task
        self._columns = columns
        self.scores: FloatArray = candidates.scores[columns].copy()
        """Total score of each candidate, shape (candidates,)."""
        self._add_normalised(normalised)
        self._add_global()
        self._add_pairs()

    def ranked(self) -> IntArray:
        """Return the columns, best score first, ties by name; none where a plugin refuses, as in `best`."""
        if self._task.id in self._session.unscored:
            return self._columns[:0]
        order: IntArray = self._columns[np.argsort(-self.scores, kind="stable")]
        return order

    def best(self) -> int | None:
        """Return the column to take: a plugin's choice, else the highest score, else the lowest name.

        None where a plugin that scores all candidates refuses, which the session notes in `unscored`.
        """
        if self._task.id in self._session.unscored:
            return None
        choosers = self._session.functions(points.BEST_NODE)
        if choosers:
            chosen = self._ask_choosers(choosers)
            if chosen is not None:
                return chosen
        return int(self._columns[int(self.scores.argmax())])

    def _add_normalised(self, normalised: Sequence[tuple[Registered[Any], FloatArray]]) -> None:
        for each, raw in normalised:
            self.scores += self._session.normalised(each, raw[self._columns])

    def _add_global(self) -> None:
        beyond = self._session.beyond(self._task)
        if beyond is None or not beyond.scores:
            return
        columns = self._session.nodes.columns(self._columns)
        for each in beyond.scores:
            scores = self._session.ask_scores(each, self._task, columns)
            if scores is not None:
                self.scores += scores if each.normalise is None else self._session.normalised(each, scores)

    def _add_pairs(self) -> None:
        session = self._session
        batches = session.functions(points.BATCH_NODE_ORDER)
        maps = session.functions(points.NODE_MAP)
        if not (session.node_functions.pair_scores or batches or maps):
            return
        views = [session.nodes.view(column) for column in self._columns.tolist()]
        for each in session.node_functions.pair_scores:
            self.scores += np.array([session.ask_pair_score(each, self._task, view) for view in views])
        dict.pop(session.unscored, self._task.id, None)
        for each in batches:
            answer = session.ask_or(each, {}, self._task, views)
            if isinstance(answer, Refusal):
                dict.setdefault(session.unscored, self._task.id, answer)
            else:
                self.scores += self._numbers(each, answer, views)
        reducers = {each.plugin: each for each in session.functions(points.NODE_REDUCE)}
        for each in maps:
            if each.plugin in reducers:
                self._add_reduced(each, reducers[each.plugin], views)

    def _add_reduced(self, mapper: Registered[Any], reducer: Registered[Any], views: Sequence[NodeView]) -> None:
        raw: dict[NodeName, float] = {
            view.name: float(math.floor(self._session.ask_pair_score(mapper, self._task, view))) for view in views
        }
        self._session.ask_or(reducer, None, self._task, raw)
        self.scores += self._numbers(reducer, raw, views)

    def _numbers(self, each: Registered[Any], by_name: Any, views: Sequence[NodeView]) -> FloatArray | float:
        """Read scores by node as an array; an answer of another kind adds nothing."""
        try:
            return finite(np.array([number(by_name.get(view.name, 0.0)) for view in views]))
        except Exception as error:  # noqa: BLE001  # what a plugin gave is its failure
            self._session.note_failure(each.plugin, error)
            return 0.0

    def _ask_choosers(self, choosers: Sequence[Registered[Any]]) -> int | None:
        by_score: dict[float, list[NodeView]] = {}
        columns: dict[NodeName, int] = {}
        for column, score in zip(self._columns.tolist(), self.scores.tolist(), strict=True):
            view = self._session.nodes.view(column)
            by_score.setdefault(score, []).append(view)
            columns[view.name] = column
        for each in choosers:
            name = self._session.ask_or(_among(each, columns), None, self._task, by_score)
            if name is not None:
                return columns[name]
        return None


def _among(chooser: Registered[Any], columns: Mapping[NodeName, int]) -> Registered[Any]:
    """Let naming a node that is no candidate count as a failure: it may not even have room."""

    def choose(task: Task, by_score: Mapping[float, Sequence[NodeView]]) -> NodeName | None:
        name: NodeName | None = chooser.function(task, by_score)
        if name is not None and name not in columns:
            raise ValueError(f"{shortened(name)!r} is none of the candidates")
        return name

    return Registered(chooser.plugin, choose)
