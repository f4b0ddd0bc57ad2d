"""Affinity: which Reservations a pod demands, and which it may use (R4 to R7, R9)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeVar

from pyroclast.model import wire
from pyroclast.model.annotations import read_json
from pyroclast.model.matching.nodes import integer_beyond
from pyroclast.model.matching.selectors import Requirement
from pyroclast.model.required_rules import RESERVATION_AFFINITY
from pyroclast.model.reservations.names import EXACT_MATCH, IGNORED
from pyroclast.model.sealed import SealedDict

T = TypeVar("T")

__all__ = ["MOST_TERMS", "NO_DEMAND", "ReservationDemand", "read_demand"]

MOST_TERMS: Final = 100
"""Most selector terms, expressions of a term, tolerations, and names for an exact match of one pod."""
_LONGEST_TEXT: Final = 16384
"""Characters of an annotation that is parsed; parsed ones are kept."""
_NAME_FIELD: Final = "metadata.name"


class _Terms(wire.Wire, frozen=True, kw_only=True):
    reservation_selector_terms: tuple[wire.NodeSelectorTerm, ...] = ()


class _Affinity(wire.Wire, frozen=True, kw_only=True):
    name: str = ""
    required_during_scheduling_ignored_during_execution: _Terms | None = None
    reservation_selector: Mapping[str, str] = wire.EMPTY
    tolerations: tuple[wire.Toleration, ...] = ()


class _ExactMatch(wire.Wire, frozen=True, kw_only=True):
    resource_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationDemand:
    """What a pod demands of Reservations."""

    is_required: bool = False
    """Whether it must be placed on a Reservation."""
    name: str = ""
    """The only Reservation; empty for any."""
    selector: Mapping[str, str] = field(default_factory=SealedDict)
    """Labels that a Reservation, or its node, must have."""
    terms: tuple[wire.NodeSelectorTerm, ...] | None = None
    """Terms of which one must be met; None if there are none."""
    tolerations: tuple[wire.Toleration, ...] = ()
    """Tolerations of taints of Reservations."""
    exact: tuple[str, ...] = ()
    """Resource names whose amounts must equal those of the Reservation."""
    ignores: bool = False
    """Whether it uses reserved capacity without becoming an owner."""

    def selects(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether a Reservation with this name and these labels, those of its node included, is selected."""
        if any(labels.get(key) != value for key, value in self.selector.items()):
            return False
        return self.terms is None or any(_meets(term, name, labels) for term in self.terms)


NO_DEMAND: Final = ReservationDemand()


def read_demand(pod: wire.Pod) -> ReservationDemand:
    """Parse the label and annotations of a pod.

    Raises:
        ValueError: An annotation cannot be parsed, or has too many terms.
    """
    metadata = pod.metadata
    affinity, exact = metadata.annotations.get(RESERVATION_AFFINITY), metadata.annotations.get(EXACT_MATCH)
    ignores = metadata.labels.get(IGNORED) == "true"
    if affinity is None and not exact and not ignores:
        return NO_DEMAND
    return _read(affinity, exact or "", ignores=ignores)


@lru_cache(maxsize=256)
def _read(affinity: str | None, exact: str, *, ignores: bool) -> ReservationDemand:
    names = _decoded(exact, _ExactMatch, EXACT_MATCH).resource_names if exact else ()
    _bound(len(names), EXACT_MATCH)
    if affinity is None:
        return ReservationDemand(exact=names, ignores=ignores)
    read = _decoded(affinity, _Affinity, RESERVATION_AFFINITY)
    required = read.required_during_scheduling_ignored_during_execution
    terms = None if required is None else required.reservation_selector_terms
    _bound(len(terms or ()), RESERVATION_AFFINITY)
    for term in terms or ():
        _bound(len(term.match_expressions) + len(term.match_fields), RESERVATION_AFFINITY)
    _bound(len(read.tolerations), RESERVATION_AFFINITY)
    return ReservationDemand(
        is_required=True,
        name=read.name,
        selector=read.reservation_selector,
        terms=terms,
        tolerations=read.tolerations,
        exact=names,
        ignores=ignores,
    )


def _decoded(text: str, kind: type[T], key: str) -> T:
    try:
        return read_json(text, kind, longest=_LONGEST_TEXT)
    except ValueError as error:
        raise ValueError(f"annotation {key}: {error}") from None


def _bound(count: int, key: str) -> None:
    if count > MOST_TERMS:
        raise ValueError(f"annotation {key}: {count} entries, at most {MOST_TERMS} are supported")


def _meets(term: wire.NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {_NAME_FIELD: name}
    return all(_met(each, labels) for each in term.match_expressions) and all(
        each.key in fields and _met(each, fields) for each in term.match_fields
    )


def _met(requirement: wire.SelectorRequirement, labels: Mapping[str, str]) -> bool:
    key, operator, values = requirement.key, requirement.operator, requirement.values
    if operator in {"Gt", "Lt"}:
        return key in labels and len(values) == 1 and integer_beyond(labels[key], values[0], operator)
    return Requirement(key, operator, frozenset(values)).matches(labels)
