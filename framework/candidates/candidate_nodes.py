"""Candidate nodes: which nodes of a session take a task, now, later, or if they were empty, and why others do not."""

from functools import cached_property

import numpy as np

from pyroclast.framework.candidates.candidate_store import CandidateStore
from pyroclast.framework.candidates.candidates import Candidates
from pyroclast.framework.candidates.empty_nodes import NodeSizes, PlacesOnEmptyNodes
from pyroclast.framework.candidates.explaining import explain
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.votes import first_refusal
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.required_rules import required_rules
from pyroclast.model.reservations.use import NO_USE
from pyroclast.model.tasks import Task

__all__ = ["CandidateNodes"]


class CandidateNodes:
    """The nodes of one session, with their suitability for tasks."""

    def __init__(self, answers: NodeAnswers) -> None:
        self.answers = answers
        """Answers of plugins about nodes."""
        self._extensions = answers.extensions
        self._nodes = answers.nodes
        self._store = CandidateStore()
        self._room: tuple[int, IntArray | None] = (-1, None)
        """Room free now or later on each node, and the length of the log at that moment."""
        self._fits_empty: dict[int, bool] = {}
        self._places_empty: dict[int, PlacesOnEmptyNodes] = {}
        self._explained: dict[int, tuple[int, Refusal]] = {}
        """Reason that no node accepted the tasks of a template, with the length of the log at that moment, by
        template."""
        self._extensions.observe(self._forget)

    def _forget(self) -> None:
        """Discard all answers, because other functions are registered."""
        self.answers.forget()
        for known in (self._store, self._fits_empty, self._places_empty, self._explained):
            known.clear()

    def of(self, task: Task) -> Candidates:
        """Return the candidates of a task's template, or of an individual task."""
        views = self.answers.views
        number = views.number(task) if views.is_active else task.template.number
        known = self._store.get(number)
        if known is not None and views.asks_each_task and known.is_outdated and views.is_asked_anew(task):
            self._store.drop(number)
            known = None
        if known is None:
            known = Candidates(self.answers, task)
            self._store.put(number, known)
        return known

    def number(self, task: Task) -> int:
        """Return a number of a task that tasks share of which nodes are the same candidates."""
        return self.answers.views.number(task)

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Run the checks that need no nodes. A task with a required rule that no plugin serves waits."""
        views = self.answers.views
        refusal, seen = self.answers.beyond_bounds(task), task
        if views.is_active:
            refusal, seen = refusal or views.refusal(task), views.early(task)
        if refusal is None and self.answers.reserved:
            refusal = self.answers.reserved.refusal(task)
        refusal = refusal or first_refusal(
            self._extensions.functions(contract.PRE_PREDICATE), seen, failed=self._extensions.note_failure
        )
        return refusal or self._unserved_rule(task)

    def _unserved_rule(self, task: Task) -> Refusal | None:
        """Refuse a task that demands a rule which no plugin serves; no eviction changes that."""
        for rule in required_rules(task.pod):
            if not self._extensions.serves(rule):
                message = f"the pod requires {rule}, which no configured plugin serves"
                return Refusal(plugin="scheduler", reason="RuleNotServed", message=message, resolvable=False)
        return None

    def has_room(self, task: Task) -> bool:
        """Return whether any node that facts permit has room for a task now or later in this session.

        Asked before the candidates of a template are made, which costs many times as much.
        """
        use = self.answers.reserved.use_of(task) if self.answers.reserved else NO_USE
        if use.usable or use.takeover is not None:
            return True  # reserved room counts, too
        if self.number(task) in self._store:
            return True  # the scores decide at no further cost
        version, room = self._room
        if room is None or version != len(self._nodes.log):
            room = self._nodes.columns().future_idle
            self._room = (len(self._nodes.log), room)
        fits = self._nodes.needs(task.template).thresholds <= room
        roomy = np.logical_and.reduce(fits, axis=0)
        return bool(roomy.any()) and bool((roomy & self._permitted_to_its_like(task)).any())

    def _permitted_to_its_like(self, task: Task) -> BoolArray:
        """Return which nodes permit any task of a task's template by facts, shape (N,); do not write."""
        if self.answers.views.asks_each_task:
            return np.ones(len(self._nodes), dtype=np.bool_)
        return self.answers.permitted_by_facts(task)

    def refused_everywhere(self, task: Task) -> Refusal | None:
        """Return why no node has room for a task's template now or later in this session; None if one may."""
        if self.has_room(task):
            candidates = self.of(task)
            candidates.refresh(task)
            if (candidates.allowed & candidates.fits_future).any():
                return None
        return self.explain(task)

    def fits_empty_nodes(self, task: Task) -> bool:
        """Return whether a task would have room on some node that permits it, if all that can leave it had left."""
        known = self._fits_empty.get(task.template.number)
        if known is None:
            thresholds = self._nodes.needs(task.template).thresholds
            known = self._node_sizes.fits(thresholds, self._permitted_to_its_like(task))
            self._fits_empty[task.template.number] = known
        return known

    def places_on_empty_nodes(self, task: Task) -> PlacesOnEmptyNodes:
        """Count how many tasks like one would have room on nodes that permit it if all that can leave them had left."""
        known = self._places_empty.get(task.template.number)
        if known is None:
            request = self._nodes.needs(task.template).request
            known = self._node_sizes.places_for(request, self._permitted_to_its_like(task))
            self._places_empty[task.template.number] = known
        return known

    def fits_per_empty_node(self, task: Task) -> IntArray:
        """Count how many tasks like one each node that permits it would hold if it were empty, shape (N,)."""
        request = self._nodes.needs(task.template).request
        asked = np.flatnonzero(request > 0)
        permitted = self._permitted_to_its_like(task)
        if not asked.size:
            return permitted * len(self._nodes)
        places = (self._nodes.table.allocatable[asked] // request[asked, None]).min(axis=0)
        fits: IntArray = np.where(permitted, np.maximum(places, 0), 0)
        return fits

    @cached_property
    def _node_sizes(self) -> NodeSizes:
        return NodeSizes(self._nodes.table.allocatable)

    def explain(self, task: Task, domain: BoolArray | None = None) -> Refusal:
        """Return why no node takes a task: nodes by the first refusing rule, or a plugin that refused to score."""
        if task.id in self.answers.unscored:
            return self.answers.unscored[task.id]
        if (refusal := self.answers.beyond_bounds(task)) is not None:
            return refusal
        if domain is not None or self.answers.functions.verdicts[None] or self.answers.beyond(task) is not None:
            return explain(self.answers, task, domain)
        # what depends on the node alone is the same for every task of the template until something is placed
        number = self.number(task)
        version, refusal = self._explained.get(number, (-1, None))
        if refusal is None or version != len(self._nodes.log):
            refusal = explain(self.answers, task, None)
            self._explained[number] = (len(self._nodes.log), refusal)
        return refusal
