"""Arguments of plugins and actions: from the raw mapping of a file to a frozen dataclass.

Each field declares its spelling in files:

    @dataclass(frozen=True, slots=True, kw_only=True)
    class BinpackArgs:
        weight: int = argument("binpack.weight", 1)
        resources: Mapping[str, int] = argument("binpack.resources", {}, prefix="binpack.resources.", listed=1, least=0)

A field without `argument` is spelled by its name, where `_` may be `-` or `.` and `preferWeight` is `prefer_weight`.

Warnings and faults are divided as in Volcano. A value of the wrong type, or outside `least` and `most`, is a warning,
and the default is used. It is a fault if the field sets `refuse=True`, or if the dataclass's `__post_init__` raises
`ArgumentError`. Unknown keys are warnings. If a dataclass reads a value differently from how it is written, its method
`doubts() -> Iterable[str]` yields a sentence that starts with the key. These are warnings too. No fallback is silent.
"""

import dataclasses
import enum
import functools
import reprlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass
from datetime import tzinfo
from fractions import Fraction
from typing import Any, Final, TypeVar

from pyroclast.framework.configuration.conversions import Mismatch, camel_case, convert, field_types, unknown_keys
from pyroclast.framework.configuration.suggest import did_you_mean_inside
from pyroclast.model.errors import ArgumentError, ConfigError
from pyroclast.model.texts import said_by

__all__ = ["NoArguments", "argument", "decode", "keys_of"]

T = TypeVar("T")

UNSET: Final = object()
_DOUBTFUL: Final = 2**31
"""Numbers from here on are taken and doubted."""


