"""Candidates: for each task template, which nodes fit and how good they are, kept true while tasks are placed.

A placement touches one node, so only that node is asked about again: each template keeps a cursor into the session's
log of touched columns. What depends on more than the node (locality `GLOBAL`, functions of one task and one node) is
asked anew for each task, over the nodes that everything else leaves.

Runs of equal tasks are placed in one call: `run` looks ahead with the amounts that nodes would have after one, two,
three more such tasks, and gives exactly the places that choosing one by one would give.
"""

import heapq
from typing import Any, Final

import numpy as np

from pyroclast.framework.candidates.grouped_scores import grouped_run
from pyroclast.framework.candidates.node_answers import Beyond, Functions, NodeAnswers
from pyroclast.framework.candidates.scoring import ScoredNodes
from pyroclast.framework.extension.contract import GroupedScores, Locality, Registered
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.reservations.use import NO_USE
from pyroclast.model.tasks import Task, TaskTemplate

__all__ = ["MOST_AMOUNTS", "Candidates", "Choice"]

MOST_AMOUNTS: Final = 8192
"""Maximum number of node amounts with cached answers for one template. Above it, all are dropped and computed again."""

_NEVER: Final = float("-inf")
_FEW: Final = 8
"""Touched nodes that are looked up one by one; more are evaluated together. Without effect on the outcome."""
_LEVELS: Final = 8
"""Number of look-ahead steps per call: a balance of wasted and repeated work. Decisions do not depend on it."""


class Choice:
    """A place for one task."""

    __slots__ = ("column", "is_idle")

    def __init__(self, column: int, *, is_idle: bool) -> None:
        self.column = column
        self.is_idle = is_idle
        """Whether the room is free now; else it is being released."""


