"""The shapes of the built-in kinds: one table behind patches, apply, unknown fields, OpenAPI and protobuf.

The table is `shapes.txt`, whose head explains its notation. It is read once, when first asked for.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from importlib import resources

__all__ = ["SCALARS", "Field", "Shape", "shape_of", "shape_of_kind"]

SCALARS = frozenset(
    {
        "string",
        "int",
        "int32",
        "int64",
        "bool",
        "float64",
        "byte",
        "bytes",
        "Quantity",
        "IntOrString",
        "Time",
        "MicroTime",
        "Duration",
        "Object",
        "Fields",
        "Strings",
    }
)
"""Types without a shape of their own; `Object` and `Fields` hold any JSON object, `Strings` a list of texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of a built-in type."""

    name: str
    """Name in JSON."""
    number: int
    """Number in protobuf, 0 where there is none."""
    container: str
    """`[]` for a list, `{}` for an object with free keys, empty for a single value."""
    type_name: str
    """Type of the value, or of the container's elements."""
    section: str
    """Group and version in which `type_name` is looked up first."""
    required: bool = False
    always: bool = False
    """An object that is there even when it is empty."""
    pointer: bool = False
    """A scalar whose empty value differs from its absence."""
    atomic: bool = False
    """Server-side apply owns the value as a whole."""
    list_type: str = "atomic"
    """Rule by which server-side apply merges a list: `atomic`, `set` or `map`."""
    list_keys: tuple[str, ...] = ()
    """Keys of a `map` list."""
    merges: bool = False
    """A strategic merge patch merges this list instead of replacing it."""
    merge_key: str = ""
    """Key by which it does; empty for a list of scalars."""
    retains_keys: bool = False
    """Patches of this field say with `$retainKeys` which keys stay."""
    replaces: bool = False
    """A strategic merge patch replaces this object instead of merging it."""

    @property
    def shape(self) -> Shape | None:
        """Shape of the value or of the container's elements; none for scalars and free objects."""
        return None if self.type_name in SCALARS else _lookup(self.section, self.type_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A built-in type: its fields by JSON name, and what stands where in its protobuf message."""

    name: str
    section: str
    fields: dict[str, Field] = field(default_factory=dict)
    numbers: dict[int, Field] = field(default_factory=dict)
    """Fields by protobuf number; those of embedded messages are not among them."""
    embedded: dict[int, Shape] = field(default_factory=dict)
    """Messages by number whose fields stand among this type's own in JSON."""


def shape_of(api_version: str, kind: str) -> Shape | None:
    """Find a built-in kind; none for custom kinds and the few that the table leaves out."""
    return _table().get((api_version, kind))


@functools.cache
def shape_of_kind(kind: str) -> Shape | None:
    """Find a built-in kind whose version is not known; of two kinds of one name the older."""
    found = (shape for (_section, name), shape in _table().items() if name == kind and "metadata" in shape.fields)
    return next(found, None)


def _lookup(section: str, name: str) -> Shape:
    table = _table()
    for place in (section, "v1", "meta/v1"):
        shape = table.get((place, name))
        if shape:
            return shape
    raise KeyError(f"shapes.txt: {section} refers to an unknown type {name}")


@functools.cache
def _table() -> dict[tuple[str, str], Shape]:
    text = resources.files("emulator").joinpath("shapes.txt").read_text(encoding="utf-8")
    table: dict[tuple[str, str], Shape] = {}
    inlined: list[tuple[Shape, int, str]] = []
    section = ""
    shape = Shape(name="", section="")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("@"):
            section = line.split()[1]
        elif not line.startswith(" "):
            shape = table[section, line] = Shape(name=line, section=section)
        else:
            number, name, type_name, *notes = line.split()
            if name == "+":
                inlined.append((shape, _number(number), type_name))
            else:
                _add(shape, _field(section, name, _number(number), type_name, notes))
    for outer, position, inner_name in inlined:
        _embed(table, outer, position, inner_name)
    return table


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0


def _add(shape: Shape, entry: Field) -> None:
    shape.fields[entry.name] = entry
    if entry.number:
        shape.numbers[entry.number] = entry


def _embed(table: dict[tuple[str, str], Shape], outer: Shape, number: int, type_name: str) -> None:
    inner = table.get((outer.section, type_name)) or table["v1", type_name]
    outer.fields.update(inner.fields)
    outer.embedded[number] = inner


def _field(section: str, name: str, number: int, type_name: str, notes: list[str]) -> Field:
    container = type_name[:2] if type_name[:2] in ("[]", "{}") else ""
    values = dict(note.partition(":")[::2] for note in notes)
    list_type = "map" if "map" in values else "set" if "set" in values else "atomic"
    return Field(
        name=name,
        number=number,
        container=container,
        type_name=type_name[len(container) :],
        section=section,
        required="required" in values,
        always="always" in values,
        pointer="pointer" in values,
        atomic="atomic" in values,
        list_type=list_type,
        list_keys=tuple(values["map"].split(",")) if list_type == "map" else (),
        merges="merge" in values,
        merge_key=values.get("merge", ""),
        retains_keys="retain" in values,
        replaces="replace" in values,
    )
