"""Pods of a session by labels, node and domain: what affinity and spreading count, kept true while tasks are placed.

Counts are integers by domain (the values of a node label) and change by one when a pod comes or goes, so that a plugin
asks for arrays instead of looking at pods. A pod counts as Kubernetes' filters see it: pipelined ones are there, those
evicted in this session are gone, those that were already terminating still are (and can be left out). Everything is
built at the first question, so that a cycle without queries pays nothing.

A plugin calls `session_pods(session)` when it opens; N nodes, D domains of a label.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from pyroclast.framework.extension.contract import Change, Ledger
from pyroclast.framework.session.pending_changes import PendingChanges
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import TaskId
from pyroclast.model.matching.bounds import MOST_POD_TERMS, pod_terms_of
from pyroclast.model.matching.pods import NO_TERMS, PodMatcher, PodTerm, PodTerms, pod_terms, terms_depend_on_labels
from pyroclast.model.nodes import NodeFacts
from pyroclast.model.plain_members import with_plain_members
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

if TYPE_CHECKING:
    from pyroclast.framework.session.session import Session

__all__ = ["DomainCounts", "HeldTerm", "NodeGroup", "SessionPods", "TermKind", "known_session_pods", "session_pods"]

Selection = tuple[PodMatcher, ...]
"""Pods that all of these matchers match; at least one."""

_Labels = frozenset[tuple[str, str]]
_MOST_HELD_IN_NAMESPACE: Final = 512
"""Distinct terms of pods on nodes from one namespace, of this or any scheduler, beyond which further pods count without
their terms."""
_MOST_HELD: Final = 4096
"""The same for all namespaces."""
_MOST_HELD_ABOUT: Final = 128
"""Terms of one kind that concern one task, beyond which further ones do not count."""
_MOST_LISTED: Final = 1024
"""Pods that are listed because of these bounds; further ones are only counted."""
_SCRATCH: Final = ScratchKey("pods")


def session_pods(session: "Session") -> "SessionPods":
    """Return the counts of a session, one for all plugins; first called while plugins open, before any placement."""
    known: SessionPods | None = session.scratch.get(_SCRATCH)
    if known is None:
        known = session.scratch[_SCRATCH] = SessionPods(session)
        session.extensions.register_ledger("pods", known)
    return known


def known_session_pods(session: "Session") -> "SessionPods | None":
    """Return the counts of a session; None if no plugin called `session_pods`."""
    known: SessionPods | None = session.scratch.get(_SCRATCH)
    return known


@with_plain_members
class TermKind(Enum):
    """Kind of a pod's terms. The value is the field of `PodTerms`."""

    REQUIRED_AFFINITY = "required_affinity"
    REQUIRED_ANTI_AFFINITY = "required_anti_affinity"
    PREFERRED_AFFINITY = "preferred_affinity"
    PREFERRED_ANTI_AFFINITY = "preferred_anti_affinity"

    __hash__ = object.__hash__  # members are one of a kind; the hash of enums is computed again each time


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes outside which pods do not count."""

    key: Hashable
    """Names the group fully: groups with equal keys have equal masks."""
    mask: BoolArray
    """Shape (N,)."""


class DomainCounts:
    """Pods counted by the domains of a node label. Only this file may write to it."""

    __slots__ = (
        "_at",
        "_at_version",
        "_inside",
        "_label",
        "_occupied",
        "codes",
        "counts",
        "padded",
        "total",
        "version",
    )

    def __init__(self, label: "_Label", within: BoolArray | None) -> None:
        self._label = label
        self._inside = within
        self.codes: IntArray = label.codes
        """Domain of each node, shape (N,), `ABSENT` (-1) where the node lacks the label."""
        self.padded: IntArray = np.zeros(label.domains + 1, dtype=np.int64)
        """`counts` and a 0 behind them, which the code of an absent label picks, shape (D + 1,)."""
        self.counts: IntArray = self.padded[:-1]
        """Pods in each domain, shape (D,)."""
        self.total = 0
        """Pods in all domains; those on nodes without the label, or outside the group, count nowhere."""
        self.version = 0
        """Grows with every change."""
        self._occupied: BoolArray | None = None
        self._at: IntArray | None = None
        self._at_version = -1

    @property
    def occupied(self) -> BoolArray:
        """Return which nodes lie in a domain with at least one pod, shape (N,); do not write, do not keep."""
        if self._occupied is None:
            self._occupied = (self.padded > 0)[self.codes]
        return self._occupied

    def at_nodes(self) -> IntArray:
        """Return the count of each node's domain, shape (N,), 0 if it lacks the label; do not write or keep."""
        if self._at is None or self._at_version != self.version:
            self._at = self.padded[self.codes]
            self._at_version = self.version
        return self._at

    def add(self, column: int, change: int) -> None:
        """Count `change` more pods on the node of a column."""
        code = self._label.code_of[column]
        if code < 0 or (self._inside is not None and not self._inside[column]):
            return
        before = int(self.counts[code])
        after = before + change
        self.counts[code] = after
        self.total += change
        self.version += 1
        if self._occupied is not None and (before > 0) != (after > 0):
            self._occupied[column if self._label.is_unique else self.codes == code] = after > 0

    def fill(self, columns: Sequence[int]) -> None:
        """Count one more pod on each of these columns, repeated ones repeatedly."""
        if not columns:
            return
        at = np.asarray(columns, dtype=np.int64)
        if self._inside is not None:
            at = at[self._inside[at]]
        codes = self.codes[at]
        codes = codes[codes >= 0]
        self.counts += np.bincount(codes, minlength=self.counts.size)
        self.total += codes.size
        self.version += 1
        self._occupied = None


