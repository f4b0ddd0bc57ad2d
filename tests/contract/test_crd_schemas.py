"""How a struct becomes a schema."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar

import pytest

from pyroclast.model.api.meta import EMPTY, Wire
from pyroclast.model.api.rules import DEFAULTED, KEPT_AS_WRITTEN, Count, FieldRules, Json, Quantity, Validation
from tools.custom_resources.schemas import Schema, schema_of_struct


class Colour(StrEnum):
    """Colours."""

    RED = "red"
    BLUE = "blue"


class Inner(Wire, frozen=True, kw_only=True):
    """What stands inside.

    This paragraph is for programmers.
    """

    is_atomic: ClassVar[bool] = True
    name: str
    """Its
    name."""


class Outer(Wire, frozen=True, kw_only=True):
    """The whole."""

    count: Annotated[Count, FieldRules(maximum=9), DEFAULTED] = 3
    """How many."""
    colour: Annotated[str, FieldRules(enum=Colour)] = ""
    """Which."""
    inner: Inner | None = None
    """At this place."""
    inners: Annotated[tuple[Inner, ...], FieldRules(min_items=1, list_type="atomic")] = ()
    """Several."""
    amounts: Mapping[str, Quantity] = EMPTY
    """Ordered by name."""
    kept: Annotated[Json, KEPT_AS_WRITTEN] | None = None
    """As it is."""
    shaped: Annotated[Json, Quantity, FieldRules(shape=Inner)] | None = None
    """As JSON."""
    checked: Annotated[bool, FieldRules(validations=(Validation(rule="self", message="must be"),))] = False
    """Checked."""


def part(name: str) -> Schema:
    """Return the schema of one field of `Outer`."""
    schema: Schema = schema_of_struct(Outer)["properties"][name]
    return schema


INNER = {
    "type": "object",
    "x-kubernetes-map-type": "atomic",
    "required": ["name"],
    "properties": {"name": {"description": "Its name.", "type": "string"}},
}


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        (
            "count",
            {
                "description": "How many.",
                "type": "integer",
                "format": "int32",
                "default": 3,
                "minimum": 0,
                "maximum": 9,
            },
        ),
        ("colour", {"description": "Which.", "type": "string", "enum": ["red", "blue"]}),
        ("inner", {"description": "At this place.", **INNER}),
        (
            "inners",
            {
                "description": "Several.",
                "type": "array",
                "x-kubernetes-list-type": "atomic",
                "minItems": 1,
                "items": {"description": "What stands inside.", **INNER},
            },
        ),
        ("kept", {"description": "As it is.", "type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        ("shaped", {"description": "As JSON.", **INNER}),
        (
            "checked",
            {
                "description": "Checked.",
                "type": "boolean",
                "x-kubernetes-validations": [{"rule": "self", "message": "must be"}],
            },
        ),
    ],
)
def test_fields(name: str, schema: Schema) -> None:
    """Types, rules, defaults and docstrings come out as keywords; docstrings on one line, of structs the first part."""
    assert part(name) == schema


def test_amounts_are_numbers_or_texts() -> None:
    """A quantity has no type of its own."""
    amount = part("amounts")["additionalProperties"]

    assert amount["x-kubernetes-int-or-string"] is True
    assert "type" not in amount


def test_a_field_without_default_is_required() -> None:
    """Where nothing says what absence means, absence is a fault."""
    assert "required" not in schema_of_struct(Outer)
    assert schema_of_struct(Inner)["required"] == ["name"]


def test_properties_and_keywords_stand_in_order() -> None:
    """The same structs give the same text, wherever their fields stand in the source."""
    schema = schema_of_struct(Outer)

    assert list(schema) == ["description", "type", "properties"]
    assert list(schema["properties"]) == sorted(schema["properties"])


def test_a_type_without_a_schema_is_refused() -> None:
    """What cannot be said in a schema is noticed when it is made."""

    class Odd(Wire, frozen=True, kw_only=True):
        """Odd."""

        place: Any = None
        """Anything."""

    with pytest.raises(TypeError, match="no schema for"):
        schema_of_struct(Odd)
