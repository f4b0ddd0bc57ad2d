"""Label selectors, in a form that can be compared, hashed and asked often."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyroclast.model import wire

__all__ = ["EVERYTHING", "IN", "NOTHING", "NOT_IN", "OPERATORS", "Requirement", "Selector", "unreadable"]

IN: Final = "In"
NOT_IN: Final = "NotIn"
EXISTS: Final = "Exists"
DOES_NOT_EXIST: Final = "DoesNotExist"
OPERATORS: Final = (IN, NOT_IN, EXISTS, DOES_NOT_EXIST)


@dataclass(frozen=True, slots=True)
class Requirement:
    """Requirement for one label."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the requirement. An operator unknown to label selectors is never met."""
        value = labels.get(self.key)
        if self.operator == IN:
            return value in self.values
        if self.operator == NOT_IN:
            return value not in self.values
        if self.operator == EXISTS:
            return value is not None
        return self.operator == DOES_NOT_EXIST and value is None


@dataclass(frozen=True, slots=True)
class Selector:
    """Labels to match: all requirements must be met."""

    requirements: tuple[Requirement, ...] = ()
    """Sorted, so that equal selectors are equal; none: everything matches."""
    selects_nothing: bool = False
    """True for an absent selector."""

    @classmethod
    def of(cls, selector: wire.LabelSelector | None, extra: Iterable[Requirement] = ()) -> "Selector":
        """Return a selector of the wire, with further requirements; an absent one selects nothing."""
        if selector is None:
            return NOTHING
        pairs = (Requirement(key, IN, frozenset({value})) for key, value in selector.match_labels.items())
        expressions = (
            Requirement(each.key, each.operator, frozenset(each.values)) for each in selector.match_expressions
        )
        distinct = {*pairs, *expressions, *extra}
        return cls(tuple(sorted(distinct, key=lambda each: (each.key, each.operator, sorted(each.values)))))

    @classmethod
    def of_labels(cls, labels: Mapping[str, str]) -> "Selector":
        """Return the selector that requires all of these labels."""
        return cls.of(wire.LabelSelector(match_labels=labels))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether the selector selects an object with these labels."""
        return not self.selects_nothing and all(requirement.matches(labels) for requirement in self.requirements)

    def anchors(self) -> tuple[tuple[str, str], ...] | None:
        """Return label pairs of which each selected object has at least one; None if there is no such list.

        They narrow the search for selected objects.
        """
        if self.selects_nothing:
            return ()
        equalities = [each for each in self.requirements if each.operator == IN]
        if not equalities:
            return None
        best = min(equalities, key=lambda each: len(each.values))
        return tuple((best.key, value) for value in sorted(best.values))


EVERYTHING: Final = Selector()
NOTHING: Final = Selector(selects_nothing=True)


def unreadable(selector: wire.LabelSelector) -> Iterator[tuple[str, str]]:
    """Yield the errors in a selector that keep it from selecting any object.

    Yields:
        Paths within the selector, each with its error.
    """
    for number, each in enumerate(selector.match_expressions):
        path = f"matchExpressions[{number}]"
        if each.operator not in OPERATORS:
            yield f"{path}.operator", f"{each.operator!r} is none of {', '.join(OPERATORS)}; selects nothing"
        elif each.operator == IN and not each.values:
            yield f"{path}.values", "In without values selects nothing"
