"""Scoring: choosing among several nodes when all kinds of scores count.

Used where scores are rescaled over the candidates, depend on more than the node, or come from functions of one task and
one node; otherwise `framework.candidates.candidates` takes the best of its standing scores.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pyroclast.framework.candidates.node_answers import NodeAnswers, finite
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.answers import number
from pyroclast.framework.extension.contract import Registered
from pyroclast.framework.state.nodes import NodeView
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened

__all__ = ["ScoredNodes", "numbers_by_name", "reduced"]


class ScoredNodes:
    """The candidates of one task with their scores."""

    __slots__ = ("_answers", "_columns", "_task", "scores")

    def __init__(
        self,
        answers: NodeAnswers,
        task: Task,
        columns: IntArray,
        standing: FloatArray,
        normalised: Sequence[tuple[Registered[Any], FloatArray]],
    ) -> None:
        self._answers = answers
        self._task = task
        self._columns = columns
        self.scores = standing
        """Total score of each candidate, shape (candidates,)."""
        self._add_normalised(normalised)
        self._add_global()
        self._add_pairs()

    def ranked(self) -> IntArray:
        """Return the columns, best score first, ties by name; none where a plugin refuses, as in `best`."""
        if self._task.id in self._answers.unscored:
            return self._columns[:0]
        order: IntArray = self._columns[np.argsort(-self.scores, kind="stable")]
        return order

    def best(self) -> int | None:
        """Return the column to take: a plugin's choice, else the highest score, else the lowest name.

        None where a plugin that scores all candidates refuses, which the session notes in `unscored`.
        """
        if self._task.id in self._answers.unscored:
            return None
        choosers = self._answers.extensions.functions(contract.BEST_NODE)
        if choosers:
            chosen = self._ask_choosers(choosers)
            if chosen is not None:
                return chosen
        return int(self._columns[int(self.scores.argmax())])

    def _add_normalised(self, normalised: Sequence[tuple[Registered[Any], FloatArray]]) -> None:
        for each, raw in normalised:
            self.scores += self._answers.normalised(each, raw[self._columns])

    def _add_global(self) -> None:
        beyond = self._answers.beyond(self._task)
        if beyond is None or not beyond.scores:
            return
        columns = self._answers.nodes.columns(self._columns)
        for each in beyond.scores:
            scores = self._answers.ask_scores(each, self._task, columns)
            if scores is not None:
                self.scores += scores if each.normalise is None else self._answers.normalised(each, scores)

    def _add_pairs(self) -> None:
        answers = self._answers
        batches = answers.extensions.functions(contract.BATCH_NODE_ORDER)
        maps = answers.extensions.functions(contract.NODE_MAP)
        if not (answers.functions.pair_scores or batches or maps):
            return
        seen, views = answers.pairs_to_score(self._task, self._columns.tolist())
        for each in answers.functions.pair_scores:
            self.scores += np.array([answers.ask_pair_score(each, seen, view) for view in views])
        dict.pop(answers.unscored, self._task.id, None)
        for each in batches:
            answer = answers.extensions.ask_or(each, {}, seen, views)
            if isinstance(answer, Refusal):
                dict.setdefault(answers.unscored, self._task.id, answer)
            else:
                self.scores += numbers_by_name(answers, each, answer, views)
        reducers = {each.plugin: each for each in answers.extensions.functions(contract.NODE_REDUCE)}
        for each in maps:
            if each.plugin in reducers:
                self.scores += reduced(answers, seen, each, reducers[each.plugin], views)

    def _ask_choosers(self, choosers: Sequence[Registered[Any]]) -> int | None:
        by_score: dict[float, list[NodeView]] = {}
        columns: dict[NodeName, int] = {}
        seen, views = self._answers.pairs_to_score(self._task, self._columns.tolist())
        for view, score in zip(views, self.scores.tolist(), strict=True):
            by_score.setdefault(score, []).append(view)
            columns[view.name] = view.column
        for each in choosers:
            name = self._answers.extensions.ask_or(_among(each, columns), None, seen, by_score)
            if name is not None:
                return columns[name]
        return None


def reduced(
    answers: NodeAnswers, task: Task, mapper: Registered[Any], reducer: Registered[Any], views: Sequence[NodeView]
) -> FloatArray | float:
    """Return the scores of a pair of functions `node_map` and `node_reduce`, shape (views,); 0 if they fail."""
    raw: dict[NodeName, float] = {
        view.name: float(math.floor(answers.ask_pair_score(mapper, task, view))) for view in views
    }
    answers.extensions.ask_or(reducer, None, task, raw)
    return numbers_by_name(answers, reducer, raw, views)


def numbers_by_name(
    answers: NodeAnswers, each: Registered[Any], by_name: Any, views: Sequence[NodeView]
) -> FloatArray | float:
    """Read scores by node as an array, shape (views,); an answer of another kind adds nothing."""
    try:
        return finite(np.array([number(by_name.get(view.name, 0.0)) for view in views]))
    except Exception as error:  # noqa: BLE001  # what a plugin gave is its failure
        answers.extensions.note_failure(each.plugin, error)
        return 0.0


def _among(chooser: Registered[Any], columns: Mapping[NodeName, int]) -> Registered[Any]:
    """Treat the name of a node that is no candidate as a failure, because the node may even lack capacity."""

    def choose(task: Task, by_score: Mapping[float, Sequence[NodeView]]) -> NodeName | None:
        name: NodeName | None = chooser.function(task, by_score)
        if name is not None and name not in columns:
            raise ValueError(f"{shortened(name)!r} is none of the candidates")
        return name

    return Registered(plugin=chooser.plugin, function=choose)
