"""Functions: those of CEL's standard library and of Kubernetes that expressions about devices can call.

Each takes the values of its arguments, for a method the receiver first. Those without an entry are refused when an
expression is compiled.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

from pyroclast.model.cel.parser import CelError
from pyroclast.model.cel.values import NONE, Optional, Quantity, Semver, compared, equal, is_number, kind_of
from pyroclast.model.matching.patterns import PatternError, compile_pattern

__all__ = ["FUNCTIONS", "METHODS", "contains", "integer"]

_LARGEST: Final = 2**63
_LONGEST_NUMBER: Final = 64
_LONGEST_TEXT: Final = 100_000

Function = tuple[Callable[..., Any], tuple[int, ...]]
"""A function, and the numbers of arguments that it takes, for a method without the receiver."""


def integer(value: int) -> int:
    """Return a result that is a 64-bit integer. Raise CelError for others."""
    if not -_LARGEST <= value < _LARGEST:
        raise CelError("integer overflow")
    return value


def contains(container: Any, value: Any) -> bool:
    """Return whether a list has an element, or a map a key."""
    if isinstance(container, Mapping):
        return isinstance(value, bool | int | str) and value in container
    if isinstance(container, list):
        return any(equal(each, value) for each in container)
    raise CelError(f"no elements in a {kind_of(container)}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise CelError(f"a {kind_of(value)} where a string is expected")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise CelError(f"a {kind_of(value)} where a list is expected")
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise CelError(f"a {kind_of(value)} where an int is expected")
    return value


def _size(value: Any) -> int:
    if not isinstance(value, str | list | Mapping):
        raise CelError(f"no size of a {kind_of(value)}")
    return len(value)


def _matches(text: Any, pattern: Any) -> bool:
    try:
        return compile_pattern(_text(pattern)).search(_text(text)) is not None
    except PatternError as error:
        raise CelError(str(error)) from None


def _find(text: Any, pattern: Any) -> str:
    found = _found(text, pattern, 1)
    return found[0] if found else ""


def _found(text: Any, pattern: Any, most: Any = -1) -> list[str]:
    limit = _whole(most)
    try:
        matches = compile_pattern(_text(pattern)).finditer(_text(text))
    except PatternError as error:
        raise CelError(str(error)) from None
    found = [match.group() for match in matches]
    return found if limit < 0 else found[:limit]


def _ascii_case(text: Any, lower: int) -> str:
    first, last, shift = ("A", "Z", 32) if lower else ("a", "z", -32)
    return "".join(chr(ord(each) + shift) if first <= each <= last else each for each in _text(text))


def _split(text: Any, separator: Any, most: Any = -1) -> list[str]:
    value, by, limit = _text(text), _text(separator), _whole(most)
    if limit == 0:
        return []
    if not by:
        parts = list(value)
        return parts if limit < 0 or limit >= len(parts) else [*parts[: limit - 1], "".join(parts[limit - 1 :])]
    return value.split(by, -1 if limit < 0 else limit - 1)


def _replace(text: Any, old: Any, new: Any, most: Any = -1) -> str:
    value, before, after = _text(text), _text(old), _text(new)
    if (len(value) + 1) * (len(after) + 1) > _LONGEST_TEXT:
        raise CelError("the result of replace is too long")
    return value.replace(before, after, _whole(most))


def _substring(text: Any, begin: Any, end: Any = None) -> str:
    value, first = _text(text), _whole(begin)
    last = len(value) if end is None else _whole(end)
    if not 0 <= first <= last <= len(value):
        raise CelError("index out of range")
    return value[first:last]


def _char_at(text: Any, index: Any) -> str:
    value, position = _text(text), _whole(index)
    if not 0 <= position <= len(value):
        raise CelError("index out of range")
    return value[position : position + 1]


def _index_of(value: Any, sought: Any) -> int:
    if isinstance(value, str):
        return value.find(_text(sought))
    return next((number for number, each in enumerate(_list(value)) if equal(each, sought)), -1)


def _last_index_of(value: Any, sought: Any) -> int:
    if isinstance(value, str):
        return value.rfind(_text(sought))
    elements = _list(value)
    return next((number for number in reversed(range(len(elements))) if equal(elements[number], sought)), -1)


def _join(parts: Any, separator: Any = "") -> str:
    return _text(separator).join(_text(each) for each in _list(parts))


def _sum(values: Any) -> Any:
    elements = _list(values)
    if not all(is_number(each) for each in elements):
        raise CelError("no sum of values that are not numbers")
    total = sum(elements)
    return integer(total) if isinstance(total, int) else total


def _extreme(values: Any, sign: int) -> Any:
    elements = _list(values)
    if not elements:
        raise CelError("no element in an empty list")
    best = elements[0]
    for each in elements[1:]:
        if compared(each, best) * sign > 0:
            best = each
    return best


def _is_sorted(values: Any) -> bool:
    elements = _list(values)
    return all(compared(left, right) <= 0 for left, right in pairwise(elements))


def _as_int(value: Any) -> int:
    if isinstance(value, float):
        if value != value or abs(value) >= _LARGEST:  # noqa: PLR0124  # NaN
            raise CelError("integer overflow")
        return int(value)
    if isinstance(value, str):
        return integer(int(_number(value, int)))
    return _whole(value)


def _as_double(value: Any) -> float:
    if isinstance(value, str):
        return float(_number(value, float))
    if not is_number(value):
        raise CelError(f"no double of a {kind_of(value)}")
    return float(value)


def _number(text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read("" if "_" in text or len(text) > _LONGEST_NUMBER else text)
    except ValueError:
        raise CelError("a string that is no number") from None


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int):
        raise CelError(f"no string of a {kind_of(value)}")
    return str(value)


def _as_bool(value: Any) -> bool:
    texts = {"true": True, "false": False}
    if isinstance(value, str) and value in texts:
        return texts[value]
    if not isinstance(value, bool):
        raise CelError(f"no bool of a {kind_of(value)}")
    return value


def _is_of(read: Callable[[str], Any]) -> Callable[..., bool]:
    def check(value: Any) -> bool:
        try:
            read(_text(value))
        except CelError:
            return False
        return True

    return check


def _amount(value: Any) -> Fraction:
    if not isinstance(value, Quantity):
        raise CelError(f"a {kind_of(value)} where a quantity is expected")
    return value.amount


def _added(left: Any, right: Any, sign: int) -> Quantity:
    other = Fraction(right) if isinstance(right, int) and not isinstance(right, bool) else _amount(right)
    return Quantity(_amount(left) + sign * other)


def _as_integer(value: Any) -> int:
    amount = _amount(value)
    if amount.denominator != 1:
        raise CelError("the quantity is no integer")
    return integer(int(amount))


def _version(value: Any) -> Semver:
    if not isinstance(value, Semver):
        raise CelError(f"a {kind_of(value)} where a version is expected")
    return value


def _semver(text: Any, normalize: Any = False) -> Semver:
    return Semver.of(_text(text), is_loose=_as_bool(normalize))


def _ordered(left: Any, right: Any) -> int:
    if not isinstance(left, Quantity | Semver):
        raise CelError(f"no order of a {kind_of(left)}")
    return compared(left, right)


def _sign(value: Any) -> int:
    amount = _amount(value)
    return int(amount > 0) - int(amount < 0)


def _optional(value: Any) -> Optional:
    if not isinstance(value, Optional):
        raise CelError(f"a {kind_of(value)} where an optional is expected")
    return value


def _value_of(value: Any) -> Any:
    optional = _optional(value)
    if not optional.is_present:
        raise CelError("the optional has no value")
    return optional.value


def _if_not_empty(value: Any) -> Optional:
    is_empty = value is None or (isinstance(value, str | list | Mapping) and not len(value)) or value in (0, False)
    return NONE if is_empty else Optional(value)


def _subset(left: Any, right: Any) -> bool:
    return all(contains(_list(left), each) for each in _list(right))


def _greatest(sign: int) -> Callable[..., Any]:
    def choose(*values: Any) -> Any:
        elements: Sequence[Any] = values
        return _extreme(values[0] if len(values) == 1 and isinstance(values[0], list) else list(elements), sign)

    return choose


FUNCTIONS: Final[Mapping[str, Function]] = {
    "size": (_size, (1,)),
    "int": (_as_int, (1,)),
    "double": (_as_double, (1,)),
    "string": (_as_text, (1,)),
    "bool": (_as_bool, (1,)),
    "dyn": (lambda value: value, (1,)),
    "quantity": (lambda text: Quantity.of(_text(text)), (1,)),
    "isQuantity": (_is_of(Quantity.of), (1,)),
    "semver": (_semver, (1, 2)),
    "isSemver": (_is_of(Semver.of), (1,)),
    "optional.of": (Optional, (1,)),
    "optional.none": (lambda: NONE, (0,)),
    "optional.ofNonZeroValue": (_if_not_empty, (1,)),
    "sets.contains": (_subset, (2,)),
    "sets.equivalent": (lambda left, right: _subset(left, right) and _subset(right, left), (2,)),
    "sets.intersects": (lambda left, right: any(contains(_list(left), each) for each in _list(right)), (2,)),
    "math.greatest": (_greatest(1), tuple(range(1, 9))),
    "math.least": (_greatest(-1), tuple(range(1, 9))),
}
"""Functions by name."""

METHODS: Final[Mapping[str, Function]] = {
    "size": (_size, (0,)),
    "startsWith": (lambda text, part: _text(text).startswith(_text(part)), (1,)),
    "endsWith": (lambda text, part: _text(text).endswith(_text(part)), (1,)),
    "contains": (lambda text, part: _text(part) in _text(text), (1,)),
    "matches": (_matches, (1,)),
    "find": (_find, (1,)),
    "findAll": (_found, (1, 2)),
    "lowerAscii": (lambda text: _ascii_case(text, lower=1), (0,)),
    "upperAscii": (lambda text: _ascii_case(text, lower=0), (0,)),
    "trim": (lambda text: _text(text).strip(), (0,)),
    "split": (_split, (1, 2)),
    "replace": (_replace, (2, 3)),
    "substring": (_substring, (1, 2)),
    "charAt": (_char_at, (1,)),
    "indexOf": (_index_of, (1,)),
    "lastIndexOf": (_last_index_of, (1,)),
    "join": (_join, (0, 1)),
    "sum": (_sum, (0,)),
    "min": (lambda values: _extreme(values, -1), (0,)),
    "max": (lambda values: _extreme(values, 1), (0,)),
    "isSorted": (_is_sorted, (0,)),
    "sign": (_sign, (0,)),
    "isInteger": (lambda value: _amount(value).denominator == 1, (0,)),
    "asInteger": (_as_integer, (0,)),
    "asApproximateFloat": (lambda value: float(_amount(value)), (0,)),
    "add": (lambda left, right: _added(left, right, 1), (1,)),
    "sub": (lambda left, right: _added(left, right, -1), (1,)),
    "isGreaterThan": (lambda left, right: _ordered(left, right) > 0, (1,)),
    "isLessThan": (lambda left, right: _ordered(left, right) < 0, (1,)),
    "compareTo": (_ordered, (1,)),
    "major": (lambda value: _version(value).major, (0,)),
    "minor": (lambda value: _version(value).minor, (0,)),
    "patch": (lambda value: _version(value).patch, (0,)),
    "hasValue": (lambda value: _optional(value).is_present, (0,)),
    "value": (_value_of, (0,)),
    "orValue": (lambda value, other: value.value if _optional(value).is_present else other, (1,)),
    "or": (lambda value, other: value if _optional(value).is_present else _optional(other), (1,)),
}
"""Methods by name; the receiver is the first argument."""
