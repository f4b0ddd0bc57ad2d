"""Pod affinity: required affinity and anti-affinity of the task, and anti-affinity of pods on nodes to it.

Each term only requires whether a node's domain contains a matching pod, so it costs one mask over all nodes.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.session.pods import DomainCounts, SessionPods, TermKind
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.matching.nodes import has_labels
from pyroclast.model.matching.pods import PodTerms
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task

__all__ = ["REASONS", "PodAffinityFilter"]

REASONS: Final = (
    Reason("node(s) didn't satisfy existing pods anti-affinity rules"),
    Reason("node(s) didn't match pod anti-affinity rules"),
    Reason("node(s) didn't match pod affinity rules", resolvable=False),
)
"""Reasons in reverse order of the checks, so that the highest of several verdicts is that of the first failed check."""

_EXISTING, _ANTI_AFFINITY, _AFFINITY = (np.uint8(number) for number in (1, 2, 3))


class _Own:
    """The required terms of one `PodTerms`, with their counts."""

    __slots__ = ("excluded", "keyed", "required", "terms")

    def __init__(self, terms: PodTerms, pods: SessionPods, keyed: BoolArray) -> None:
        self.terms = terms
        every = tuple(dict.fromkeys(term.pods for term in terms.required_affinity))
        self.required = tuple(pods.domains(every, term.topology_key) for term in terms.required_affinity)
        """Pods that match all required affinity terms, by the key of each term."""
        self.excluded = tuple(pods.domains((term.pods,), term.topology_key) for term in terms.required_anti_affinity)
        """Pods that match each required anti-affinity term, by its key."""
        self.keyed = keyed
        """Nodes that have the keys of all required affinity terms, shape (N,)."""


class PodAffinityFilter:
    """Required affinity and anti-affinity of incoming tasks, and required anti-affinity of pods on nodes."""

    def __init__(self, session: Session, pods: SessionPods) -> None:
        self._facts = session.nodes.facts
        self._reserved = session.reserved
        self._pods = pods
        self._own: dict[PodTerms, _Own] = {}

    def cares(self, task: Task) -> bool:
        """Return whether a task has required terms, or pods on nodes have required anti-affinity to it."""
        if task.template.spec.affinity is not None:
            terms = self._pods.terms(task)
            if terms.required_affinity or terms.required_anti_affinity:
                return True
        return bool(self._pods.held_about(TermKind.REQUIRED_ANTI_AFFINITY, task))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Evaluate all terms, shape (columns,): affinity, anti-affinity, and anti-affinity of pods on nodes."""
        refused = list(self._refused(task))
        if not refused:
            return None
        verdicts = refused[0]
        for other in refused[1:]:
            np.maximum(verdicts, other, out=verdicts)
        for column, matched in self._reserved.matched_pods(task).items():
            if matched and 0 < verdicts[column] < _AFFINITY:
                verdicts[column] = self._without(task, column, matched)
        return verdicts if columns.is_all else verdicts[columns.index]

    def _without(self, task: Task, column: int, matched: Sequence[Task]) -> np.uint8:
        """Return the verdict of anti-affinity on one node without the pods of Reservations that the task may use."""
        own = self._judged(self._pods.terms(task))
        for term, excluded in zip(own.terms.required_anti_affinity, own.excluded, strict=True):
            alike = sum(term.pods.matches(each.namespace, each.pod.metadata.labels) for each in matched)
            if excluded.at_nodes()[column] > alike:
                return _ANTI_AFFINITY
        for held in self._pods.held_about(TermKind.REQUIRED_ANTI_AFFINITY, task):
            holders = sum(held.term in self._pods.terms(each).required_anti_affinity for each in matched)
            if held.holders.at_nodes()[column] > holders:
                return _EXISTING
        return np.uint8(0)

    def _refused(self, task: Task) -> Iterator[ReasonArray]:
        """Yield the verdicts of each term, new arrays of shape (N,)."""
        for held in self._pods.held_about(TermKind.REQUIRED_ANTI_AFFINITY, task):
            if held.holders.total:
                yield held.holders.occupied.view(np.uint8) * _EXISTING
        own = self._judged(self._pods.terms(task))
        for excluded in own.excluded:
            if excluded.total:
                yield excluded.occupied.view(np.uint8) * _ANTI_AFFINITY
        if own.required:
            yield (~self._beside(task, own)).view(np.uint8) * _AFFINITY

    def _judged(self, terms: PodTerms) -> _Own:
        own = self._own.get(terms)
        if own is None:
            keyed = has_labels(self._facts, (term.topology_key for term in terms.required_affinity))
            own = self._own[terms] = _Own(terms, self._pods, keyed)
        return own

    def _beside(self, task: Task, own: _Own) -> BoolArray:
        """Return the nodes that satisfy required affinity, shape (N,).

        The first pod of a group that matches itself may run anywhere.
        """
        if not any(domains.total for domains in own.required) and _matches_itself(task, own.terms):
            return own.keyed
        return _all_occupied(own.required)


def _matches_itself(task: Task, terms: PodTerms) -> bool:
    labels = task.pod.metadata.labels
    return all(term.pods.matches(task.namespace, labels) for term in terms.required_affinity)


def _all_occupied(domains: Sequence[DomainCounts]) -> BoolArray:
    first, *others = domains
    beside = first.occupied
    for other in others:
        beside = beside & other.occupied
    return beside
