"""Shadows: plugins that are asked what the others are asked, while nothing follows their answers.

A cycle with shadows asks further questions and keeps further state. Therefore the cycle that decides has none: the
same cycle is decided once more for them, and its plans are dropped. In it each shadow has functions, a report and a
scratch of its own. Its answers are compared with those of the session at the moment at which the session is asked.

| point | a shadow agrees if |
|---|---|
| permissions and votes | it permits what the others permit together, and refuses what they refuse |
| `predicate` | it permits the node that a task is placed on |
| `node_order` | no node that the others permit has a higher score from it than the chosen one |
| `best_node` | it takes the chosen node |
| orders | it does not put two subjects that are asked about in succession the other way round |
| victims | it names the same pods |
| ledgers | it accepts a placement or an eviction that the others accept |

A shadow that abstains at a point is not counted there.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.candidates.examining import addends_of
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.views import SessionViews
from pyroclast.framework.configuration import PluginOption, Profile
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.budgets import Budgets
from pyroclast.framework.extension.contract import Change, Point, Registered, Verb, Vote
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.extension.votes import cast_votes, choose_victims, first_refusal
from pyroclast.framework.session.queues import SessionQueues
from pyroclast.framework.state.caller import Caller
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.refusals import Refusal
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["MOST_PLACEMENTS", "ShadowExtensions", "ShadowPlugin", "Shadows"]

MOST_PLACEMENTS: Final = 1000
"""Maximum number of placements of one cycle for which shadows are asked about nodes."""

_ORDERS: Final = (contract.QUEUE_ORDER, contract.JOB_ORDER, contract.TASK_ORDER, contract.SUB_JOB_ORDER)
_VICTIMS: Final = (contract.PREEMPTABLE, contract.RECLAIMABLE, contract.UNIFIED_EVICTABLE)

T = TypeVar("T")

Compare = Callable[["ShadowPlugin", Point[Any], Any, Sequence[Any], Mapping[str, Any]], bool | None]
"""Asks a shadow. Takes the answer of the session and its arguments; returns whether they agree, None without answer."""


class ShadowExtensions(Extensions):
    """The functions of one shadow, which are asked apart from those of all other plugins."""

    def __init__(self, option: PluginOption, profile: Profile, caller: Caller, budgets: Budgets | None) -> None:
        super().__init__(Profile(actions=profile.actions, tiers=((option,),)), budgets)
        self.caller = caller
        self.failed = 0
        """Number of failures."""

    def note_failure(self, plugin: str, error: BaseException) -> Refusal:
        """Count the failure, too."""
        self.failed += 1
        return super().note_failure(plugin, error)


class ShadowPlugin:
    """One plugin in shadow mode."""

    def __init__(
        self,
        instance: str,
        extensions: ShadowExtensions,
        *,
        nodes: SessionNodes,
        snapshot: Snapshot,
        reserved: SessionReservations,
    ) -> None:
        self.instance = instance
        self.extensions = extensions
        views = SessionViews(extensions, nodes)
        self.candidates = CandidateNodes(NodeAnswers(extensions, nodes, snapshot, reserved, views))
        """Which nodes take a task by this plugin alone."""

    def scores(self, task: Task, columns: Any) -> Any:
        """Return the sum of the plugin's scores of some nodes, shape (columns,); None if it has none."""
        answers = self.candidates.answers
        found = [addend.scores for _, addend in addends_of(answers, task, columns)]
        return sum(found, start=np.zeros(columns.size)) if found else None