@dataclass(frozen=True, slots=True, eq=False)
class HeldTerm:
    """A term that pods on nodes have, and where they are."""

    term: PodTerm
    weight: int
    """Weight of a preferred term, as written; 1 for a required term."""
    holders: DomainCounts
    """Pods that have it, by the domains of its topology key; may count none any more."""


class _Likes:
    """Pods that are alike: equal namespace and labels, terminating or not."""

    __slots__ = ("columns", "is_terminating", "labels", "namespace", "selected_by")

    def __init__(self, namespace: str, labels: Mapping[str, str], *, is_terminating: bool) -> None:
        self.namespace = namespace
        self.labels = labels
        self.is_terminating = is_terminating
        self.columns: list[int] = []
        """Their nodes, one entry for each pod."""
        self.selected_by: list[_Selected] = []

    def shift(self, column: int, sign: int) -> None:
        """Add one of these pods to a node, or remove it."""
        if sign > 0:
            self.columns.append(column)
        elif self.columns[-1] == column:
            self.columns.pop()
        else:
            self.columns.remove(column)
        for selected in self.selected_by:
            for domains in selected.domains.values():
                domains.add(column, sign)


class _Selected:
    """Pods that a selection matches, and their counts by each queried domain."""

    __slots__ = ("counts_terminating", "domains", "likes", "selection")

    def __init__(self, selection: Selection, *, counts_terminating: bool) -> None:
        self.selection = selection
        self.counts_terminating = counts_terminating
        self.likes: list[_Likes] = []
        self.domains: dict[tuple[str, Hashable], DomainCounts] = {}

    def takes(self, likes: _Likes) -> bool:
        """Return whether such pods are selected."""
        if likes.is_terminating and not self.counts_terminating:
            return False
        return all(matcher.matches(likes.namespace, likes.labels) for matcher in self.selection)


Item = TypeVar("Item")


class _ByAnchor(dict[tuple[str, str], list[Item]]):
    """Things that concern pods with a certain label; `general` are those that may concern any pod."""

    def __init__(self) -> None:
        super().__init__()
        self.general: list[Item] = []

    def put(self, item: Item, anchors: Iterable[tuple[str, str]] | None) -> None:
        """Add a thing that concerns only pods with one of these labels, any pod where None."""
        if anchors is None:
            self.general.append(item)
            return
        for anchor in anchors:
            self.setdefault(anchor, []).append(item)

    def about(self, labels: Mapping[str, str]) -> Iterator[Item]:
        """Yield what may concern a pod with these labels, each once unless it has several anchors."""
        yield from self.general
        for pair in labels.items():
            yield from self.get(pair, ())


