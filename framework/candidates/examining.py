"""Examining: one task against all nodes, with the scores of each plugin, and the nodes that each rule refuses.

It answers "why this node" and "why not that node" for people. It decides nothing: the cycle of an examination is run
beside the one that decides, see `framework.diagnosis.examinations`.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from pyroclast.framework.candidates.candidates import Candidates
from pyroclast.framework.candidates.explaining import Tally
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.candidates.scoring import numbers_by_name, reduced
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Addend, Locality, Registered
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.examination import NodeRefusal, NodeScores, ScoreColumn
from pyroclast.model.ids import NodeName
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.tasks import Task

__all__ = ["Examined", "addends_of", "examine"]


class Examined(NamedTuple):
    """What an examination of one task found."""

    candidate_count: int
    columns: tuple[ScoreColumn, ...]
    scores: tuple[NodeScores, ...]
    refusals: tuple[NodeRefusal, ...]
    not_asked: tuple[str, ...]


def examine(
    answers: NodeAnswers, candidates: Candidates, task: Task, *, chosen: int | None, refusal: Refusal | None, limit: int
) -> Examined:
    """Examine a task.

    Args:
        answers: The answers of plugins.
        candidates: The candidates of the task's template.
        task: A pending task, or one that counts as gone from its node.
        chosen: Column of the node that it takes; None if it takes none.
        refusal: Refusal of the task that concerns all nodes, such as one of a pre-predicate; None if there is none.
        limit: Maximum number of nodes in the table of scores, and of names for each rule.
    """
    names = answers.nodes.table.names
    count = len(answers.nodes)
    if refusal is not None:
        everywhere = NodeRefusal(
            plugin=refusal.plugin,
            reason=refusal.text or refusal.reason,
            resolvable=refusal.resolvable,
            count=count,
            nodes=(),
        )
        return Examined(0, (), (), (everywhere,), ())
    tally = _NodeTally(answers, task, np.arange(count), limit)
    tally.ask_all(is_everywhere=False)
    candidates.refresh(task)
    columns = _candidates(answers, tally.open, candidates.fits_idle, chosen)
    addends = list(addends_of(answers, task, columns))
    totals: FloatArray = sum((each.scores for _, each in addends), start=np.zeros(columns.size))
    best = np.argsort(-totals, kind="stable")
    shown = [place for rank, place in enumerate(best.tolist()) if rank < limit or columns[place] == chosen]
    return Examined(
        candidate_count=columns.size,
        columns=tuple(
            ScoreColumn(plugin=each.plugin, part=addend.name, weight=addend.weight) for each, addend in addends
        ),
        scores=tuple(
            NodeScores(
                node=names[columns[place]],
                weighted=tuple(float(addend.scores[place]) for _, addend in addends),
                total=float(totals[place]),
            )
            for place in shown
        ),
        refusals=tally.by_rule(),
        not_asked=_not_asked(answers),
    )


def _candidates(answers: NodeAnswers, fitting: IntArray, fits_idle: BoolArray, chosen: int | None) -> IntArray:
    """Return the nodes among which the scores decide, as `Candidates` does: free room first, then the own shard."""
    fits = np.zeros(len(answers.nodes), dtype=np.bool_)
    fits[fitting] = True
    groups = [
        np.flatnonzero(group)
        for mask in (fits & fits_idle, fits & ~fits_idle)
        for group in answers.shard_groups(mask)
        if group.any()
    ]
    # an action that evicts takes a node of a later group, or one that fits only without the victims
    found = next((group for group in groups if chosen is None or chosen in group), fitting)
    return found if chosen is None or chosen in found else np.sort(np.append(found, chosen))


def addends_of(answers: NodeAnswers, task: Task, columns: IntArray) -> Iterator[tuple[Registered[Any], Addend]]:
    """Yield the scores of each plugin for some columns, in configuration order; nothing where it abstains."""
    if not columns.size:
        return
    for each in answers.extensions.functions(contract.NODE_ORDER):
        if each.is_outside:
            continue
        yield from ((each, addend) for addend in _node_order(answers, each, task, columns))
    batches = answers.extensions.functions(contract.BATCH_NODE_ORDER)
    maps = answers.extensions.functions(contract.NODE_MAP)
    if not (batches or maps):
        return
    seen, views = answers.pairs_to_score(task, columns.tolist())
    for each in batches:
        answer = None if each.is_outside else answers.extensions.ask_or(each, None, seen, views)
        if answer is not None and not isinstance(answer, Refusal):
            yield each, _addend(each, numbers_by_name(answers, each, answer, views), columns.size)
    reducers = {each.plugin: each for each in answers.extensions.functions(contract.NODE_REDUCE)}
    for each in maps:
        if each.plugin in reducers:
            yield each, _addend(each, reduced(answers, seen, each, reducers[each.plugin], views), columns.size)


def _node_order(
    answers: NodeAnswers, each: Registered[Any], task: Task, columns: IntArray
) -> Sequence[Addend] | Iterator[Addend]:
    if each.locality is None:
        seen, views = answers.pairs_to_score(task, columns.tolist())
        scores = [answers.ask_pair_score(each, seen, view) for view in views]
        return (_addend(each, np.array(scores), columns.size),)
    if each.locality is Locality.GLOBAL and not answers.cares(each, task):
        return ()
    some = answers.nodes.columns(columns)
    if each.addends is not None:
        seen_some = answers.for_score(task, some)
        found: Sequence[Addend] = answers.extensions.ask_or(each, (), *seen_some, asking=each.addends)
        return [_named(each, addend) for addend in found]
    raw = answers.ask_scores(each, task, some)
    if raw is None:
        return ()
    return (_addend(each, raw if each.normalise is None else answers.normalised(each, raw), columns.size),)


def _named(each: Registered[Any], addend: Addend) -> Addend:
    """Return an addend with a name that stands for itself: `least requested`, or that of the registration."""
    return addend if addend.name else addend._replace(name=each.part)


def _addend(each: Registered[Any], scores: FloatArray | float, count: int) -> Addend:
    return Addend(each.part, each.weight, np.broadcast_to(scores, (count,)))


def _not_asked(answers: NodeAnswers) -> tuple[str, ...]:
    points = (contract.PREDICATE, contract.NODE_ORDER, contract.BATCH_NODE_ORDER)
    outside = [each.plugin for point in points for each in answers.extensions.functions(point) if each.is_outside]
    return tuple(dict.fromkeys(outside))


class _NodeTally(Tally):
    """A tally that also has the nodes of each rule."""

    def __init__(self, answers: NodeAnswers, task: Task, open_columns: IntArray, limit: int) -> None:
        super().__init__(answers, task, open_columns)
        self._limit = limit
        self._refused: dict[tuple[str, str, bool], list[IntArray]] = {}

    def refuse(self, mask: BoolArray, reason: Reason, plugin: str) -> None:
        """Note the nodes of a mask, and close them."""
        if mask.any():
            self._refused.setdefault((plugin, reason.text, reason.resolvable), []).append(self.open[mask])
        super().refuse(mask, reason, plugin)

    def ask(self, each: Registered[Any]) -> None:
        """Ask a predicate, unless another process answers."""
        if not each.is_outside:
            super().ask(each)

    def by_rule(self) -> tuple[NodeRefusal, ...]:
        """Return the rules with their nodes, most nodes first."""
        names: Sequence[NodeName] = self._answers.nodes.table.names
        found = [
            NodeRefusal(
                plugin=plugin,
                reason=text,
                resolvable=resolvable,
                count=sum(part.size for part in parts),
                nodes=tuple(names[column] for column in np.sort(np.concatenate(parts))[: self._limit].tolist()),
            )
            for (plugin, text, resolvable), parts in self._refused.items()
        ]
        return tuple(sorted(found, key=lambda each: (-each.count, each.plugin, each.reason)))
