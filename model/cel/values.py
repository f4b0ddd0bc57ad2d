"""Values: the types of expressions beyond those of Python, and how values are compared.

Booleans, integers, floating-point numbers, texts, None, lists and mappings are Python's. A number is never a boolean.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import total_ordering
from typing import Any, Final

from pyroclast.model.cel.parser import CelError
from pyroclast.model.quantity import QuantityError, parse

__all__ = ["NONE", "Optional", "Quantity", "Semver", "TotalMap", "compared", "equal", "is_number", "kind_of"]

_IDENTIFIERS: Final = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,18})"
_SEMVER: Final = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIERS}))?(?:\+({_IDENTIFIERS}))?", re.ASCII
)
_LOOSE: Final = re.compile(r"v?0*([0-9]+)(?:\.0*([0-9]+))?(?:\.0*([0-9]+))?(.*)", re.ASCII | re.DOTALL)
_LONGEST_VERSION: Final = 256


@dataclass(frozen=True, slots=True)
class Optional:
    """A value that may be absent."""

    value: Any = None
    is_present: bool = True


NONE: Final = Optional(is_present=False)
"""The absent value."""


class TotalMap(Mapping[str, Any]):
    """A map with a value for each key, also for keys that it does not contain."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=True)
class Quantity:
    """An amount of Kubernetes, exactly."""

    amount: Fraction

    @classmethod
    def of(cls, text: str) -> "Quantity":
        """Parse a quantity. Raise CelError for other texts."""
        try:
            return cls(parse(text))
        except QuantityError as error:
            raise CelError(str(error)) from None

    def __lt__(self, other: "Quantity") -> bool:
        """Compare amounts."""
        return self.amount < other.amount


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A semantic version 2.0.0; build metadata does not count in comparisons."""

    major: int
    minor: int
    patch: int
    pre_release: str = ""

    @classmethod
    def of(cls, text: str, *, is_loose: bool = False) -> "Semver":
        """Parse a version. Raise CelError for other texts.

        Args:
            text: The version.
            is_loose: Whether a leading `v`, leading zeros and absent parts are accepted.
        """
        if len(text) > _LONGEST_VERSION:
            raise CelError("the version is too long")
        if is_loose and (loose := _LOOSE.fullmatch(text)) is not None:
            major, minor, patch, rest = loose.groups()
            text = f"{major}.{minor or 0}.{patch or 0}{rest}"
        match = _SEMVER.fullmatch(text)
        if match is None:
            raise CelError(f"{text!r} is not a semantic version")
        return cls(int(match[1]), int(match[2]), int(match[3]), match[4] or "")

    @property
    def key(self) -> tuple[Any, ...]:
        """Order of versions: a pre-release comes before its release, numbers before texts."""
        parts = tuple(
            (0, int(each), "") if each.isdigit() else (1, 0, each) for each in self.pre_release.split(".") if each
        )
        return self.major, self.minor, self.patch, not parts, parts

    def __eq__(self, other: object) -> bool:
        """Compare by precedence."""
        return isinstance(other, Semver) and self.key == other.key

    def __hash__(self) -> int:
        """Hash by precedence."""
        return hash(self.key)

    def __lt__(self, other: "Semver") -> bool:
        """Compare by precedence."""
        return bool(self.key < other.key)


def kind_of(value: Any) -> str:
    """Return the name of a value's type."""
    match value:
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "double"
        case str():
            return "string"
        case None:
            return "null_type"
        case list():
            return "list"
        case Mapping():
            return "map"
        case Optional():
            return "optional"
        case Quantity():
            return "quantity"
        case Semver():
            return "semver"
    return type(value).__name__


def is_number(value: Any) -> bool:
    """Return whether a value is an integer or a floating-point number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal. Values of different types are not, but for numbers."""
    if is_number(left) and is_number(right):
        return bool(left == right)
    if kind_of(left) != kind_of(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, Mapping):
        return len(left) == len(right) and all(key in right and equal(left[key], right[key]) for key in left)
    if isinstance(left, Optional):
        return left.is_present == right.is_present and equal(left.value, right.value)
    return bool(left == right)


def compared(left: Any, right: Any) -> int:
    """Return -1, 0 or 1 for the order of two values. Raise CelError if their types have none."""
    is_alike = kind_of(left) == kind_of(right) and isinstance(left, bool | str | Quantity | Semver)
    if not is_alike and not (is_number(left) and is_number(right)):
        raise CelError(f"no order of {kind_of(left)} and {kind_of(right)}")
    return int(left > right) - int(left < right)