class Shadows:
    """The plugins in shadow mode of one session, and how their answers compare."""

    def __init__(self) -> None:
        self.answers: Counter[tuple[str, str, str]] = Counter()
        """Number of answers by plugin, point and result."""
        self._shadows: tuple[ShadowPlugin, ...] = ()
        self._candidates: CandidateNodes | None = None
        self._queues: SessionQueues | None = None
        self._is_asking = False
        self._placements = 0
        self._last: dict[tuple[str, str], tuple[Any, Any, Any]] = {}
        """Group of the last subject, its key in the session, and its key of the shadow, by shadow and order."""
        self._applied: dict[int, tuple[Change, list[tuple[ShadowPlugin, int]]]] = {}
        """Changes with the ledgers of shadows that applied them, by identity."""
        self._comparisons: Mapping[str, Compare] = {
            **{point.name: self._order for point in _ORDERS},
            **{point.name: self._part_verdict for point in (contract.SUB_JOB_READY, contract.SUB_JOB_PIPELINED)},
            **{point.name: _victims for point in _VICTIMS},
            contract.VICTIM_TASKS.name: _moves,
            contract.JOB_ENQUEUED.name: _notified,
        }
        """Comparisons other than of verdicts, by point."""

    @property
    def failures(self) -> dict[str, Refusal]:
        """The first failure of each shadow that failed."""
        return {name: why for each in self._shadows for name, why in each.extensions.failures.items()}

    @property
    def over_budget(self) -> tuple[str, ...]:
        """Shadows that used up their time budgets."""
        return tuple(name for each in self._shadows for name in each.extensions.over_budget)

    def follow(self, shadows: Sequence[ShadowPlugin], *, queues: SessionQueues, candidates: CandidateNodes) -> None:
        """Ask opened shadows from now on whenever the session with these queues and nodes is asked."""
        self._shadows = tuple(shadows)
        self._candidates, self._queues = candidates, queues
        for shadow in shadows:
            if shadow.extensions.failed:
                self.answers[shadow.instance, "on_session_open", "failed"] += 1

    def compared(self, point: Point[Any], answer: T, *about: Any, **named: Any) -> T:
        """Ask the shadows at a point, compare their answers with that of the session, and return the latter.

        Args:
            point: The point.
            answer: Answer of the session.
            about: Subjects of the question, as the functions of the point take them.
            named: Its conditions.
        """
        compare = self._comparisons.get(point.name, self._verdict)
        self._each(point, lambda shadow: compare(shadow, point, answer, about, named))
        return answer

    def _each(self, point: Point[Any], compare: Callable[[ShadowPlugin], bool | None]) -> None:
        """Ask all shadows with functions at a point; what they ask in turn is not compared."""
        if self._is_asking:
            return
        self._is_asking = True
        try:
            for shadow in self._shadows:
                if shadow.extensions.functions(point):
                    self._count(shadow, point.name, partial(compare, shadow))
        finally:
            self._is_asking = False

    def _count(
        self, shadow: ShadowPlugin, point: str, compare: Callable[[], bool | None], *, is_counted: bool = True
    ) -> None:
        before = shadow.extensions.failed
        try:
            agrees = compare()
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            shadow.extensions.note_failure(shadow.instance, error)
            agrees = None
        if not is_counted:
            return
        if shadow.extensions.failed > before:
            self.answers[shadow.instance, point, "failed"] += 1
        elif agrees is not None:
            self.answers[shadow.instance, point, "agrees" if agrees else "differs"] += 1

    def _verdict(
        self, shadow: ShadowPlugin, point: Point[Any], answer: Any, about: Sequence[Any], _named: Mapping[str, Any]
    ) -> bool:
        permitted: bool = answer if isinstance(answer, bool) else not answer  # a refusal, or a list of refusals
        return _permits(shadow.extensions, point, about, lends=bool(self._queues and self._queues.lends)) == permitted

    def _part_verdict(
        self, shadow: ShadowPlugin, point: Point[Any], answer: Any, about: Sequence[Any], named: Mapping[str, Any]
    ) -> bool | None:
        if not about[0].job.has_sub_group_policy:
            return None  # the job was asked instead
        return self._verdict(shadow, point, answer, about, named)

    def _order(
        self, shadow: ShadowPlugin, point: Point[Any], answer: Any, about: Sequence[Any], named: Mapping[str, Any]
    ) -> bool | None:
        if named.get("across_jobs"):
            return None
        group, key = _group_of(about[0]), shadow.extensions.keys(point, about[0])
        last = self._last.get((shadow.instance, point.name))
        self._last[shadow.instance, point.name] = group, answer, key
        if last is None or last[0] != group or last[1] == answer:
            return None
        return bool(key == last[2] or (key < last[2]) == (answer < last[1]))

    # Placements -------------------------------------------------------------------------------------------------------

    def may_compare_place(self) -> bool:
        """Return whether shadows are asked about one more placement, and count it."""
        self._placements += 1
        return self._placements <= MOST_PLACEMENTS

    def compare_place(self, task: Task, column: int, verb: Verb) -> None:
        """Ask the shadows about the node that a task is about to get."""
        assert self._candidates is not None
        known = self._candidates.of(task)
        permitted = known.nodes_for(task) & (known.fits_idle if verb is Verb.ALLOCATE else known.fits_future)
        columns = np.flatnonzero(permitted)

        def permits(shadow: ShadowPlugin) -> bool:
            return bool(shadow.candidates.of(task).nodes_for(task)[column])

        def prefers(shadow: ShadowPlugin) -> bool | None:
            scores = shadow.scores(task, columns) if permitted[column] else None
            return None if scores is None else bool(scores[columns == column][0] >= scores.max())

        def takes(shadow: ShadowPlugin) -> bool | None:
            if not permitted[column]:
                return None
            candidates = shadow.candidates.of(task)
            candidates.refresh(task)
            return candidates.best_among(task, permitted) == column

        self._each(contract.PREDICATE, permits)
        scoring = (contract.NODE_ORDER, contract.BATCH_NODE_ORDER, contract.NODE_MAP)
        for shadow in self._shadows:
            if any(shadow.extensions.functions(point) for point in scoring):
                self._count(shadow, contract.NODE_ORDER.name, partial(prefers, shadow))
        self._each(contract.BEST_NODE, takes)

    # Ledgers ----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> None:
        """Show a change to the ledgers of all shadows."""
        applied: list[tuple[ShadowPlugin, int]] = []
        for shadow in self._shadows:
            for number, (_, ledger) in enumerate(shadow.extensions.all_ledgers()):

                def accepts(shadow: ShadowPlugin = shadow, number: int = number, ledger: Any = ledger) -> bool:
                    is_accepted = ledger.apply(change) is None
                    if is_accepted:
                        applied.append((shadow, number))
                    return is_accepted

                self._count(shadow, "ledger", accepts, is_counted=not change.is_trial)
        if applied:
            self._applied[id(change)] = change, applied

    def revert(self, change: Change) -> None:
        """Undo a change in the ledgers that applied it, in reverse order."""
        _, applied = self._applied.pop(id(change), (change, []))
        for shadow, number in reversed(applied):
            try:
                shadow.extensions.all_ledgers()[number][1].revert(change)
            except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
                shadow.extensions.note_failure(shadow.instance, error)


