"""Scores by other pods: preferred pod affinity, and topology spread constraints with ScheduleAnyway."""

import math
from collections.abc import Hashable, Mapping
from typing import Final

import numpy as np

from pyroclast.framework.session.pods import DomainCounts, NodeGroup, SessionPods, TermKind
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.matching.nodes import has_labels, pod_node_mask
from pyroclast.model.matching.pods import PodMatcher, PodTerms, SpreadConstraint, spread_constraints
from pyroclast.model.matching.selectors import Selector
from pyroclast.model.matching.taints import tolerated
from pyroclast.model.tasks import Task

__all__ = ["PreferredAffinity", "PreferredSpread", "spread_normalised", "spread_to_range"]

MAX_SCORE: Final = 100
SOFT: Final = "ScheduleAnyway"
HOSTNAME: Final = "kubernetes.io/hostname"
ZONE: Final = "topology.kubernetes.io/zone"
APPS: Final = "apps/v1"
NO_OWNER: Final = wire.OwnerReference()


def spread_to_range(raw: FloatArray) -> FloatArray:
    """Scale so that the lowest candidate has 0 and the highest 100; all 0 if they are equal."""
    if not raw.size:
        return raw
    lowest, highest = raw.min(), raw.max()
    if lowest == highest:
        return np.zeros(raw.shape)
    # Divided before it is scaled, as in kube-scheduler: 29 of 100 gives 28.999..., so 28.
    scaled: FloatArray = np.floor(MAX_SCORE * ((raw - lowest) / (highest - lowest)))
    return scaled


