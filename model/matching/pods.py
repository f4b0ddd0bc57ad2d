"""Pods by namespace and labels: matchers, the terms of pod affinity, and topology spread constraints.

Namespace selectors are resolved to names when terms are made, so that matching a pod needs its namespace and labels
alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyroclast.model import wire
from pyroclast.model.matching.selectors import IN, NOT_IN, NOTHING, Requirement, Selector

__all__ = [
    "NO_TERMS",
    "PodMatcher",
    "PodTerm",
    "PodTerms",
    "SpreadConstraint",
    "pod_terms",
    "spread_constraints",
    "terms_depend_on_labels",
]


@dataclass(frozen=True, slots=True)
class PodMatcher:
    """Pods of some namespaces with some labels."""

    namespaces: frozenset[str] | None
    """None selects every namespace."""
    selector: Selector

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Return whether the matcher selects a pod."""
        return (self.namespaces is None or namespace in self.namespaces) and self.selector.matches(labels)


@dataclass(frozen=True, slots=True)
class PodTerm:
    """One term of pod affinity or anti-affinity: these pods, in the same domain of a node label."""

    topology_key: str
    pods: PodMatcher


@dataclass(frozen=True, slots=True, eq=False)
class PodTerms:
    """All terms of a pod; compared by identity, so that it can key memos."""

    required_affinity: tuple[PodTerm, ...] = ()
    required_anti_affinity: tuple[PodTerm, ...] = ()
    preferred_affinity: tuple[tuple[int, PodTerm], ...] = ()
    """Terms with their weights."""
    preferred_anti_affinity: tuple[tuple[int, PodTerm], ...] = ()
    """Terms with their weights, as positive numbers."""

    def __bool__(self) -> bool:
        """Return whether there are terms."""
        return bool(
            self.required_affinity
            or self.required_anti_affinity
            or self.preferred_affinity
            or self.preferred_anti_affinity
        )


NO_TERMS: Final = PodTerms()


def pod_terms(
    affinity: wire.Affinity | None,
    namespace: str,
    labels: Mapping[str, str],
    namespaces: Mapping[str, wire.Namespace],
) -> PodTerms:
    """Return the terms of a pod.

    Args:
        affinity: As its specification has it.
        namespace: Its namespace, the default of terms that name none.
        labels: Its labels, for `matchLabelKeys` that are not merged into the selector yet.
        namespaces: All namespaces by name, for namespace selectors.
    """
    if affinity is None or (affinity.pod_affinity is None and affinity.pod_anti_affinity is None):
        return NO_TERMS

    def term(each: wire.PodAffinityTerm) -> PodTerm:
        selector = Selector.of(each.label_selector, _merged(each, labels))
        return PodTerm(each.topology_key, PodMatcher(_namespaces(each, namespace, namespaces), selector))

    pod_affinity, pod_anti_affinity = (
        affinity.pod_affinity or wire.PodAffinity(),
        affinity.pod_anti_affinity or wire.PodAffinity(),
    )
    return PodTerms(
        required_affinity=tuple(term(each) for each in pod_affinity.required),
        required_anti_affinity=tuple(term(each) for each in pod_anti_affinity.required),
        preferred_affinity=tuple((each.weight, term(each.pod_affinity_term)) for each in pod_affinity.preferred),
        preferred_anti_affinity=tuple(
            (each.weight, term(each.pod_affinity_term)) for each in pod_anti_affinity.preferred
        ),
    )


def terms_depend_on_labels(affinity: wire.Affinity | None) -> bool:
    """Return whether terms depend on labels, so that pods of equal spec and namespace may have different terms."""
    return any(each.match_label_keys or each.mismatch_label_keys for each in _all_terms(affinity))


def _all_terms(affinity: wire.Affinity | None) -> Iterator[wire.PodAffinityTerm]:
    for half in (affinity.pod_affinity, affinity.pod_anti_affinity) if affinity else ():
        if half is not None:
            yield from half.required
            yield from (each.pod_affinity_term for each in half.preferred)


def _namespaces(
    term: wire.PodAffinityTerm, own: str, namespaces: Mapping[str, wire.Namespace]
) -> frozenset[str] | None:
    if term.namespace_selector is None:
        return frozenset(term.namespaces or (own,))
    selector = Selector.of(term.namespace_selector)
    if not selector.requirements:
        return None
    selected = (name for name, each in namespaces.items() if selector.matches(each.metadata.labels))
    return frozenset((*term.namespaces, *selected))


def _merged(term: wire.PodAffinityTerm, labels: Mapping[str, str]) -> Iterator[Requirement]:
    """Yield requirements that label keys add to a selector. If the API server has merged them, there are none."""
    expressions = term.label_selector.match_expressions if term.label_selector else ()
    for keys, operator in ((term.match_label_keys, IN), (term.mismatch_label_keys, NOT_IN)):
        done = {each.key for each in expressions if each.operator == operator}
        for key in keys:
            if key in labels and key not in done:
                yield Requirement(key, operator, frozenset({labels[key]}))


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """Topology spread constraint: limit of the skew of pods over the domains of a node label."""

    topology_key: str
    max_skew: int
    min_domains: int
    """If there are fewer domains, the global minimum counts as 0."""
    pods: PodMatcher
    honours_affinity: bool
    """Whether nodes that the pod's node selector and affinity refuse are left out of the counts."""
    honours_taints: bool
    """Whether nodes whose taints the pod does not tolerate are left out of the counts."""


def spread_constraints(
    constraints: Sequence[wire.TopologySpreadConstraint],
    namespace: str,
    labels: Mapping[str, str],
    when_unsatisfiable: str,
) -> tuple[SpreadConstraint, ...]:
    """Return the constraints of a pod with `DoNotSchedule`, or those with `ScheduleAnyway`.

    Args:
        constraints: As its specification has them.
        namespace: Its namespace: constraints count no other.
        labels: Its labels, for `matchLabelKeys`.
        when_unsatisfiable: `DoNotSchedule` or `ScheduleAnyway`.
    """
    return tuple(
        SpreadConstraint(
            topology_key=each.topology_key,
            max_skew=each.max_skew,
            min_domains=each.min_domains or 1,
            pods=PodMatcher(frozenset({namespace}), _spread_selector(each, labels)),
            honours_affinity=each.node_affinity_policy != "Ignore",
            honours_taints=each.node_taints_policy == "Honor",
        )
        for each in constraints
        if each.when_unsatisfiable == when_unsatisfiable
    )


def _spread_selector(constraint: wire.TopologySpreadConstraint, labels: Mapping[str, str]) -> Selector:
    """Return which pods a constraint counts: none if it has an absent selector or an empty one.

    That an empty selector selects everything elsewhere does not hold here: kube-scheduler counts no pod for it. Label
    keys alone do select, whether the selector beside them is absent or empty.
    """
    named = (Requirement(key, IN, frozenset({labels[key]})) for key in constraint.match_label_keys if key in labels)
    selector = Selector.of(constraint.label_selector or wire.LabelSelector(), named)
    return selector if selector.requirements else NOTHING