def _permits(extensions: Extensions, point: Point[Any], about: Sequence[Any], *, lends: bool) -> bool:
    """Return whether a shadow permits something, by the rule of combination of the point."""
    failed = extensions.note_failure
    if point.combine == "votes":
        return cast_votes(extensions.tiers(point), *about, failed=failed)[0]
    if point.combine == "first tier":
        return all(extensions.ask_or(each, False, *about) for each in extensions.functions(point))
    permitted = point is not contract.OVERUSED
    functions = extensions.functions(point)
    return first_refusal(functions, *about, failed=failed, permitted=permitted, lends=lends) is None


def _group_of(subject: Any) -> Any:
    """Return what subjects have in common that are ordered together: the job of tasks and sub-jobs."""
    job = getattr(subject, "job", None)
    return getattr(job, "id", job) if isinstance(subject, Task) or hasattr(job, "has_sub_group_policy") else None


def _notified(
    shadow: ShadowPlugin, point: Point[Any], _answer: Any, about: Sequence[Any], _named: Mapping[str, Any]
) -> bool | None:
    """Notify a shadow; there is no answer."""
    for each in shadow.extensions.functions(point):
        shadow.extensions.ask_or(each, None, *about)
    return None


def _victims(
    shadow: ShadowPlugin, point: Point[Any], answer: Any, about: Sequence[Any], named: Mapping[str, Any]
) -> bool | None:
    """Return whether a shadow names the same victims."""
    (subject, candidates), gang = about, named["gang"]
    has_answered = False

    def ask(each: Registered[Any]) -> Any:
        nonlocal has_answered
        together = each.together if gang else None
        found = each.function(subject, candidates) if together is None else together(subject, candidates, gang)
        has_answered = has_answered or not (isinstance(found, tuple) and found[1] == Vote.ABSTAIN)
        return found

    extensions = shadow.extensions
    within_queue = named.get("within_queue", False)
    tiers = [[each for each in extensions.functions(point) if not (within_queue and each.compares_queues)]]
    victims, _ = choose_victims(tiers, candidates, ask, failed=extensions.note_failure)
    return {task.id for task in victims} == {task.id for task in answer} if has_answered else None


def _moves(
    shadow: ShadowPlugin, point: Point[Any], answer: Any, about: Sequence[Any], _named: Mapping[str, Any]
) -> bool:
    """Return whether a shadow names the same pods to move."""
    named = {
        getattr(each, "task", each).id
        for function in shadow.extensions.functions(point)
        for each in shadow.extensions.ask_or(function, (), *about)
    }
    return named == {move.task.id for move in answer}
