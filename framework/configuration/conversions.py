"""One raw value of a configuration becomes a value of the type that its reader asks for.

What is accepted is what Volcano accepts, and more: numbers and booleans may be quoted (its developer guide writes
`weight: "5"`), whole floats serve as integers, lists of names may be one text with commas. A null counts as absent. A
value that does not fit raises `Mismatch`, which states what fits.
"""

import enum
import math
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from fractions import Fraction
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from pyroclast.framework.configuration.suggest import did_you_mean_inside
from pyroclast.model.booleans import GO_BOOLEANS
from pyroclast.model.durations import parse_duration
from pyroclast.model.errors import ArgumentError

__all__ = ["NAMES", "Mismatch", "camel_case", "convert", "duration", "field_types", "unknown_keys"]

MAX_INTEGER: Final = 2**63 - 1
MAX_DIGITS: Final = 64
"""Texts longer than this are not read as numbers; bounds the work."""


class Mismatch(ValueError):  # noqa: N818 - it is caught and reported as a fault or a warning, never shown as an error
    """A value is not of the expected type."""

    def __init__(self, got: object, expected: str, path: str = "", others: Sequence["Mismatch"] = ()) -> None:
        """Return what was found, what would do, where inside the value, and what else is wrong inside it."""
        super().__init__(expected)
        self.got, self.expected, self.path, self.others = got, expected, path, tuple(others)

    @property
    def all(self) -> tuple["Mismatch", ...]:
        """This one, and the others that were found in the same value."""
        return (self, *(each for other in self.others for each in other.all))

    def below(self, path: str) -> "Mismatch":
        """Return the same, all of it seen from further out."""
        return Mismatch(self.got, self.expected, path + self.path, [other.below(path) for other in self.others])


def convert(value_type: Any, value: object) -> Any:
    """Return `value` as `value_type`.

    Types: int, float, bool, str, Fraction, Literal, Enum, unions, tuple, Mapping, dataclasses.

    Raises:
        Mismatch: The value cannot be read as this type.
        TypeError: `value_type` is no type that configurations can hold (a mistake in the program).
    """
    if value_type is Any or value_type is object:
        return value
    simple = SIMPLE.get(value_type)
    if simple is not None:
        return simple(value)
    origin = get_origin(value_type)
    if origin in {Union, types.UnionType}:
        return _union(get_args(value_type), value)
    if origin is Literal:
        return _one_of(get_args(value_type), value)
    if origin in SEQUENCES:
        return _sequence(get_args(value_type)[0], value)
    if origin in {Mapping, dict}:
        return _mapping(get_args(value_type)[1], value)
    if isinstance(value_type, type) and issubclass(value_type, enum.Enum):
        return value_type(_one_of([member.value for member in value_type], value))
    if isinstance(value_type, type) and is_dataclass(value_type):
        return _structure(value_type, value)
    raise TypeError(f"arguments cannot be of type {value_type!r}")


def duration(value: object) -> Fraction:
    """Read a Go duration of at least 0, in seconds; for arguments, as their `parse`.

    Raises:
        Mismatch: It is none.
    """
    try:
        seconds = parse_duration(value)
    except ValueError as error:
        raise Mismatch(value, str(error)) from None
    if seconds < 0:
        raise Mismatch(value, "a duration of at least 0")
    return seconds


