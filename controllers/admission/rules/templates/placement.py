"""Placement: rules for tolerations, affinities, spread constraints and scheduling gates."""

from collections.abc import Iterator, Mapping
from typing import Final

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.names import (
    LABEL_VALUE,
    QUALIFIED_NAME,
    is_qualified_name,
)
from pyroclast.controllers.admission.rules.templates.structs import TemplateSpec, TemplateSpreadConstraint
from pyroclast.model.label_keys import is_label_value
from pyroclast.model.wire import NodeAffinity, NodeSelectorTerm, PodAffinity, SelectorRequirement, Toleration

__all__ = ["placement_faults"]

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATIONS: Final = ("Equal", "Exists", "Lt", "Gt")
_WEIGHTS: Final = range(1, 101)
_VALUES: Final[Mapping[str, tuple[str, range]]] = {
    "In": ("at least one value", range(1, 2**31)),
    "NotIn": ("at least one value", range(1, 2**31)),
    "Exists": ("no value", range(1)),
    "DoesNotExist": ("no value", range(1)),
    "Gt": ("exactly one value", range(1, 2)),
    "Lt": ("exactly one value", range(1, 2)),
}
"""Number of values that each operator takes."""
_UNSATISFIABLE: Final = ("DoNotSchedule", "ScheduleAnyway")


def placement_faults(spec: TemplateSpec, field: str) -> Iterator[Fault]:
    """Find the faults of the rules that choose nodes."""
    for number, toleration in enumerate(spec.tolerations):
        yield from _toleration_faults(toleration, f"{field}.tolerations[{number}]")
    yield from _node_affinity_faults(spec.affinity.node_affinity, f"{field}.affinity.nodeAffinity")
    yield from _pod_affinity_faults(spec.affinity.pod_affinity, f"{field}.affinity.podAffinity")
    yield from _pod_affinity_faults(spec.affinity.pod_anti_affinity, f"{field}.affinity.podAntiAffinity")
    for number, constraint in enumerate(spec.topology_spread_constraints):
        yield from _spread_faults(constraint, f"{field}.topologySpreadConstraints[{number}]")
    gates: set[str] = set()
    for number, gate in enumerate(spec.scheduling_gates):
        place = f"{field}.schedulingGates[{number}].name"
        if not is_qualified_name(gate.name):
            yield Fault(field=place, value=gate.name, expected=QUALIFIED_NAME, rule="this is no name of a gate")
        elif gate.name in gates:
            yield Fault(field=place, value=gate.name, rule="Duplicate value")
        gates.add(gate.name)


def _toleration_faults(toleration: Toleration, field: str) -> Iterator[Fault]:
    operator = toleration.operator or "Equal"
    if toleration.key and not is_qualified_name(toleration.key):
        yield Fault(
            field=f"{field}.key", value=toleration.key, expected=QUALIFIED_NAME, rule="this is no key of a taint"
        )
    if operator not in _TOLERATIONS:
        yield _unsupported(f"{field}.operator", operator, _TOLERATIONS)
    elif not toleration.key and operator != "Exists":
        yield Fault(field=f"{field}.operator", value=operator, rule="operator must be Exists when `key` is empty")
    elif operator == "Exists" and toleration.value:
        yield Fault(
            field=f"{field}.value", value=toleration.value, rule="value must be empty when `operator` is Exists"
        )
    elif not is_label_value(toleration.value):
        yield Fault(field=f"{field}.value", value=toleration.value, expected=LABEL_VALUE, rule="this is no value")
    if toleration.effect and toleration.effect not in _EFFECTS:
        yield _unsupported(f"{field}.effect", toleration.effect, _EFFECTS)
    elif toleration.toleration_seconds is not None and toleration.effect != "NoExecute":
        yield Fault(
            field=f"{field}.effect",
            value=toleration.effect,
            expected="NoExecute",
            rule="effect must be NoExecute when `tolerationSeconds` is set",
        )


def _node_affinity_faults(affinity: NodeAffinity, field: str) -> Iterator[Fault]:
    required, preferred = (
        f"{field}.{name}DuringSchedulingIgnoredDuringExecution" for name in ("required", "preferred")
    )
    if affinity.required is not None:
        terms = affinity.required.node_selector_terms
        if not terms:
            yield Fault(field=f"{required}.nodeSelectorTerms", rule="Required value", expected="at least one term")
        for number, term in enumerate(terms):
            yield from _term_faults(term, f"{required}.nodeSelectorTerms[{number}]")
    for number, wish in enumerate(affinity.preferred):
        yield from _weight_faults(wish.weight, f"{preferred}[{number}].weight")
        yield from _term_faults(wish.preference, f"{preferred}[{number}].preference")


def _term_faults(term: NodeSelectorTerm, field: str) -> Iterator[Fault]:
    for name, expressions in (("matchExpressions", term.match_expressions), ("matchFields", term.match_fields)):
        for number, expression in enumerate(expressions):
            yield from _expression_faults(expression, f"{field}.{name}[{number}]")


def _expression_faults(expression: SelectorRequirement, field: str) -> Iterator[Fault]:
    if not is_qualified_name(expression.key):
        yield Fault(
            field=f"{field}.key", value=expression.key, expected=QUALIFIED_NAME, rule="this is no key of a label"
        )
    if expression.operator not in _VALUES:
        yield _unsupported(f"{field}.operator", expression.operator, tuple(_VALUES))
        return
    expected, counts = _VALUES[expression.operator]
    if len(expression.values) not in counts:
        yield Fault(
            field=f"{field}.values",
            value=list(expression.values),
            expected=expected,
            rule=f"does not go with operator {expression.operator}",
        )


def _pod_affinity_faults(affinity: PodAffinity, field: str) -> Iterator[Fault]:
    required, preferred = (
        f"{field}.{name}DuringSchedulingIgnoredDuringExecution" for name in ("required", "preferred")
    )
    for number, term in enumerate(affinity.required):
        yield from _topology_key_faults(term.topology_key, f"{required}[{number}].topologyKey")
    for number, wish in enumerate(affinity.preferred):
        yield from _weight_faults(wish.weight, f"{preferred}[{number}].weight")
        key = wish.pod_affinity_term.topology_key
        yield from _topology_key_faults(key, f"{preferred}[{number}].podAffinityTerm.topologyKey")


def _spread_faults(constraint: TemplateSpreadConstraint, field: str) -> Iterator[Fault]:
    if constraint.max_skew < 1:
        yield Fault(
            field=f"{field}.maxSkew", value=constraint.max_skew, expected="at least 1", rule="must be greater than zero"
        )
    yield from _topology_key_faults(constraint.topology_key, f"{field}.topologyKey")
    if constraint.when_unsatisfiable not in _UNSATISFIABLE:
        yield _unsupported(f"{field}.whenUnsatisfiable", constraint.when_unsatisfiable, _UNSATISFIABLE)


def _topology_key_faults(key: str, field: str) -> Iterator[Fault]:
    if not is_qualified_name(key):
        yield Fault(field=field, value=key, expected=QUALIFIED_NAME, rule="this is no key of a label of nodes")


def _weight_faults(weight: int, field: str) -> Iterator[Fault]:
    if weight not in _WEIGHTS:
        yield Fault(field=field, value=weight, expected="1 to 100", rule="must be in the range 1-100")


def _unsupported(field: str, value: str, choices: tuple[str, ...]) -> Fault:
    return Fault(field=field, value=value, expected=f"one of {', '.join(choices)}", rule="Unsupported value")
