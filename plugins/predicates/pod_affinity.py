"""Pod affinity: required affinity and anti-affinity of the task, and anti-affinity of pods on nodes to it.

Each term only requires whether a node's domain contains a matching pod, so it costs one mask over all nodes.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.session.pods import DomainCounts, SessionPods, TermKind
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import BoolArray, ReasonArray
from pyroclast.model.matching.nodes import has_labels
from pyroclast.model.matching.pods import PodMatcher, PodTerms
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

    __slots__ = ("every", "excluded", "keyed", "required", "terms")

    def __init__(self, terms: PodTerms, pods: SessionPods, keyed: BoolArray) -> None:
        self.terms = terms
        self.every = tuple(dict.fromkeys(term.pods for term in terms.required_affinity))
        """Matchers of all required affinity terms."""
        self.required = tuple(pods.domains(self.every, term.topology_key) for term in terms.required_affinity)
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
        return verdicts if columns.is_all else verdicts[columns.index]

    def _refused(self, task: Task) -> Iterator[ReasonArray]:
        """Yield the verdicts of each term, new arrays of shape (N,).

        The pods that stand for Reservations do not count if the task may use these (R32).
        """
        matched = [(column, pod) for column, pods in self._reserved.matched_pods(task).items() for pod in pods]
        for held in self._pods.held_about(TermKind.REQUIRED_ANTI_AFFINITY, task):
            gone = [column for column, pod in matched if held.term in self._pods.terms(pod).required_anti_affinity]
            occupied, total = _without(held.holders, gone)
            if total:
                yield occupied.view(np.uint8) * _EXISTING
        own = self._judged(self._pods.terms(task))
        for term, excluded in zip(own.terms.required_anti_affinity, own.excluded, strict=True):
            occupied, total = _without(excluded, _selected((term.pods,), matched))
            if total:
                yield occupied.view(np.uint8) * _ANTI_AFFINITY
        if own.required:
            yield (~self._beside(task, own, _selected(own.every, matched))).view(np.uint8) * _AFFINITY

    def _judged(self, terms: PodTerms) -> _Own:
        own = self._own.get(terms)
        if own is None:
            keyed = has_labels(self._facts, (term.topology_key for term in terms.required_affinity))
            own = self._own[terms] = _Own(terms, self._pods, keyed)
        return own

    def _beside(self, task: Task, own: _Own, gone: Sequence[int]) -> BoolArray:
        """Return the nodes that satisfy required affinity, shape (N,); pods on the columns in `gone` do not count.

        The first pod of a group that matches itself may run anywhere.
        """
        domains = [_without(each, gone) for each in own.required]
        if not any(total for _, total in domains) and _matches_itself(task, own.terms):
            return own.keyed
        first, *others = (occupied for occupied, _ in domains)
        beside = first
        for other in others:
            beside = beside & other
        return beside


def _matches_itself(task: Task, terms: PodTerms) -> bool:
    labels = task.pod.metadata.labels
    return all(term.pods.matches(task.namespace, labels) for term in terms.required_affinity)


def _selected(matchers: Sequence[PodMatcher], pods: Iterable[tuple[int, Task]]) -> list[int]:
    """Return the columns of the pods that all matchers match, one for each pod."""
    return [
        column
        for column, pod in pods
        if all(matcher.matches(pod.namespace, pod.pod.metadata.labels) for matcher in matchers)
    ]


def _without(counts: DomainCounts, gone: Sequence[int]) -> tuple[BoolArray, int]:
    """Return which nodes are in a domain with a pod, shape (N,), and the number of pods; one fewer for each column."""
    if not gone:
        return counts.occupied, counts.total
    padded = counts.padded.copy()
    codes = counts.codes[list(gone)]
    codes = codes[codes >= 0]
    np.subtract.at(padded, codes, 1)
    occupied: BoolArray = (padded > 0)[counts.codes]
    return occupied, counts.total - codes.size