def argument(
    key: str | None = None,
    default: Any = MISSING,
    *,
    prefix: str | None = None,
    listed: Any = UNSET,
    least: float | None = None,
    most: float | None = None,
    parse: Callable[[object], Any] | None = None,
    nested: bool = False,
    refuse: bool = False,
) -> Any:
    """Declare a field of a dataclass of arguments.

    Args:
        key: Spelling in the file; None if only `prefix` is read, or if the field's name is the spelling.
        default: Value when the key is absent; lists and mappings are copied. Without one the key must be given.
        prefix: Collects `<prefix><name>: value` into a mapping field by name.
        listed: For a mapping field with key and prefix: the key lists names (`a, b`), `<prefix><name>` gives their
            values, and this is the value of a listed name without one. Values of names not listed have no effect.
        least: Smallest value, of numbers and of a mapping's numbers; anything less warns and keeps the default.
        most: Largest value, likewise.
        parse: Reads the raw value itself, durations for example; its ValueError states what was expected.
        nested: The field is a dataclass of arguments itself, read key by key, so that each wrong value warns and keeps
            its own default.
        refuse: A wrong value refuses the configuration instead of keeping the default.
    """
    metadata = {
        "key": key,
        "least": least,
        "listed": listed,
        "most": most,
        "nested": nested,
        "parse": parse,
        "prefix": prefix,
        "refuse": refuse,
    }
    if isinstance(default, (dict, list, set)):
        return dataclasses.field(default_factory=functools.partial(type(default), default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def decode(kind: type[T], raw: Mapping[str, Any], path: str) -> tuple[T, list[str]]:
    """Return the arguments in `raw` as `kind`, with a warning for each value or key that has no effect.

    Args:
        kind: A dataclass.
        raw: Keys and values as they stand in the file.
        path: Where `raw` stands, for messages: `tiers[1].plugins[0].arguments`.

    Raises:
        ConfigError: Every fault at once: required keys that are missing, wrong values that are refused, whatever else
            the dataclass raises.
    """
    try:
        return _decode(kind, raw, path)
    except ConfigError:
        raise
    except BaseException as error:  # the dataclass may be a plugin's, whose code must not end the process
        raise ConfigError(f"{path}: {type(error).__name__}: {said_by(error)}") from error


def _decode(kind: type[T], raw: Mapping[str, Any], path: str) -> tuple[T, list[str]]:
    reader = _Reader(raw=raw, path=path)
    plain: type = kind
    given = {slot.name: value for slot in _slots(plain) if (value := slot.read(reader)) is not UNSET}
    reader.warn_of_unknown_keys(keys_of(plain))
    if reader.faults:
        raise ConfigError(*reader.faults)
    try:
        made = kind(**given)
        doubts = getattr(made, "doubts", None)
        return made, reader.warnings + [f"{path}.{doubt}" for doubt in (doubts() if doubts is not None else ())]
    except ArgumentError as error:
        raise ConfigError(*(f"{path}.{fault}" for fault in error.faults)) from None
    except (TypeError, ValueError) as error:  # a plugin from outside may check its arguments in the common way
        raise ConfigError(f"{path}: {error}") from error


def keys_of(kind: type) -> tuple[str, ...]:
    """Return the keys that a dataclass of arguments reads, prefixes last, ending in `<name>`."""
    keys: list[str] = []
    for slot in _slots(kind):
        keys += slot.spellings[:1]
        keys += [f"{slot.prefix}<name>"] if slot.prefix else []
    return tuple(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoArguments:
    """Arguments of what takes none."""


@dataclass(slots=True)
class _Reader:
    """A raw mapping while it is read: which keys found a reader, and what was wrong."""

    raw: Mapping[str, Any]
    path: str
    read: set[str] = dataclasses.field(default_factory=set)
    warnings: list[str] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)

    def take(self, spellings: Collection[str]) -> tuple[str, object] | None:
        """Return the first spelling that is there with its value; further ones are named as without effect."""
        found = [key for key in spellings if key in self.raw]
        self.read.update(found)
        for other in found[1:]:
            self.warnings.append(f"{self.path}.{other}: has no effect beside {found[0]!r}")
        return (found[0], self.raw[found[0]]) if found else None

    def take_prefixed(self, prefix: str) -> Iterator[tuple[str, str, object]]:
        """Yield (key, rest, value) of unread keys that start with `prefix`."""
        for key in list(self.raw):
            if key.startswith(prefix) and len(key) > len(prefix) and key not in self.read:
                self.read.add(key)
                yield key, key[len(prefix) :], self.raw[key]

    def complain(self, key: str, mismatch: Mismatch, *, refuse: bool, kept: str) -> None:
        """Take down that a value is wrong, as a fault or as a warning that names what holds instead."""
        for each in mismatch.all:
            message = f"{self.path}.{key}{each.path}: got {reprlib.repr(each.got)}, expected {each.expected}"
            if refuse:
                self.faults.append(message)
            else:
                self.warnings.append(f"{message}; {kept} is kept")

    def warn_of_keys_inside(self, key: str, kind: Any, value: object) -> None:
        """Warn of each key inside a value that no field reads."""
        for inside, hint in unknown_keys(kind, value):
            self.warnings.append(f"{self.path}.{key}{inside}: unknown argument{hint}")

    def warn_of_unknown_keys(self, known: Collection[str]) -> None:
        """Warn of each key that no field read."""
        for key, value in self.raw.items():
            if key not in self.read:
                hint = did_you_mean_inside(str(key), value, known)
                unknown = f"unknown argument{hint}" if known else "no arguments are taken here"
                self.warnings.append(f"{self.path}.{key}: {unknown}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Slot:
    """Rules for reading one field."""

    name: str
    kind: Any
    spellings: tuple[str, ...]
    prefix: str | None
    listed: Any
    least: float | None
    most: float | None
    parse: Callable[[object], Any] | None
    nested: bool
    refuse: bool
    default: Any
    """`MISSING` when the key must be given."""

    def read(self, reader: _Reader) -> Any:
        """Return the field's value, or UNSET when the default holds."""
        if self.prefix is not None:
            return self._read_named(reader)
        found = reader.take(self.spellings)
        if found is None:
            if self.default is MISSING:
                reader.faults.append(f"{reader.path}.{self.spellings[0]}: missing, and it has no default")
            return UNSET
        key, value = found
        if not self.nested and self.parse is None:
            reader.warn_of_keys_inside(key, self.kind, value)
        try:
            return self._read_nested(reader, key, value) if self.nested else self._read_value(reader, key, value)
        except ArgumentError as error:
            reader.faults += (f"{reader.path}.{key}.{fault}" for fault in error.faults)
            return UNSET
        except Mismatch as mismatch:
            kept = f"the default {_shown(self.default)}"
            reader.complain(key, mismatch, refuse=self.refuse or self.default is MISSING, kept=kept)
            return UNSET

    def _read_value(self, reader: _Reader, key: str, value: object) -> Any:
        read = self._within(convert(self.kind, value) if self.parse is None else self._parsed(value), value)
        self._doubt(reader, key, read)
        return read

    def _read_nested(self, reader: _Reader, key: str, value: object) -> Any:
        """Read a dataclass of arguments inside another."""
        if not isinstance(value, Mapping):
            raise Mismatch(value, "a mapping")
        texts = {str(inner): item for inner, item in value.items()}
        try:
            inside, warnings = decode(self.kind, texts, f"{reader.path}.{key}")
        except ConfigError as error:
            reader.faults += error.faults
            return UNSET
        reader.warnings += warnings
        return inside

    def _read_named(self, reader: _Reader) -> Any:
        """Read a mapping spelled as a list of names and one key per name."""
        assert self.prefix is not None
        found = reader.take(self.spellings)
        listed = self._listed(reader, *found) if found is not None else None
        values, given = listed or {}, listed is not None
        element = self.kind.__args__[1]
        for key, name, value in reader.take_prefixed(self.prefix):
            if self.listed is not UNSET and name not in values:
                reader.warnings.append(
                    f"{reader.path}.{key}: has no effect, {self.spellings[0]} does not list {name!r}"
                )
                continue
            try:
                values[name] = self._within(
                    convert(element, value) if self.parse is None else self._parsed(value), value
                )
                given = True
                self._doubt(reader, key, values[name])
            except Mismatch as mismatch:
                kept = f"{values[name]!r}" if name in values else "no value"
                reader.complain(key, mismatch, refuse=self.refuse, kept=kept)
        return values if given else UNSET

    def _listed(self, reader: _Reader, key: str, value: object) -> dict[str, Any] | None:
        """Return what stands under the key itself: a mapping, or names that get the value of the listed; or None."""
        try:
            if isinstance(value, Mapping):
                converted = convert(self.kind, value)
                for name, item in converted.items():
                    self._within(item, item, f".{name}")
                    self._doubt(reader, f"{key}.{name}", item)
                return dict(converted)
            names = convert(tuple[str, ...], value) if self.listed is not UNSET else convert(self.kind, value)
            return dict.fromkeys(names, self.listed)
        except Mismatch as mismatch:
            reader.complain(key, mismatch, refuse=self.refuse, kept="the default")
            return None

    def _doubt(self, reader: _Reader, key: str, value: Any) -> None:
        """Warn of a number that is taken as it is and probably not meant; amounts with a `parse` may be large."""
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction)):
            return
        if value < 0 and self.least is None:
            reader.warnings.append(f"{reader.path}.{key}: got {_shown(value)}, probably not meant: it is negative")
        elif abs(float(value)) >= _DOUBTFUL and self.parse is None:
            reader.warnings.append(f"{reader.path}.{key}: got {_shown(value)}, probably not meant: it exceeds 31 bits")

    def _parsed(self, value: object) -> Any:
        assert self.parse is not None
        try:
            return self.parse(value)
        except Mismatch:
            raise
        except ValueError as error:
            raise Mismatch(value, str(error)) from None

    def _within(self, value: Any, written: object, path: str = "") -> Any:
        """Return the value, of which `written` stands in the file, if it is inside the bounds."""
        bounded = value is not None and not isinstance(value, Mapping)
        if bounded and self.least is not None and value < self.least:
            raise Mismatch(written, f"at least {self.least}", path)
        if bounded and self.most is not None and value > self.most:
            raise Mismatch(written, f"at most {self.most}", path)
        return value


@functools.cache
def _slots(kind: type) -> tuple[_Slot, ...]:
    """Return how the fields of a dataclass are read: whole keys first, then prefixes, longer ones before shorter."""
    types = field_types(kind)
    slots = [_slot(field, types[field.name]) for field in dataclasses.fields(kind) if field.init]
    return tuple(sorted(slots, key=lambda slot: (slot.prefix is not None, -len(slot.prefix or ""))))


def _slot(field: dataclasses.Field[Any], kind: Any) -> _Slot:
    metadata = field.metadata
    key, prefix = metadata.get("key"), metadata.get("prefix")
    spellings = (key,) if key else () if prefix else _spellings(field.name)
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    return _Slot(
        name=field.name,
        kind=kind,
        spellings=spellings,
        prefix=prefix,
        listed=metadata.get("listed", UNSET),
        least=metadata.get("least"),
        most=metadata.get("most"),
        parse=metadata.get("parse"),
        nested=metadata.get("nested", False),
        refuse=metadata.get("refuse", False),
        default=default,
    )


def _shown(default: object) -> str:
    """Return a default as it would stand in a file."""
    if isinstance(default, (Fraction, enum.Enum, tzinfo)):
        return str(default)
    if isinstance(default, tuple) and default and dataclasses.is_dataclass(default[0]):
        return "[" + ", ".join(map(_shown, default)) + "]"
    if dataclasses.is_dataclass(default):
        values = ((field, getattr(default, field.name)) for field in dataclasses.fields(default))
        texts = (f"{camel_case(field.name)}: {_shown(value)}" for field, value in values if not _is_empty(field, value))
        return "{" + ", ".join(texts) + "}"
    return repr(default)


def _is_empty(field: dataclasses.Field[Any], value: object) -> bool:
    """Return whether a part is a structure in which nothing was set."""
    return dataclasses.is_dataclass(value) and field.default_factory is not MISSING and value == field.default_factory()


def _spellings(name: str) -> tuple[str, ...]:
    """Return how a field without an explicit key may be spelled, the customary form first."""
    return tuple(dict.fromkeys((name.replace("_", "-"), name, name.replace("_", "."), camel_case(name))))