class Candidates:
    """Nodes for the tasks of one template; N nodes."""

    __slots__ = (
        "_ahead",
        "_amount_scores",
        "_amount_verdicts",
        "_answers",
        "_base",
        "_cursor",
        "_functions",
        "_is_best_ranked",
        "_known",
        "_needs",
        "_normalised",
        "_pod_scores",
        "_pod_verdicts",
        "_ranked",
        "_rooms",
        "_steady",
        "_use",
        "allowed",
        "depends_on_pods",
        "fits_future",
        "fits_idle",
        "scores",
        "template",
    )

    def __init__(self, answers: NodeAnswers, task: Task) -> None:
        self._answers = answers
        self.template: TaskTemplate = task.template
        self._functions = answers.functions
        self._needs = answers.nodes.needs(task.template)
        count = len(answers.nodes)
        columns = answers.nodes.columns()
        self._steady = answers.permitted_by_facts(task)
        base = self._sum(self._functions.scores[Locality.FACTS], task, columns)
        self._base: FloatArray = np.zeros(count) if base is None else base
        verdicts, scores = self._functions.verdicts, self._functions.scores
        self._amount_verdicts = self._concerned(verdicts[Locality.AMOUNTS], task, columns)
        self._amount_scores = self._concerned(scores[Locality.AMOUNTS], task, columns, is_score=True)
        self._pod_verdicts = self._concerned(verdicts[Locality.NODE], task, columns)
        self._pod_scores = self._concerned(scores[Locality.NODE], task, columns, is_score=True)
        self._use = answers.reserved.use_of(task) if answers.reserved else NO_USE
        self._rooms = answers.reserved.columns_of(self._use) if self._use.usable or self._use.takeover else {}
        """Usable Reservations by column."""
        self.depends_on_pods = bool(self._pod_verdicts or self._pod_scores or self._rooms)
        """Whether a plugin's answer depends on the pods of a node, so that amounts alone do not decide."""
        self._known: dict[bytes, tuple[bool, bool, bool, float]] = {}
        """Permitted, fits free resources, fits future resources, and score, by amounts of a node. Only what amounts
        decide."""
        self._ahead: dict[bytes, _Ahead] = {}
        """Score of a node with more tasks, by amounts of the node."""
        self.allowed: BoolArray = np.zeros(count, dtype=np.bool_)
        """Permitted by all rules that depend on the node alone, apart from resources, shape (N,)."""
        self.fits_idle: BoolArray = np.zeros(count, dtype=np.bool_)
        """Whether the request fits resources that are free now and not reserved, shape (N,)."""
        self.fits_future: BoolArray = np.zeros(count, dtype=np.bool_)
        """The request fits room that is free or being released, shape (N,)."""
        self.scores: FloatArray = np.zeros(count)
        """Sum of the scores that depend on the node alone, shape (N,)."""
        self._ranked: FloatArray = np.full(count, _NEVER)
        """`scores` where a task may be placed now, minus infinity elsewhere."""
        self._normalised: list[tuple[Registered[Any], FloatArray]] = []
        for each in self._functions.normalised:
            raw = answers.ask_scores(each, task, columns)
            if raw is not None and (each.locality is not Locality.FACTS or (count and raw.min() != raw.max())):
                self._normalised.append((each, raw))
        self._is_best_ranked = answers.takes_best_score and not self._normalised
        """Whether the best standing score decides, but for what is asked about each task."""
        self._cursor = len(answers.nodes.log)
        self._evaluate(task, columns, slice(None))

    @property
    def array_bytes(self) -> int:
        """Bytes of its arrays, as they stay."""
        own = (self._base, self.allowed, self.fits_idle, self.fits_future, self.scores, self._ranked)
        return sum(each.nbytes for each in own) + sum(raw.nbytes for _, raw in self._normalised)

    @property
    def is_outdated(self) -> bool:
        """Whether nodes changed since the last refresh."""
        return self._cursor != len(self._answers.nodes.log)

    # Keeping true -----------------------------------------------------------------------------------------------------

    def refresh(self, task: Task) -> None:
        """Update the answers for nodes that changed since the last call."""
        log = self._answers.nodes.log
        if self._cursor == len(log):
            return
        touched = set(log[self._cursor :])
        self._cursor = len(log)
        if len(touched) <= _FEW and not self.depends_on_pods and not self._normalised:
            for column in touched:
                self._recall(task, column)
            return
        columns = self._answers.nodes.columns(np.array(sorted(touched), dtype=np.int64))
        self._evaluate(task, columns, columns.index)
        for each, raw in self._normalised:
            if each.locality is not Locality.FACTS:
                fresh = self._answers.ask_scores(each, task, columns)
                raw[columns.index] = 0.0 if fresh is None else fresh

    def _recall(self, task: Task, column: int) -> None:
        """Bring one node up to date: nodes with equal amounts are asked about once."""
        amounts = self._answers.nodes.amounts_key(column)
        known = self._known.get(amounts)
        if known is None:
            columns = self._answers.nodes.one(column)
            permitted = self._permitted(self._amount_verdicts, task, columns)
            score = self._sum(self._amount_scores, task, columns)
            idle, future = self._fits(task, columns)
            if len(self._known) >= MOST_AMOUNTS:
                self._known.clear()
            known = self._known[amounts] = (
                permitted is None or bool(permitted[0]),
                bool(idle[0]),
                bool(future[0]),
                0.0 if score is None else float(score[0]),
            )
        permits, fits_idle, fits_future, for_amounts = known
        allowed = permits and bool(self._steady[column])
        total = self._base[column] + for_amounts
        self.allowed[column] = allowed
        self.fits_idle[column] = fits_idle
        self.fits_future[column] = fits_future
        self.scores[column] = total
        self._ranked[column] = total if allowed and fits_idle else _NEVER

    def _evaluate(self, task: Task, columns: NodeColumns, where: "slice | IntArray") -> None:
        allowed = self._steady[where]
        scores = self._base[where]
        if self._rooms:
            columns = self._answers.reserved.restored(task, columns)
        for verdicts in (self._amount_verdicts, self._pod_verdicts):
            permitted = self._permitted(verdicts, task, columns)
            if permitted is not None:
                allowed = allowed & permitted
        for functions in (self._amount_scores, self._pod_scores):
            added = self._sum(functions, task, columns)
            if added is not None:
                scores = scores + added
        idle, future = self._fits(task, columns)
        self.allowed[where] = allowed
        self.fits_idle[where] = idle
        self.fits_future[where] = future
        self.scores[where] = scores
        self._ranked[where] = np.where(allowed & idle, scores, _NEVER)

    def _fits(self, task: Task, columns: NodeColumns) -> tuple[BoolArray, BoolArray]:
        need = self._needs.thresholds
        free = columns.idle
        idle: BoolArray = np.logical_and.reduce(need <= free, axis=0)
        free += columns.releasing
        free -= columns.pipelined
        future: BoolArray = np.logical_and.reduce(need <= free, axis=0)
        # resources that are free but reserved for waiting tasks are available to no other task
        idle &= future
        if self._rooms:
            for position, now, later in self._answers.reserved.fits(task, self._use, self._rooms, columns):
                idle[position], future[position] = now, later
        return idle, future

    def _concerned(
        self, functions: Functions, task: Task, columns: NodeColumns, *, is_score: bool = False
    ) -> Functions:
        """Return the functions that concern this template."""
        return tuple([each for each in functions if self._answers.concerns(each, task, columns, is_score=is_score)])

    def _permitted(self, functions: Functions, task: Task, columns: NodeColumns) -> BoolArray | None:
        permitted: BoolArray | None = None
        for each in functions:
            verdicts = self._answers.ask_verdicts(each, task, columns)
            if verdicts is not None:
                permitted = verdicts == 0 if permitted is None else permitted & (verdicts == 0)
        return permitted

    def _sum(self, functions: Functions, task: Task, columns: NodeColumns) -> FloatArray | None:
        total: FloatArray | None = None
        for each in functions:
            scores = self._answers.ask_scores(each, task, columns)
            if scores is not None:
                total = scores if total is None else total + scores
        return total

    # Choosing ---------------------------------------------------------------------------------------------------------

    def choose(self, task: Task, domain: BoolArray | None = None) -> Choice | None:
        """Find the best node for a task.

        Nodes with free room come before nodes whose room is being released; in each, nodes of this scheduler's shard
        come first; then the highest score; then the lowest name.

        Args:
            task: A task of this template.
            domain: Which nodes may be looked at, shape (N,); all if None.

        Returns:
            A place, or None if no node fits.
        """
        self.refresh(task)
        if not self._ranked.size:
            return None
        dict.pop(self._answers.unscored, task.id, None)
        beyond = self._answers.beyond(task)
        if not self.has_free_room(domain):
            best = None
        elif self._is_best_ranked and (beyond is None or not beyond.scores):
            best = self._best_ranked(task, beyond, domain)
        else:
            best = self._best_by_groups(task, domain)
        if best is not None:
            return Choice(best, is_idle=True)
        feasible = self.allowed & self.fits_future
        for mask in (domain, self.asked_anew(task)):
            if mask is not None:
                feasible = feasible & mask
        return self._best_of(task, self.permit_pairs(task, feasible))

    def _best_ranked(self, task: Task, beyond: Beyond | None, domain: BoolArray | None) -> int | None:
        """Find the best node with free resources by the standing scores, after other plugins permitted nodes."""
        ranked = self._ranked
        permitted = None if beyond is None else self.asked_anew(task)
        for mask in (domain, permitted):
            if mask is not None:
                ranked = np.where(mask, ranked, _NEVER)
        column = int(ranked.argmax())
        return column if ranked[column] != _NEVER else None

    def _best_by_groups(self, task: Task, domain: BoolArray | None) -> int | None:
        """Find the best node with free room where scores beyond the node go by groups; None if they do not."""
        grouped = self._grouped(task)
        if grouped is None:
            return None
        ranked = self._ranked if domain is None else np.where(domain, self._ranked, _NEVER)
        is_open = ranked != _NEVER
        try:
            sizes = np.bincount(grouped.groups[is_open], minlength=grouped.group_count)
            totals = ranked + grouped.scores(sizes)[grouped.groups]
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self._answers.extensions.note_failure(self._scorer_of_groups(task), error)
            return None
        column = int(totals.argmax())
        return column if is_open[column] else None

    def _grouped(self, task: Task) -> GroupedScores | None:
        """Return the scores by groups, where those are all that counts besides the standing scores."""
        if not (self._is_best_ranked and self._ranked.size):
            return None
        beyond = self._answers.beyond(task)
        if beyond is None or beyond.grouped is None:
            return None
        each = beyond.grouped
        seen = self._answers.views.late(task)
        scores: GroupedScores | None = self._answers.extensions.ask_or(each, None, seen, asking=each.grouped)
        return scores

    def stands_alone(self, task: Task) -> bool:
        """Whether the standing scores decide which node is best, without rescaling and without new queries."""
        return self._is_best_ranked and self._answers.beyond(task) is None

    def is_hopeless(self, task: Task) -> bool:
        """Whether no node has room for a task now or later in this session, so that its like need not be tried."""
        if not self.stands_alone(task):
            return False
        self.refresh(task)
        return not (self.allowed & self.fits_future).any()

    def nodes_for(self, task: Task) -> BoolArray:
        """Return which nodes fit a task, apart from resources, shape (N,)."""
        self.refresh(task)
        permitted = self.allowed.copy()
        mask = self.asked_anew(task)
        if mask is not None:
            permitted &= mask
        return self.permit_pairs(task, permitted)

    @property
    def permitted_by_facts(self) -> BoolArray:
        """Return which nodes are permitted by all that no eviction can change, shape (N,); do not write."""
        return self._steady

    def takes(self, task: Task, column: int) -> bool:
        """Return whether one node could take a task on room that is free or being released, shards apart."""
        self.refresh(task)
        if not (self.allowed[column] and self.fits_future[column]):
            return False
        permitted = self.asked_anew(task)
        if permitted is not None and not permitted[column]:
            return False
        pairs = self._functions.verdicts[None]
        if not pairs:
            return True
        return all(self._answers.ask_pair(each, task, column) is None for each in pairs)

    def best_among(self, task: Task, mask: BoolArray) -> int | None:
        """Return the best of some nodes, room and shard apart; None if there is none."""
        columns = np.flatnonzero(mask)
        if not columns.size:
            return None
        return self._pick(task, columns)

    def ranked(self, task: Task, mask: BoolArray) -> IntArray:
        """Return some nodes, best score first, room and shard apart; ties by name. None if one refuses to score."""
        self.refresh(task)
        columns = np.flatnonzero(mask)
        if not columns.size:
            return columns
        return ScoredNodes(self._answers, task, columns, self.scores[columns], self._normalised).ranked()

    def asked_anew(self, task: Task) -> BoolArray | None:
        """Query the functions that depend on more than the node: a mask, shape (N,), or None if none restricts."""
        beyond = self._answers.beyond(task)
        return None if beyond is None else self._permitted(beyond.verdicts, task, self._answers.nodes.columns())

    @property
    def refusing_by_pods(self) -> bool:
        """Whether some plugin may refuse a node for the pods that it has, whatever room they leave."""
        return bool(self._pod_verdicts)

    def permit_pairs(self, task: Task, feasible: BoolArray) -> BoolArray:
        """Leave of some nodes, shape (N,), those that functions of one task and one node permit."""
        pairs = self._functions.verdicts[None]
        if not pairs:
            return feasible
        feasible = feasible.copy()
        for each in pairs:
            columns = np.flatnonzero(feasible).tolist()
            reasons = self._answers.ask_pairs(each, task, columns)
            feasible[columns] = [reason is None for reason in reasons]
        return feasible

    def _best_of(self, task: Task, feasible: BoolArray) -> Choice | None:
        for is_idle in (True, False):
            fitting = feasible & self.fits_idle if is_idle else feasible & ~self.fits_idle
            for group in self._answers.shard_groups(fitting):
                columns = np.flatnonzero(group)
                if columns.size == 1:
                    return Choice(int(columns[0]), is_idle=is_idle)
                if columns.size:
                    column = self._pick(task, columns)
                    return None if column is None else Choice(column, is_idle=is_idle)
        return None

    def _pick(self, task: Task, columns: IntArray) -> int | None:
        return ScoredNodes(self._answers, task, columns, self.scores[columns], self._normalised).best()

    # Runs -------------------------------------------------------------------------------------------------------------

    def can_look_ahead(self, task: Task) -> bool:
        """Whether amounts and groups of nodes decide the nodes of this template's tasks, so one call places all."""
        self.refresh(task)
        if self.depends_on_pods:
            return False
        if not self._is_best_ranked:
            return False
        beyond = self._answers.beyond(task)
        return beyond is None or beyond.grouped is not None

    def has_free_room(self, domain: BoolArray | None) -> bool:
        """Whether any node of a domain has free room for a task of this template, as of the last refresh."""
        ranked = self._ranked if domain is None or not self._ranked.size else self._ranked[domain]
        return bool((ranked != _NEVER).any())

    def run(self, task: Task, count: int, domain: BoolArray | None = None) -> list[int]:
        """Choose places on free room for up to `count` tasks of this template, one after the other.

        Returns:
            Columns in the order of choice: exactly those that choosing one by one would give; fewer than `count` where
            free room ends.
        """
        self.refresh(task)
        ranked = self._ranked if domain is None else np.where(domain, self._ranked, _NEVER)
        if not ranked.size:
            return []
        if not self.stands_alone(task):
            return self._run_by_groups(task, count, ranked)
        if count < ranked.size:
            # a column outside the first `count` ones is never reached: each choice uses up at most one of them
            threshold = np.partition(ranked, ranked.size - count)[ranked.size - count]
            columns = np.flatnonzero(ranked > threshold)
            ties = np.flatnonzero(ranked == threshold)[: count - columns.size]
            columns = np.sort(np.concatenate([columns, ties]))
        else:
            columns = np.arange(ranked.size)
        columns = columns[ranked[columns] != _NEVER]
        return self._merge(task, columns, count)

    def _run_by_groups(self, task: Task, count: int, ranked: FloatArray) -> list[int]:
        """Choose places by scores of groups; none where these fail, so that tasks are placed one by one."""
        grouped = self._grouped(task)
        if grouped is None:
            return []
        try:
            return grouped_run(self.rank_after, task, count, ranked, grouped)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self._answers.extensions.note_failure(self._scorer_of_groups(task), error)
            return []

    def _scorer_of_groups(self, task: Task) -> str:
        beyond = self._answers.beyond(task)
        assert beyond is not None
        assert beyond.grouped is not None, "asked where groups are scored"
        return beyond.grouped.plugin

    def rank_after(self, task: Task, column: int, level: int) -> float:
        """Return the standing score of a node after `level` more tasks; minus infinity where no other fits then."""
        return self.ahead(column).rank(task, column, level) + float(self._base[column])

    def _merge(self, task: Task, columns: IntArray, count: int) -> list[int]:
        heap = list(zip((-self._ranked[columns]).tolist(), columns.tolist(), strict=True))
        heapq.heapify(heap)
        used: dict[int, int] = {}
        ahead: dict[int, _Ahead] = {}
        chosen: list[int] = []
        while heap and len(chosen) < count:
            column = heap[0][1]
            chosen.append(column)
            level = used[column] = used.get(column, 0) + 1
            known = ahead.get(column)
            if known is None:
                known = ahead[column] = self.ahead(column)
            rank = known.rank(task, column, level)
            if rank == _NEVER:
                heapq.heappop(heap)
            else:
                heapq.heapreplace(heap, (-(rank + float(self._base[column])), column))
        return chosen

    def ahead(self, column: int) -> "_Ahead":
        """Return what a node would be worth after one, two, ... more tasks: one answer for nodes of equal amounts."""
        key = self._answers.nodes.amounts_key(column)
        known = self._ahead.get(key)
        if known is None:
            if len(self._ahead) >= MOST_AMOUNTS:
                self._ahead.clear()
            known = self._ahead[key] = _Ahead(self)
        return known

    def supposed(self, task: Task, column: int, more: IntArray) -> FloatArray:
        """Rank a node by its amounts as if `more` tasks of this template had been placed on it, shape of `more`."""
        where = np.full(more.size, column)
        state = self._answers.nodes.state[:, where] + self._needs.allocate[:, None] * more
        columns = self._answers.nodes.supposing(where, state)
        ranks: FloatArray = np.zeros(more.size)
        for_amounts = self._sum(self._amount_scores, task, columns)
        if for_amounts is not None:
            ranks = ranks + for_amounts
        fits, _ = self._fits(task, columns)
        by_amounts = self._permitted(self._amount_verdicts, task, columns)
        if by_amounts is not None:
            fits = fits & by_amounts
        return np.where(fits, ranks, _NEVER)


class _Ahead:
    """Ranks by amounts after one, two, ... more tasks, worked out in bulk."""

    __slots__ = ("_candidates", "_ranks")

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates
        self._ranks: list[float] = []

    def rank(self, task: Task, column: int, level: int) -> float:
        """Return the rank after `level` more tasks than now; `column` is any node that has these amounts now."""
        if len(self._ranks) < level:
            more = np.arange(1, max(level, 2 * len(self._ranks), _LEVELS) + 1, dtype=np.int64)
            self._ranks = self._candidates.supposed(task, column, more).tolist()
        return self._ranks[level - 1]