class SessionPods(Ledger):
    """Counts of pods for one session, kept true by being a ledger of it."""

    def __init__(self, session: "Session") -> None:
        self._snapshot = session.snapshot
        self._table = session.nodes.table
        self._facts = session.nodes.facts
        self._labels: dict[str, _Label] = {}
        self._frozen_labels: dict[TaskId, _Labels] = {}
        self._terms: dict[Hashable, PodTerms] = {}
        self._label_bound: dict[int, bool] = {}
        self._likes_pending = PendingChanges()
        self._likes: dict[tuple[str, _Labels, bool], _Likes] = {}
        self._likes_by_pair: _ByAnchor[_Likes] = _ByAnchor()
        self._selected: dict[tuple[Selection, bool], _Selected] = {}
        self._selected_by_anchor: _ByAnchor[_Selected] = _ByAnchor()
        self._held_pending = PendingChanges()
        self._held: dict[TermKind, dict[tuple[int, PodTerm], HeldTerm]] = {kind: {} for kind in TermKind}
        self._held_by_anchor: dict[TermKind, _ByAnchor[HeldTerm]] = {kind: _ByAnchor() for kind in TermKind}
        self._held_in: Counter[str] = Counter()
        """Distinct terms of pods on nodes, by the namespace of the first pod."""
        self._ignored: dict[tuple[str, int], bool] = {}
        """Whether terms of pods on nodes do not count, by namespace and template."""
        self.without_terms: list[Task] = []
        """Pods on nodes whose terms do not count, because of the bounds; the first ones, if they are many."""
        self.without_terms_count = 0
        """Number of these pods."""
        self.beside_too_many_terms: dict[TaskId, Task] = {}
        """Tasks that more terms of other pods concern than count; the first ones, if they are many."""
        self._held_by_terms: dict[PodTerms, tuple[HeldTerm, ...]] = {}
        self._held_about: dict[tuple[TermKind, str, _Labels], tuple[HeldTerm, ...]] = {}

    # Questions --------------------------------------------------------------------------------------------------------

    def terms(self, task: Task) -> PodTerms:
        """Return the (anti-)affinity terms of a task: the same object for tasks whose terms are equal by template."""
        template = task.template
        affinity = template.spec.affinity
        if affinity is None:
            return NO_TERMS
        is_bound = self._label_bound.get(template.number)
        if is_bound is None:
            is_bound = self._label_bound[template.number] = terms_depend_on_labels(affinity)
        key = (template.number, task.namespace, self._labels_of(task) if is_bound else None)
        known = self._terms.get(key)
        if known is None:
            labels = task.pod.metadata.labels
            known = self._terms[key] = pod_terms(affinity, task.namespace, labels, self._snapshot.objects.namespaces)
        return known

    def domains(
        self,
        selection: Selection,
        topology_key: str,
        *,
        counts_terminating: bool = True,
        within: NodeGroup | None = None,
    ) -> DomainCounts:
        """Return the counts of selected pods by the domains of a node label.

        The same question gives the same object, which stays true for the rest of the session: ask once per template
        (or `PodTerms`) and keep it, since hashing a selection costs microseconds.

        Args:
            selection: Matchers, all of which must match a pod.
            topology_key: The node label.
            counts_terminating: Whether pods count whose deletion began before this session.
            within: Nodes outside which pods do not count; all nodes if None.
        """
        selected = self._select(selection, counts_terminating=counts_terminating)
        key = (topology_key, None if within is None else within.key)
        known = selected.domains.get(key)
        if known is None:
            known = selected.domains[key] = self._counts(topology_key, None if within is None else within.mask)
            known.fill([column for likes in selected.likes for column in likes.columns])
        return known

    def _counts(self, topology_key: str, within: BoolArray | None) -> DomainCounts:
        label = self._labels.get(topology_key)
        if label is None:
            label = self._labels[topology_key] = _Label(self._facts, topology_key)
        return DomainCounts(label, within)

    def held(self, kind: TermKind) -> Iterable[HeldTerm]:
        """Return all terms of a kind that pods on nodes have, each distinct (weight, term) once."""
        self._open_held()
        return self._held[kind].values()

    def held_about(self, kind: TermKind, task: Task) -> tuple[HeldTerm, ...]:
        """Return those terms of a kind, held by pods on nodes, that match a task by namespace and labels.

        They are the first ones, of the oldest pods, if there are too many.
        """
        if not self._held_pending.is_built:
            self._open_held()
        if not self._held[kind]:
            return ()
        key = (kind, task.namespace, self._labels_of(task))
        known = self._held_about.get(key)
        if known is None:
            labels = task.pod.metadata.labels
            near = self._held_by_anchor[kind].about(labels)
            about = (held for held in dict.fromkeys(near) if held.term.pods.matches(task.namespace, labels))
            known = self._held_about[key] = tuple(islice(about, _MOST_HELD_ABOUT))
            is_cut = next(about, None) is not None
            if is_cut and len(self.beside_too_many_terms) < _MOST_LISTED:
                self.beside_too_many_terms[task.id] = task
        return known

    def _labels_of(self, task: Task) -> _Labels:
        """Return the labels of a task, hashable: made once, since every question about it needs them."""
        known = self._frozen_labels.get(task.id)
        if known is None:
            known = self._frozen_labels[task.id] = frozenset(task.pod.metadata.labels.items())
        return known

    # Ledger -----------------------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Refusal | None:
        """Count a change; never refuses."""
        self._follow(change, change.sign)
        return None

    def revert(self, change: Change) -> None:
        """Undo `apply`."""
        self._follow(change, -change.sign)

    def _follow(self, change: Change, sign: int) -> None:
        if not self._likes_pending.record(change, sign):
            self._shift_likes(change, sign)
        if not self._held_pending.record(change, sign):
            self._shift_held(change, sign)

    # Selections -------------------------------------------------------------------------------------------------------

    def _select(self, selection: Selection, *, counts_terminating: bool) -> _Selected:
        if not self._likes_pending.is_built:
            self._open_likes()
        key = (selection, counts_terminating)
        known = self._selected.get(key)
        if known is None:
            known = self._selected[key] = _Selected(selection, counts_terminating=counts_terminating)
            anchors = _anchors(selection)
            self._selected_by_anchor.put(known, anchors)
            for likes in self._likes_with(anchors):
                if known.takes(likes):
                    known.likes.append(likes)
                    likes.selected_by.append(known)
        return known

    def _likes_with(self, anchors: Sequence[tuple[str, str]] | None) -> Iterable[_Likes]:
        """Return pods with one of these labels; a pod has one value of a key, so none comes twice."""
        if anchors is None:
            return self._likes.values()
        return (likes for anchor in anchors for likes in self._likes_by_pair.get(anchor, ()))

    def _open_likes(self) -> None:
        early = self._likes_pending.build()
        for column, tasks in enumerate(self._table.tasks):
            for task in tasks.values():
                self._like(task, is_terminating=task.status is TaskStatus.RELEASING).columns.append(column)
        for change, sign in early:
            self._shift_likes(change, sign)

    def _like(self, task: Task, *, is_terminating: bool) -> _Likes:
        metadata = task.pod.metadata
        key = (task.namespace, self._labels_of(task), is_terminating or bool(metadata.deletion_timestamp))
        known = self._likes.get(key)
        if known is None:
            known = self._likes[key] = _Likes(task.namespace, metadata.labels, is_terminating=key[2])
            self._likes_by_pair.put(known, metadata.labels.items())
            for selected in dict.fromkeys(self._selected_by_anchor.about(metadata.labels)):
                if selected.takes(known):
                    selected.likes.append(known)
                    known.selected_by.append(selected)
        return known

    def _shift_likes(self, change: Change, sign: int) -> None:
        # a task that this session evicts was not terminating, whatever its current status
        for task, column in zip(change.tasks, change.columns, strict=True):
            self._like(task, is_terminating=False).shift(column, sign)

    # Held terms -------------------------------------------------------------------------------------------------------

    def _open_held(self) -> None:
        if self._held_pending.is_built:
            return
        early = self._held_pending.build()
        for task in _in_order(self._snapshot.tasks_with_affinity):
            column = None if task.node is None else self._table.column.get(task.node)
            if column is not None:
                if self._is_ignored(task):
                    self._list_without_terms(task)
                self._shift_held_of(task, column, 1)
        for change, sign in early:
            self._shift_held(change, sign)

    def _list_without_terms(self, task: Task) -> None:
        self.without_terms_count += 1
        if len(self.without_terms) < _MOST_LISTED:
            self.without_terms.append(task)

    def _shift_held(self, change: Change, sign: int) -> None:
        if change.template.spec.affinity is not None:
            for task, column in zip(change.tasks, change.columns, strict=True):
                self._shift_held_of(task, column, sign)

    def _shift_held_of(self, task: Task, column: int, sign: int) -> None:
        if self._is_ignored(task):
            return
        terms = self.terms(task)
        held = self._held_by_terms.get(terms)
        if held is None:
            held = self._held_by_terms[terms] = tuple(self._hold(terms, task.namespace))
        for each in held:
            each.holders.add(column, sign)

    def _is_ignored(self, task: Task) -> bool:
        """Return whether the terms of a pod on a node do not count: it has too many, or its namespace has."""
        number = task.template.number
        known = self._ignored.get((task.namespace, number))
        if known is None:
            is_over = self._held_in[task.namespace] >= _MOST_HELD_IN_NAMESPACE or self._held_in.total() >= _MOST_HELD
            known = is_over or pod_terms_of(task.template.spec) > MOST_POD_TERMS
            self._ignored[task.namespace, number] = known
        return known

    def _hold(self, terms: PodTerms, namespace: str) -> Iterator[HeldTerm]:
        required = ((TermKind.REQUIRED_AFFINITY, 1, term) for term in terms.required_affinity)
        shunned = ((TermKind.REQUIRED_ANTI_AFFINITY, 1, term) for term in terms.required_anti_affinity)
        liked = ((TermKind.PREFERRED_AFFINITY, *pair) for pair in terms.preferred_affinity)
        disliked = ((TermKind.PREFERRED_ANTI_AFFINITY, *pair) for pair in terms.preferred_anti_affinity)
        for kind, weight, term in (*required, *shunned, *liked, *disliked):
            known = self._held[kind].get((weight, term))
            if known is None:
                known = HeldTerm(term, weight, self._counts(term.topology_key, None))
                self._held[kind][weight, term] = known
                self._held_in[namespace] += 1
                self._held_by_anchor[kind].put(known, term.pods.selector.anchors())
                self._held_about.clear()
            yield known