class PreferredAffinity:
    """Preferred (anti-)affinity of incoming tasks to pods on nodes, and of pods on nodes to incoming tasks."""

    def __init__(self, session: Session, pods: SessionPods) -> None:
        self._pods = pods
        self._count = len(session.nodes)
        self._own: dict[PodTerms, tuple[tuple[int, DomainCounts], ...]] = {}

    def cares(self, task: Task) -> bool:
        """Return whether a task has preferred terms, or pods on nodes have preferred terms that match it."""
        if task.template.spec.affinity is not None:
            terms = self._pods.terms(task)
            if terms.preferred_affinity or terms.preferred_anti_affinity:
                return True
        held = self._pods.held_about
        return bool(held(TermKind.PREFERRED_AFFINITY, task) or held(TermKind.PREFERRED_ANTI_AFFINITY, task))

    def raw(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Return the sum of weights over pods in each node's domains, shape (columns,); None without contributions."""
        total = np.zeros(self._count, dtype=np.int64)
        contributes = False
        for weight, domains in self._preferred(task):
            if domains.total:
                total += weight * domains.at_nodes()
                contributes = True
        for kind, sign in ((TermKind.PREFERRED_AFFINITY, 1), (TermKind.PREFERRED_ANTI_AFFINITY, -1)):
            for held in self._pods.held_about(kind, task):
                if held.holders.total:
                    total += sign * held.weight * held.holders.at_nodes()
                    contributes = True
        if not contributes:
            return None
        scores: FloatArray = total[columns.index].astype(np.float64)
        return scores

    def _preferred(self, task: Task) -> tuple[tuple[int, DomainCounts], ...]:
        terms = self._pods.terms(task)
        known = self._own.get(terms)
        if known is None:
            known = self._own[terms] = tuple(
                (sign * weight, self._pods.domains((term.pods,), term.topology_key))
                for preferred, sign in ((terms.preferred_affinity, 1), (terms.preferred_anti_affinity, -1))
                for weight, term in preferred
            )
        return known


def spread_normalised(raw: FloatArray, ignored: BoolArray) -> FloatArray:
    """Convert counts to scores: few pods score high; ignored candidates score 0.

    Args:
        raw: Weighted counts, whole numbers, shape (candidates,).
        ignored: Candidates that lack a label of the constraints, shape (candidates,).
    """
    taken = raw[~ignored]
    if not taken.size:
        return np.zeros(raw.shape)
    lowest, highest = float(taken.min()), float(taken.max())
    if highest == 0:
        return np.where(ignored, 0.0, float(MAX_SCORE))
    # Integers far below 2**53: the floor of their rounded quotient is exact, and faster than `//` of floats.
    return np.where(ignored, 0.0, np.floor(MAX_SCORE * (highest + lowest - raw) / highest))


class PreferredSpread:
    """`ScheduleAnyway` constraints, or Kubernetes' default constraints for pods of a service or workload."""

    def __init__(self, session: Session, pods: SessionPods) -> None:
        self._facts = session.nodes.facts
        self._pods = pods
        self._known: dict[Hashable, tuple[tuple[SpreadConstraint, DomainCounts], ...]] = {}
        self._defaults = _DefaultConstraints(session)

    def cares(self, task: Task) -> bool:
        """Return whether a task has such constraints."""
        constraints = task.template.spec.topology_spread_constraints
        if not constraints:
            return self._defaults.selector(task) is not None
        return any(each.when_unsatisfiable == SOFT for each in constraints)

    def scores(self, task: Task, columns: NodeColumns) -> FloatArray | None:
        """Score the candidates, shape (columns,); None without constraints."""
        judged = self._of(task)
        if not judged:
            return None
        codes = [domains.codes if columns.is_all else domains.codes[columns.index] for _, domains in judged]
        lacking = [own < 0 for own in codes]
        ignored = np.zeros(len(columns), dtype=np.bool_)
        if task.template.spec.topology_spread_constraints:
            ignored = np.logical_or.reduce(lacking)
        raw = np.zeros(len(columns))
        for (constraint, domains), own, absent in zip(judged, codes, lacking, strict=True):
            weight = math.log(_size(constraint, own[~ignored]) + 2)
            points = domains.at_nodes()[columns.index] * weight + (constraint.max_skew - 1)
            raw += np.where(absent, 0.0, points)
        return spread_normalised(np.rint(raw), ignored)

    def _of(self, task: Task) -> tuple[tuple[SpreadConstraint, DomainCounts], ...]:
        own = task.template.spec.topology_spread_constraints
        labels = task.pod.metadata.labels
        # Besides the template, labels that constraints name decide, or the selector of the default constraints.
        bound: Hashable = None
        if not own:
            bound = self._defaults.selector(task)
        elif any(each.match_label_keys for each in own):
            bound = frozenset(labels.items())
        key = (task.template.number, task.namespace, bound)
        known = self._known.get(key)
        if known is None:
            constraints = (
                spread_constraints(own, task.namespace, labels, SOFT) if own else self._defaults.constraints(task)
            )
            labelled = (
                has_labels(self._facts, dict.fromkeys(each.topology_key for each in constraints)) if own else None
            )
            known = self._known[key] = tuple(
                (constraint, self._domains(task, constraint, labelled)) for constraint in constraints
            )
        return known

    def _domains(self, task: Task, constraint: SpreadConstraint, labelled: BoolArray | None) -> DomainCounts:
        """Return the counts of a constraint, on nodes that have all keys and that its policies include.

        Args:
            task: The task with the constraint.
            constraint: The constraint.
            labelled: Nodes with the keys of all constraints of the task, shape (N,); None if each key counts by itself.
        """
        group = None
        if (
            constraint.topology_key != HOSTNAME
        ):  # with the hostname key each candidate counts its own pods, regardless of the policies
            spec = task.template.spec
            eligible = has_labels(self._facts, [constraint.topology_key]) if labelled is None else labelled
            accepted = pod_node_mask(self._facts, spec) if constraint.honours_affinity else None
            if accepted is not None:
                eligible = eligible & accepted
            if constraint.honours_taints:
                eligible = eligible & tolerated(self._facts, spec.tolerations)
            group = NodeGroup(("spread score", task.template.number, labelled is None, constraint), eligible)
        return self._pods.domains((constraint.pods,), constraint.topology_key, counts_terminating=False, within=group)


def _size(constraint: SpreadConstraint, codes: IntArray) -> int:
    """Count the domains among candidates. Nodes without the label count as one more; with hostname each node counts."""
    if constraint.topology_key == HOSTNAME:
        return codes.size
    # Without sorting: codes are small numbers, and -1 means that the label is absent.
    return int(np.count_nonzero(np.bincount(codes + 1)))


class _DefaultConstraints:
    """Kubernetes' cluster defaults: hostname with skew 3 and zone with skew 5, over pods of the same service."""

    def __init__(self, session: Session) -> None:
        objects = session.snapshot.objects
        self._services: dict[str, list[wire.Service]] = {}
        for key, service in sorted(objects.services.items()):
            if service.spec.selector:
                self._services.setdefault(key.split("/", 1)[0], []).append(service)
        self._controllers = objects.replication_controllers
        self._sets: Mapping[tuple[str, str], Mapping[str, wire.ReplicaSet | wire.StatefulSet]] = {
            (APPS, "ReplicaSet"): objects.replica_sets,
            (APPS, "StatefulSet"): objects.stateful_sets,
        }
        self._is_idle = not (self._services or self._controllers or objects.replica_sets or objects.stateful_sets)
        self._selectors: dict[Hashable, Selector | None] = {}

    def selector(self, task: Task) -> Selector | None:
        """Return the selector of the pods that belong together with a task; None if there is none."""
        if self._is_idle:
            return None
        metadata = task.pod.metadata
        owner = next((each for each in metadata.owner_references if each.controller), NO_OWNER)
        key = (task.namespace, frozenset(metadata.labels.items()), owner.api_version, owner.kind, owner.name)
        if key not in self._selectors:
            selector = self._find(task, owner)
            self._selectors[key] = selector if selector.requirements else None
        return self._selectors[key]

    def constraints(self, task: Task) -> tuple[SpreadConstraint, ...]:
        """Return the default constraints of a task; none without a selector."""
        selector = self.selector(task)
        if selector is None:
            return ()
        pods = PodMatcher(frozenset({task.namespace}), selector)
        return tuple(
            SpreadConstraint(
                topology_key=key,
                max_skew=skew,
                min_domains=1,
                pods=pods,
                honours_affinity=True,
                honours_taints=False,
            )
            for key, skew in ((HOSTNAME, 3), (ZONE, 5))
        )

    def _find(self, task: Task, owner: wire.OwnerReference) -> Selector:
        """Join the selectors of the services that select a pod and of its controller."""
        labels = task.pod.metadata.labels
        pairs: dict[str, str] = {}
        for service in self._services.get(task.namespace, ()):
            if service.spec.selector.items() <= labels.items():
                pairs |= service.spec.selector
        key = f"{task.namespace}/{owner.name}"
        if (owner.api_version, owner.kind) == ("v1", "ReplicationController") and key in self._controllers:
            pairs |= self._controllers[key].spec.selector
        served = Selector.of_labels(pairs)
        made_by = self._sets.get((owner.api_version, owner.kind), {}).get(key)
        if made_by is None or made_by.spec.selector is None:
            return served
        return Selector.of(made_by.spec.selector, served.requirements)