def field_types(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields by name, also where its imports are for the type checker alone."""
    return get_type_hints(kind, localns=NAMES)


NAMES: Final[dict[str, Any]] = {
    "Any": Any,
    "Fraction": Fraction,
    "Literal": Literal,
    "Mapping": Mapping,
    "Sequence": Sequence,
}
"""Names that linters move under TYPE_CHECKING, where they do not exist at run time."""


def _integer(value: object) -> int:
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str):
        exact = _exact(value)
        number = int(exact) if exact is not None and exact.denominator == 1 else None
    if number is None or abs(number) > MAX_INTEGER:
        raise Mismatch(value, "a whole number")
    return number


def _float(value: object) -> float:
    number = _finite(value)
    if number is None:
        raise Mismatch(value, "a number")
    return number


def _finite(value: object) -> float | None:
    if not isinstance(value, (int, float, str)) or isinstance(value, bool):
        return None
    if isinstance(value, str) and (len(value) > MAX_DIGITS or "_" in value or not value.isascii()):
        return None  # Python reads 1_000 and digits of other scripts; Go, and so Volcano, does not
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _fraction(value: object) -> Fraction:
    """Read the decimal that was written: 1.2 is six fifths, not the nearest binary float."""
    finite = _finite(value)
    exact = None if finite is None else _exact(value if isinstance(value, str) else str(value))
    if exact is None:
        raise Mismatch(value, "a number")
    return exact


def _exact(text: str) -> Fraction | None:
    """Return the number in a text; None when it is none, or one so large or small that it is a mistake."""
    number = _finite(text)
    if number is None or abs(number) > MAX_INTEGER + 1 or (number != 0 and abs(number) < 1 / MAX_INTEGER):
        return None
    try:
        return Fraction(text.strip())
    except ValueError:  # what floats read and fractions do not, 1__0 for example
        return None


def _boolean(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in GO_BOOLEANS:
        return GO_BOOLEANS[value]
    raise Mismatch(value, "true or false")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch(value, "a text")


SIMPLE: Final[dict[Any, Callable[[object], Any]]] = {
    bool: _boolean,
    float: _float,
    Fraction: _fraction,
    int: _integer,
    str: _text,
}
SEQUENCES: Final[Collection[Any]] = {tuple, list, Sequence}


def _union(options: Sequence[Any], value: object) -> Any:
    """Read the first option that accepts the value. If the value has an option's shape, report the faults inside."""
    mismatches = []
    for option in options:
        if option is type(None):
            continue
        try:
            return convert(option, value)
        except Mismatch as mismatch:
            mismatches.append(mismatch)
    raise next(
        (each for each in mismatches if each.path),
        Mismatch(value, " or ".join(each.expected for each in mismatches)),
    ) from None


def _one_of(options: Sequence[Any], value: object) -> Any:
    for option in options:
        if type(option) is type(value) and option == value:
            return option
    raise Mismatch(value, "one of " + ", ".join(str(option) for option in options))


def _sequence(element: Any, value: object) -> tuple[Any, ...]:
    if isinstance(value, str) and element is str:
        return tuple(piece for piece in map(str.strip, value.split(",")) if piece)
    if not isinstance(value, (list, tuple)):
        raise Mismatch(value, "a list, or names with commas" if element is str else "a list")
    return tuple(_all_inside((f"[{index}]", element, item) for index, item in enumerate(value)))


def _mapping(element: Any, value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Mismatch(value, "a mapping")
    items = _all_inside((f".{key}", element, item) for key, item in value.items())
    return dict(zip(map(str, value), items, strict=True))


def _structure(kind: type[Any], value: object) -> Any:
    """Read a nested structure; keys match field names without regard to case, a null is no value.

    Keys that no field reads are named by `unknown_keys`.
    """
    if not isinstance(value, Mapping):
        raise Mismatch(value, "a mapping")
    types = field_types(kind)
    values = {str(key).lower(): (str(key), item) for key, item in value.items() if item is not None}
    parts = {}
    for name, spelled, required in _spelled(kind):
        if spelled.lower() in values:
            key, item = values[spelled.lower()]
            parts[name] = (f".{key}", types[name], item)
        elif required:
            raise Mismatch(value, f"a mapping with {spelled}")
    given = dict(zip(parts, _all_inside(parts.values()), strict=True))
    try:
        return kind(**given)
    except ArgumentError as error:
        raise Mismatch(error.got, error.expected, f".{error.path}") from None
    except (TypeError, ValueError) as error:  # a plugin from outside may check its arguments in the common way
        raise Mismatch(value, str(error)) from error


def _spelled(kind: type[Any]) -> Iterator[tuple[str, str, bool]]:
    """Yield of each field: its name, its spelling in files, and whether it must be given."""
    for field in fields(kind):
        if field.init:
            required = field.default is MISSING and field.default_factory is MISSING
            yield field.name, field.metadata.get("key") or camel_case(field.name), required


def camel_case(name: str) -> str:
    """Return how a field is spelled inside a structure, and may be at the top."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _all_inside(parts: Iterable[tuple[str, Any, object]]) -> list[Any]:
    """Convert parts of a value, each given with its path inside and its type. All faults are reported together."""
    converted, mismatches = [], []
    for path, value_type, value in parts:
        try:
            converted.append(convert(value_type, value))
        except Mismatch as mismatch:
            mismatches.append(mismatch.below(path))
    if mismatches:
        first, *others = mismatches
        raise Mismatch(first.got, first.expected, first.path, [*first.others, *others])
    return converted


def unknown_keys(value_type: Any, value: object) -> Iterator[tuple[str, str]]:
    """Yield keys inside a value that no structure of the type reads: the path, and a hint with the nearest name."""
    arguments, origin = get_args(value_type), get_origin(value_type)
    if origin in {Union, types.UnionType}:
        shapes = [each for each in arguments if _has_shape(each, value)]
        yield from unknown_keys(shapes[0], value) if len(shapes) == 1 else ()
    elif origin in SEQUENCES and isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _below(f"[{index}]", arguments[0], item)
    elif origin in {Mapping, dict} and isinstance(value, Mapping):
        for key, item in value.items():
            yield from _below(f".{key}", arguments[1], item)
    elif isinstance(value_type, type) and is_dataclass(value_type) and isinstance(value, Mapping):
        types_by_key = {spelled: field_types(value_type)[name] for name, spelled, _ in _spelled(value_type)}
        by_lower = {key.lower(): kind for key, kind in types_by_key.items()}
        for key, item in value.items():
            if str(key).lower() in by_lower:
                yield from _below(f".{key}", by_lower[str(key).lower()], item)
            else:
                yield f".{key}", did_you_mean_inside(str(key), item, types_by_key)


def _below(path: str, value_type: Any, value: object) -> Iterator[tuple[str, str]]:
    return ((path + inside, hint) for inside, hint in unknown_keys(value_type, value))


def _has_shape(value_type: Any, value: object) -> bool:
    """Return whether a value looks like a type that has something inside."""
    if get_origin(value_type) in SEQUENCES:
        return isinstance(value, (list, tuple))
    is_structure = isinstance(value_type, type) and is_dataclass(value_type)
    return isinstance(value, Mapping) and (is_structure or get_origin(value_type) in {Mapping, dict})
