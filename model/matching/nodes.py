"""Node selectors as masks over the columns of a node table.

N is the number of nodes; masks are write-protected and memoised on the facts.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.matching.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Selector
from pyroclast.model.nodes import NodeFacts

__all__ = [
    "has_labels",
    "integer_beyond",
    "label_mask",
    "node_selector_columns",
    "node_selector_mask",
    "pod_node_mask",
    "requirement_mask",
    "selector_mask",
    "term_mask",
]

_NAME_FIELD: Final = "metadata.name"
_MOST_INTEGER: Final = 2**63 - 1


def requirement_mask(facts: NodeFacts, key: str, operator: str, values: Iterable[str]) -> BoolArray:
    """Return the nodes that meet one expression over their labels, shape (N,).

    Operators are those of node selectors. `Gt` and `Lt` compare integers; other values meet neither. No node meets an
    unknown operator.
    """
    required = frozenset(values)
    return facts.derive(
        ("nodes meeting", key, operator, required), lambda: _requirement(facts, key, operator, required)
    )


def _requirement(facts: NodeFacts, key: str, operator: str, values: frozenset[str]) -> BoolArray:
    codes, known = facts.label_codes(key)
    accepted = np.zeros(len(known) + 1, dtype=np.bool_)  # the code of an absent label, -1, picks the last
    if operator in {IN, NOT_IN}:
        accepted[[known[value] for value in values if value in known]] = True
    elif operator == EXISTS:
        accepted[:-1] = True
    elif operator == DOES_NOT_EXIST:
        accepted[-1] = True
    elif operator in {"Gt", "Lt"} and len(values) == 1:
        for value, code in known.items():
            accepted[code] = integer_beyond(value, next(iter(values)), operator)
    return _frozen((~accepted if operator == NOT_IN else accepted)[codes])


def integer_beyond(value: str, bound: str, operator: str) -> bool:
    """Return whether a label meets `Gt` or `Lt`. Values that are no integers meet neither."""
    number, limit = _integer(value), _integer(bound)
    if number is None or limit is None:
        return False
    return number > limit if operator == "Gt" else number < limit


def _integer(text: str) -> int | None:
    """Read a decimal integer of 64 bits as Kubernetes does: a sign and digits, nothing else."""
    digits = text[1:] if text[:1] in {"+", "-"} else text
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > len(str(_MOST_INTEGER)):
        return None
    number = int(text)
    return number if -_MOST_INTEGER - 1 <= number <= _MOST_INTEGER else None


def label_mask(facts: NodeFacts, labels: Mapping[str, str]) -> BoolArray:
    """Return the nodes that have all of these labels, shape (N,)."""
    return _all(facts, [requirement_mask(facts, key, IN, (value,)) for key, value in sorted(labels.items())])


def has_labels(facts: NodeFacts, keys: Iterable[str]) -> BoolArray:
    """Return the nodes that have all of these label keys, with any values, shape (N,)."""
    return _all(facts, [requirement_mask(facts, key, EXISTS, ()) for key in keys])


def selector_mask(facts: NodeFacts, selector: Selector) -> BoolArray:
    """Return the nodes that a label selector selects, shape (N,)."""
    if selector.selects_nothing:
        return _frozen(np.zeros(len(facts.nodes), dtype=np.bool_))
    return _all(
        facts, [requirement_mask(facts, each.key, each.operator, each.values) for each in selector.requirements]
    )


def term_mask(facts: NodeFacts, term: wire.NodeSelectorTerm) -> BoolArray:
    """Return the nodes that meet all expressions and fields of a term, shape (N,). No node meets an empty term."""
    if not term.match_expressions and not term.match_fields:
        return _frozen(np.zeros(len(facts.nodes), dtype=np.bool_))
    # expressions are not memoised one by one: each local volume has one of its own
    masks = [_requirement(facts, each.key, each.operator, frozenset(each.values)) for each in term.match_expressions]
    masks += [_field_mask(facts, each) for each in term.match_fields]
    return _all(facts, masks)


def _field_mask(facts: NodeFacts, requirement: wire.SelectorRequirement) -> BoolArray:
    named = np.zeros(len(facts.nodes), dtype=np.bool_)
    if requirement.key != _NAME_FIELD or requirement.operator not in {IN, NOT_IN}:
        return named
    columns = facts.column_by_name
    named[[columns[name] for name in requirement.values if name in columns]] = True
    return named if requirement.operator == IN else ~named


def node_selector_mask(facts: NodeFacts, selector: wire.NodeSelector) -> BoolArray:
    """Return the nodes that meet at least one term, shape (N,). Without terms, no node does."""
    return facts.derive(("nodes of selector", selector), lambda: _any(facts, selector.node_selector_terms))


def node_selector_columns(facts: NodeFacts, selector: wire.NodeSelector) -> IntArray:
    """Return the columns of the nodes that meet at least one term, ascending."""

    def compute() -> IntArray:
        columns = np.flatnonzero(_any(facts, selector.node_selector_terms))
        columns.flags.writeable = False
        return columns

    return facts.derive(("columns of selector", selector), compute)


def _any(facts: NodeFacts, terms: Iterable[wire.NodeSelectorTerm]) -> BoolArray:
    met = np.zeros(len(facts.nodes), dtype=np.bool_)
    for term in terms:
        met |= term_mask(facts, term)
    return _frozen(met)


def pod_node_mask(facts: NodeFacts, spec: wire.PodSpec) -> BoolArray | None:
    """Return the nodes that a pod's node selector and required affinity accept, shape (N,); None if it has neither."""
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if not spec.node_selector:
        return None if required is None else node_selector_mask(facts, required)
    labelled = label_mask(facts, spec.node_selector)
    return labelled if required is None else labelled & node_selector_mask(facts, required)


def _all(facts: NodeFacts, masks: Iterable[BoolArray]) -> BoolArray:
    met = np.ones(len(facts.nodes), dtype=np.bool_)
    for mask in masks:
        met &= mask
    return _frozen(met)


def _frozen(mask: BoolArray) -> BoolArray:
    mask.flags.writeable = False
    return mask
