"""Output formats: tables as kubectl lays them out, JSON, YAML, and names."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import yaml

from pyroclast.kube.api.resources import Resource

__all__ = [
    "Column",
    "Object",
    "as_json",
    "as_yaml",
    "deleted",
    "listed",
    "reference",
    "table",
    "without_managed_fields",
]

T = TypeVar("T")
Object = dict[str, Any]

_GAP = "   "


@dataclass(frozen=True, slots=True, kw_only=True)
class Column(Generic[T]):
    """A column of a table."""

    heading: str
    cell: Callable[[T], object]
    is_wide: bool = False
    """Shown only with `-o wide`."""


def table(columns: Sequence[Column[T]], rows: Sequence[T], *, is_wide: bool = False, has_headings: bool = True) -> str:
    """Format rows as a table. An empty value shows as `<none>`."""
    shown = [column for column in columns if is_wide or not column.is_wide]
    lines = [[column.heading for column in shown]] if has_headings else []
    lines += [[_cell(column.cell(row)) for column in shown] for row in rows]
    widths = [max((len(line[place]) for line in lines), default=0) for place in range(len(shown))]
    return "\n".join(
        _GAP.join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def _cell(value: object) -> str:
    return "<none>" if value is None or value == "" else str(value)


def listed(objects: Sequence[Object]) -> Object:
    """Return a `List` of objects, as kubectl does."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}


def as_json(value: Object) -> str:
    """Format an object as JSON."""
    return json.dumps(value, indent=4, sort_keys=True, ensure_ascii=False)


def as_yaml(value: Object) -> str:
    """Format an object as YAML."""
    return yaml.safe_dump(value, sort_keys=True, default_flow_style=False, allow_unicode=True).rstrip()


def without_managed_fields(value: Object) -> Object:
    """Remove `managedFields`, as kubectl does."""
    metadata = {key: part for key, part in value.get("metadata", {}).items() if key != "managedFields"}
    return {**value, "metadata": metadata}


def reference(resource: Resource[Any], name: str) -> str:
    """Return the name of an object as kubectl writes it: `queue.scheduling.volcano.sh/research`."""
    return f"{resource.kind.lower()}.{resource.group}/{name}"


def deleted(resource: Resource[Any], name: str) -> str:
    """Return the message about a deleted object."""
    return f'{resource.kind.lower()}.{resource.group} "{name}" deleted'