class _Label:
    """The domains of a node label."""

    __slots__ = ("code_of", "codes", "domains", "is_unique")

    def __init__(self, facts: NodeFacts, topology_key: str) -> None:
        self.codes, values = facts.label_codes(topology_key)
        self.code_of: list[int] = self.codes.tolist()
        """The codes as a list, which is faster to pick one entry from."""
        self.domains = len(values)
        self.is_unique = self.domains == int(np.count_nonzero(self.codes >= 0))
        """Whether each domain is one node, as with hostnames."""


def _in_order(tasks: Sequence[Task]) -> Sequence[Task]:
    """Return tasks by age where the terms of some do not count; their order has no effect elsewhere."""
    templates = {(task.namespace, task.template.number): task.template for task in tasks}
    terms: Counter[str] = Counter()
    for (namespace, _), template in templates.items():
        terms[namespace] += pod_terms_of(template.spec)
    if max(terms.values(), default=0) <= _MOST_HELD_ABOUT and terms.total() <= _MOST_HELD:
        return tasks
    return sorted(tasks, key=lambda task: (task.created, task.id))


def _anchors(selection: Selection) -> tuple[tuple[str, str], ...] | None:
    """Return the fewest label pairs of which all selected pods have at least one; None if none are sure."""
    known = [anchors for matcher in selection if (anchors := matcher.selector.anchors()) is not None]
    return min(known, key=len) if known else None
