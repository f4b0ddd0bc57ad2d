"""Node questions: the plugins' answers about nodes, and which nodes a task fits."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension import points
from pyroclast.framework.extension.finite import finite, finite_number
from pyroclast.framework.extension.points import Locality, Registered
from pyroclast.framework.extension.registration import Registering
from pyroclast.framework.extension.required_rules import unserved_rule
from pyroclast.framework.extension.votes import first_refusal
from pyroclast.framework.placement.candidate_store import CandidateStore
from pyroclast.framework.placement.candidates import Beyond, Candidates, NodeFunctions
from pyroclast.framework.placement.empty_nodes import PlacesOnEmptyNodes, places_for
from pyroclast.framework.placement.explaining import explain
from pyroclast.framework.session.nodes import NodeColumns, NodeView, SessionNodes
from pyroclast.framework.session.scratch import Scratch
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray, ReasonArray
from pyroclast.model.ids import TaskId
from pyroclast.model.matching.bounds import beyond_bounds
from pyroclast.model.refusals import Reason, Refusal
from pyroclast.model.sealed import SealedDict
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["NodeQuestions"]

_MOST_MASK_BYTES: Final = 32 * 2**20
"""Masks of unlike templates, and as much again for what they are looked up by; beyond that all are made anew."""


class NodeQuestions(Registering):
    """The nodes of one session, and what is asked about them."""

    def __init__(self, snapshot: Snapshot, profile: Profile) -> None:
        super().__init__(profile)
        self.snapshot = snapshot
        self.resources = snapshot.resources
        self.nodes = SessionNodes(snapshot.nodes, snapshot.resources, self._caller)
        self.node_functions = NodeFunctions((), ())
        self.takes_best_score = False
        """Whether the highest standing score decides: no function asked per node, no chooser, no soft shard."""
        self.scratch = Scratch()
        self._candidates = CandidateStore()
        self._beyond: tuple[Task | None, int, Beyond | None] = (None, -1, None)
        """Who cares about the last task that was asked about, and the length of the log at that moment."""
        self._room: tuple[int, IntArray | None] = (-1, None)
        """Room free now or later on each node, and the length of the log at that moment."""
        self._fits_empty: dict[int, bool] = {}
        self._places_empty: dict[int, PlacesOnEmptyNodes] = {}
        self._permitted: dict[int, BoolArray] = {}
        """By template number, see `permitted_by_facts`."""
        self._masks: dict[bytes, BoolArray] = {}
        """Equal masks are kept once: most templates share one."""
        self.unscored: SealedDict[TaskId, Refusal] = SealedDict()
        """Tasks of which somebody would not have a node chosen, by their id, and why."""
        self._bounds: dict[int, Refusal | None] = {}
        """By template number, see `beyond_bounds`."""
        self._explained: dict[int, tuple[int, Refusal]] = {}
        """By template: why no node took its tasks, and the length of the log at that moment."""

    def counted_amounts(self, task: Task) -> list[int]:
        """Return what counts of a task for its queue or quota, base units by row; do not write.

        That is its request, of a task on a node as far as the node offers it.
        """
        uncounted = self.snapshot.uncounted.get(task.id)
        amounts: list[int] = self.nodes.needs(task.template).amounts
        return (
            amounts
            if uncounted is None
            else [each - more for each, more in zip(amounts, uncounted.tolist(), strict=True)]
        )

    def seal(self) -> None:
        """End the time of registering, and drop what was answered in it by the plugins opened so far."""
        super().seal()
        for known in (self._candidates, self._fits_empty, self._places_empty, self._permitted, self._explained):
            known.clear()
        self._beyond = (None, -1, None)
        self.node_functions = NodeFunctions(self.functions(points.PREDICATE), self.functions(points.NODE_ORDER))
        self.takes_best_score = self._takes_best_score()
        self._after_opening()

    def ask_verdicts(self, each: Registered[Any], task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Ask a predicate over arrays; a failing one refuses every node."""
        try:
            verdicts: ReasonArray | None = each.function(task, columns)
            if verdicts is not None and verdicts.shape != columns.index.shape:
                raise ValueError(f"verdicts of shape {verdicts.shape} for {len(columns)} columns")  # noqa: TRY301  # the plugin's failure
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            self.note_failure(each.plugin, error)
            return np.full(len(columns), len(self.reasons_of(each, task)) + 1, dtype=np.uint8)
        return verdicts

    def reasons_of(self, each: Registered[Any], task: Task) -> Sequence[Reason]:
        """Return what the verdicts of a predicate over arrays mean for a task, the first one first."""
        if each.reasons_of is None:
            return each.reasons
        reasons: Sequence[Reason] = self.ask_or(each, (), task, asking=each.reasons_of)
        return reasons

    def ask_scores(self, each: Registered[Any], task: Task, columns: NodeColumns) -> FloatArray | None:
        """Ask a score over arrays; a failing one adds nothing."""
        scores: FloatArray | None = self.ask_or(each, None, task, columns)
        if scores is not None and scores.shape != columns.index.shape:
            self.note_failure(each.plugin, ValueError(f"scores of shape {scores.shape} for {len(columns)} columns"))
            return None
        return None if scores is None else self.ask_or(each, None, scores, asking=finite)

    def cares(self, each: Registered[Any], task: Task) -> bool:
        """Tell whether a task is a concern of a function; where that fails the function is asked itself."""
        return each.cares is None or bool(self.ask_or(each, True, task, asking=each.cares))

    def beyond(self, task: Task) -> Beyond | None:
        """Return the functions beyond the node that have a say about a task as things stand; None where none has."""
        last, version, known = self._beyond
        if last is not task or version != len(self.nodes.log):
            known = self._concerned(task)
            self._beyond = (task, len(self.nodes.log), known)
        return known

    def _concerned(self, task: Task) -> Beyond | None:
        if self.beyond_bounds(task) is not None:
            return None  # no node takes it, so that nothing need be asked
        functions = self.node_functions
        verdicts, scores = functions.verdicts[Locality.GLOBAL], functions.global_scores
        try:  # asked for every task: one call less for each function
            verdicts = tuple([each for each in verdicts if each.cares is None or each.cares(task)])
            scores = tuple([each for each in scores if each.cares is None or each.cares(task)])
        except Exception:  # noqa: BLE001  # asked again one by one, which finds out who fails
            verdicts = tuple(each for each in verdicts if self.cares(each, task))
            scores = tuple(each for each in scores if self.cares(each, task))
        return Beyond(verdicts, scores) if verdicts or scores else None

    def normalised(self, each: Registered[Any], raw: FloatArray) -> FloatArray | float:
        """Rescale the scores of candidates as a plugin says; one that fails adds nothing."""
        assert each.normalise is not None, "asked of scores that are rescaled"
        try:
            return finite(each.normalise(raw))
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.note_failure(each.plugin, error)
            return 0.0

    def ask_pair(self, each: Registered[Any], task: Task, node: NodeView) -> Reason | None:
        """Ask a predicate about one node; None where it permits."""
        try:
            answer = each.function(task, node)
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is its refusal
            return Reason(self.note_failure(each.plugin, error).message)
        return _reason_of(each, answer)

    def ask_pairs(self, each: Registered[Any], task: Task, columns: Sequence[int]) -> list[Reason | None]:
        """Ask a predicate about several nodes, in one go where it can be; for each None where it permits."""
        nodes = [self.nodes.view(column) for column in columns]
        if each.many is None or len(nodes) <= 1:
            return [self.ask_pair(each, task, node) for node in nodes]
        try:
            answers = list(each.many(task, nodes))
            if len(answers) != len(nodes):
                raise ValueError(f"{len(answers)} answers about {len(nodes)} nodes")  # noqa: TRY301  # the plugin's failure
        except Exception as error:  # noqa: BLE001  # as above
            return [Reason(self.note_failure(each.plugin, error).message)] * len(nodes)
        return [_reason_of(each, answer) for answer in answers]

    def ask_pair_score(self, each: Registered[Any], task: Task, node: NodeView) -> float:
        """Ask for the score of one node; a failing function gives 0."""
        try:
            return finite_number(float(each.function(task, node)))
        except Exception as error:  # noqa: BLE001  # whatever a plugin raises is noted in its name
            self.note_failure(each.plugin, error)
            return 0.0

    def _takes_best_score(self) -> bool:
        return not (
            self.node_functions.verdicts[None]
            or self.node_functions.pair_scores
            or self.functions(points.BEST_NODE)
            or self.functions(points.BATCH_NODE_ORDER)
            or self.functions(points.NODE_MAP)
            or self.snapshot.shard_mode != "none"
        )

    def shard_groups(self, mask: BoolArray) -> Sequence[BoolArray]:
        """Split nodes into groups to be tried in order: own shard first where sharding is soft."""
        mine = self.nodes.table.in_shard
        if self.snapshot.shard_mode == "hard":
            return (mask & mine,)
        if self.snapshot.shard_mode == "soft":
            return (mask & mine, mask & ~mine)
        return (mask,)

    def candidates(self, task: Task) -> Candidates:
        """Return the candidates of a task's template."""
        number = task.template.number
        known = self._candidates.get(number)
        if known is None:
            known = Candidates(self, task)
            self._candidates.put(number, known)
        return known

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Ask what can be asked before looking at nodes; a task with a required rule that no plugin serves waits."""
        refusal = self.beyond_bounds(task)
        refusal = refusal or first_refusal(self.functions(points.PRE_PREDICATE), task, failed=self.note_failure)
        return refusal or unserved_rule(self, task)

    def beyond_bounds(self, task: Task) -> Refusal | None:
        """Refuse a task with more rules of placement than are looked at; once per template."""
        number = task.template.number
        if number not in self._bounds:
            self._bounds[number] = _too_many(beyond_bounds(task.template.spec))
        return self._bounds[number]

    def has_room(self, task: Task) -> bool:
        """Tell whether any node that facts permit has room for a task now or later in this session.

        Asked before the candidates of a template are made, which costs many times as much.
        """
        if task.template.number in self._candidates:
            return True  # they tell at no further cost
        version, room = self._room
        if room is None or version != len(self.nodes.log):
            room = self.nodes.columns().future_idle
            self._room = (len(self.nodes.log), room)
        fits = self.nodes.needs(task.template).thresholds <= room
        roomy = np.logical_and.reduce(fits, axis=0)
        return bool(roomy.any()) and bool((roomy & self.permitted_by_facts(task)).any())

    def refused_everywhere(self, task: Task) -> Refusal | None:
        """Say why no node has room for a task's template now or later in this session; None where one may."""
        if self.has_room(task):
            candidates = self.candidates(task)
            candidates.refresh(task)
            if (candidates.allowed & candidates.fits_future).any():
                return None
        return self.explain(task)

    def permitted_by_facts(self, task: Task) -> BoolArray:
        """Return which nodes permit a task by all that no eviction can change, shape (N,); do not write.

        Candidates cost many times as much, since they also hold scores and amounts.
        """
        known = self._permitted.get(task.template.number)
        if known is None:
            is_bounded = self.beyond_bounds(task) is None
            known = np.full(len(self.nodes), is_bounded, dtype=np.bool_)
            columns = self.nodes.columns()
            for each in self.node_functions.verdicts[Locality.FACTS] if is_bounded else ():
                verdicts = self.ask_verdicts(each, task, columns)
                if verdicts is not None:
                    known = known & (verdicts == 0)
            if len(self._masks) * len(self.nodes) > _MOST_MASK_BYTES:
                self._masks.clear()
                self._permitted.clear()
            known.setflags(write=False)
            known = self._masks.setdefault(known.tobytes(), known)
            self._permitted[task.template.number] = known
        return known

    def fits_empty_nodes(self, task: Task) -> bool:
        """Tell whether a task would have room on some node that permits it, if all that can leave it had left."""
        known = self._fits_empty.get(task.template.number)
        if known is None:
            thresholds = self.nodes.needs(task.template).thresholds
            fits = np.logical_and.reduce(thresholds <= self.nodes.table.allocatable, axis=0)
            known = bool((fits & self.permitted_by_facts(task)).any())
            self._fits_empty[task.template.number] = known
        return known

    def places_on_empty_nodes(self, task: Task) -> PlacesOnEmptyNodes:
        """Count how many tasks like one would have room on nodes that permit it if all that can leave them had left."""
        known = self._places_empty.get(task.template.number)
        if known is None:
            request = self.nodes.needs(task.template).request
            offered = self.nodes.table.allocatable[:, self.permitted_by_facts(task)]
            known = self._places_empty[task.template.number] = places_for(request, offered)
        return known

    def explain(self, task: Task, domain: BoolArray | None = None) -> Refusal:
        """Say why no node takes a task: nodes counted by the first rule that refuses them, or who would not score."""
        if task.id in self.unscored:
            return self.unscored[task.id]
        if (refusal := self.beyond_bounds(task)) is not None:
            return refusal
        if domain is not None or self.node_functions.verdicts[None] or self.beyond(task) is not None:
            return explain(self, task, domain)
        # what depends on the node alone is the same for every task of the template until something is placed
        version, refusal = self._explained.get(task.template.number, (-1, None))
        if refusal is None or version != len(self.nodes.log):
            refusal = explain(self, task, None)
            self._explained[task.template.number] = (len(self.nodes.log), refusal)
        return refusal


def _too_many(rules: str) -> Refusal | None:
    if not rules:
        return None
    message = f"the pod has {rules}; it is not placed"
    return Refusal(plugin="scheduler", reason="TooManyRules", message=message, resolvable=False)


def _reason_of(each: Registered[Any], answer: Any) -> Reason | None:
    """Read what a predicate answered about one node; None where it permits."""
    if answer is None or answer is True:
        return None
    if isinstance(answer, Refusal):
        return Reason(answer.message or answer.reason, answer.resolvable)
    if isinstance(answer, Reason):
        return answer
    return Reason(answer if isinstance(answer, str) else f"refused by {each.plugin}")
