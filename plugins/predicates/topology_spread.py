"""Topology spread: pods are spread over the domains of a node label within the skew that a pod allows.

A domain is refused if `count + self - least > maxSkew`: `count` matching pods in it, `self` 1 if the pod matches
its own selector, `least` the smallest count of any eligible domain (0 while there are fewer than `minDomains`).
"""

from collections.abc import Hashable, Mapping, Sequence
from typing import Final

import numpy as np

from pyroclast.framework.session.pods import DomainCounts, NodeGroup, SessionPods
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray, ReasonArray
from pyroclast.model.matching.nodes import has_labels
from pyroclast.model.matching.pods import SpreadConstraint, spread_constraints
from pyroclast.model.matching.spread import eligible_nodes
from pyroclast.model.refusals import Reason
from pyroclast.model.tasks import Task

__all__ = ["REASONS", "TopologySpread", "excess"]

REASONS: Final = (
    Reason("node(s) didn't match pod topology spread constraints (missing required label)", resolvable=False),
    Reason("node(s) didn't match pod topology spread constraints"),
)

_MISSING_LABEL, _SKEWED = np.uint8(1), np.uint8(2)
_FEW_DOMAINS: Final = 64
"""Verdicts are cached for at most this many domains, because few patterns of full domains recur often."""
_HARD: Final = "DoNotSchedule"


def excess(counts: IntArray, eligible: BoolArray, *, max_skew: int, min_domains: int, itself: int) -> BoolArray:
    """Return the domains that one more pod would fill beyond the skew.

    Args:
        counts: Matching pods, shape (D,).
        eligible: Domains with at least one eligible node, shape (D,): the others do not count for the least.
        max_skew: Maximum difference to the least full domain.
        min_domains: With fewer eligible domains the least counts as 0.
        itself: 1 if the pod matches its own selector, else 0.

    Returns:
        Mask of domains, shape (D,).
    """
    least = 0
    if np.count_nonzero(eligible) >= min_domains:
        least = int(counts[eligible].min())
    mask: BoolArray = counts > max_skew + least - itself
    return mask


class _Judged:
    """One constraint with its counts."""

    __slots__ = ("_masks", "constraint", "counts", "eligible", "missing", "nodes")

    def __init__(self, constraint: SpreadConstraint, counts: DomainCounts, eligible: BoolArray) -> None:
        self.constraint = constraint
        self.counts = counts
        self.nodes = eligible
        """Eligible nodes, shape (N,): pods on others do not count."""
        codes = counts.codes[eligible]
        self.eligible: BoolArray = np.bincount(codes[codes >= 0], minlength=counts.padded.size) > 0
        """Domains with an eligible node, shape (D + 1,): the last one is for nodes without the label."""
        missing = counts.codes < 0
        self.missing: ReasonArray | None = missing.view(np.uint8) * _MISSING_LABEL if missing.any() else None
        """Refuses nodes without the label, shape (N,); None if all have it."""
        self._masks: dict[bytes, ReasonArray] = {}

    def refused(self, task: Task, matched: Mapping[int, Sequence[Task]]) -> ReasonArray:
        """Refuse nodes without the label and nodes in domains beyond the skew, shape (N,). Read-only.

        Args:
            task: A task with the constraint.
            matched: Pods by column that do not count: they stand for Reservations that the task may use (R32).
        """
        matches = self.constraint.pods.matches(task.namespace, task.pod.metadata.labels)
        domains = excess(
            self._counts_without(matched),
            self.eligible,
            max_skew=self.constraint.max_skew,
            min_domains=self.constraint.min_domains,
            itself=int(matches),
        )
        if domains.size > _FEW_DOMAINS:
            return self._spread_out(domains)
        key = domains.tobytes()
        known = self._masks.get(key)
        if known is None:
            known = self._masks[key] = self._spread_out(domains)
        return known

    def _counts_without(self, matched: Mapping[int, Sequence[Task]]) -> IntArray:
        padded, pods = self.counts.padded, self.constraint.pods
        for column, there in matched.items():
            count = sum(pods.matches(each.namespace, each.pod.metadata.labels) for each in there)
            if count and self.nodes[column] and self.counts.codes[column] >= 0:
                padded = padded.copy()
                padded[self.counts.codes[column]] -= count
        return padded

    def _spread_out(self, domains: BoolArray) -> ReasonArray:
        domains[-1] = False  # the entry of nodes without the label, which are in no domain
        refused = domains[self.counts.codes].view(np.uint8) * _SKEWED
        return refused if self.missing is None else refused + self.missing


class TopologySpread:
    """`DoNotSchedule` constraints."""

    def __init__(self, session: Session, pods: SessionPods) -> None:
        self._facts = session.nodes.facts
        self._reserved = session.reserved
        self._pods = pods
        self._hard: dict[int, tuple[wire.TopologySpreadConstraint, ...]] = {}
        self._judged: dict[Hashable, tuple[_Judged, ...]] = {}

    def cares(self, task: Task) -> bool:
        """Return whether a task has such constraints."""
        return bool(task.template.spec.topology_spread_constraints and self._constraints(task))

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray:
        """Evaluate the constraints in order, shape (columns,): the first failed one counts."""
        verdicts: ReasonArray | None = None
        matched = self._reserved.matched_pods(task)
        for judged in self._of(task):
            refused = judged.refused(task, matched)
            verdicts = refused.copy() if verdicts is None else np.where(verdicts > 0, verdicts, refused)
        assert verdicts is not None, "only tasks with constraints are asked about"
        return verdicts if columns.is_all else verdicts[columns.index]

    def _constraints(self, task: Task) -> tuple[wire.TopologySpreadConstraint, ...]:
        template = task.template
        known = self._hard.get(template.number)
        if known is None:
            constraints = template.spec.topology_spread_constraints
            known = tuple(each for each in constraints if each.when_unsatisfiable == _HARD)
            self._hard[template.number] = known
        return known

    def _of(self, task: Task) -> tuple[_Judged, ...]:
        constraints = self._constraints(task)
        labels = task.pod.metadata.labels
        named = any(each.match_label_keys for each in constraints)
        key = (task.template.number, task.namespace, frozenset(labels.items()) if named else None)
        known = self._judged.get(key)
        if known is None:
            known = self._judged[key] = self._judge(task, constraints)
        return known

    def _judge(self, task: Task, constraints: tuple[wire.TopologySpreadConstraint, ...]) -> tuple[_Judged, ...]:
        labelled = has_labels(self._facts, dict.fromkeys(each.topology_key for each in constraints))
        """Nodes that have the keys of all constraints: one mask for the template."""
        judged = []
        for constraint in spread_constraints(constraints, task.namespace, task.pod.metadata.labels, _HARD):
            eligible = eligible_nodes(self._facts, task.template.spec, constraint, labelled)
            group = NodeGroup((task.template.number, constraint), eligible)
            counts = self._pods.domains(
                (constraint.pods,), constraint.topology_key, counts_terminating=False, within=group
            )
            judged.append(_Judged(constraint, counts, eligible))
        return tuple(judged)
