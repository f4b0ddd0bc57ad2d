"""What a field's annotation may say of it, in the words of an OpenAPI schema.

`Annotated[int, Rules(minimum=0)]`; several rules of a field are merged, the outer ones winning.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Annotated, Any, Final

__all__ = [
    "DEFAULTED",
    "DNS_LABEL",
    "DNS_SUBDOMAIN",
    "KEPT_AS_WRITTEN",
    "QUANTITY_PATTERN",
    "REQUIRED",
    "Count",
    "Duration",
    "FieldRules",
    "Int32",
    "Int64",
    "Json",
    "ObjectName",
    "Quantity",
    "Time",
    "Validation",
]

Json = dict[str, Any]
"""What is kept as it was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """A rule in CEL."""

    rule: str
    message: str
    """Message for users about an object that breaks the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRules:
    """Limits and hints of one field."""

    format: str | None = None
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    pattern: str | None = None
    min_items: int | None = None
    enum: type[StrEnum] | None = None
    """The values allowed, in the order of their declaration."""
    is_required: bool = False
    """The field must be given, though an object without it can be read: a cluster may have definitions of its own."""
    is_defaulted: bool = False
    """The API server writes the field's default where the field is absent."""
    is_quantity: bool = False
    """A number or a text."""
    is_kept_as_written: bool = False
    """Fields that the schema does not know are kept."""
    list_type: str | None = None
    """How lists are merged by server-side apply."""
    validations: tuple[Validation, ...] = field(default=())
    """Rules that the keywords above cannot say."""
    shape: type | None = None
    """The struct that describes what is kept as plain JSON."""

    @classmethod
    def merged(cls, rules: "Iterable[FieldRules]") -> "FieldRules":
        """Lay rules over each other, later ones on top."""
        merged, unset = cls(), cls()
        for rule in rules:
            said = {
                part.name: value
                for part in fields(cls)
                if (value := getattr(rule, part.name)) != getattr(unset, part.name)
            }
            merged = replace(merged, **said)
        return merged


REQUIRED: Final = FieldRules(is_required=True)
DEFAULTED: Final = FieldRules(is_defaulted=True)
KEPT_AS_WRITTEN: Final = FieldRules(is_kept_as_written=True)

DNS_LABEL: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN: Final = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

Int32 = Annotated[int, FieldRules(format="int32")]
Int64 = Annotated[int, FieldRules(format="int64")]
Count = Annotated[int, FieldRules(format="int32", minimum=0)]
"""How many; at least 0."""
Time = Annotated[str, FieldRules(format="date-time")]
"""A moment as in RFC 3339; empty means never."""
Duration = str
"""A duration such as `1h30m`; empty means none is given."""
ObjectName = Annotated[str, FieldRules(max_length=253, pattern=DNS_SUBDOMAIN)]
"""Name of an object, a DNS subdomain."""
Quantity = Annotated[str | int | float, FieldRules(is_quantity=True, pattern=QUANTITY_PATTERN)]
"""An amount as JSON has it; `model.quantity` reads it."""
