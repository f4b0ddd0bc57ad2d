"""Tables for people: the columns of a kind and the row of an object, as `kubectl get` shows them."""

import json
from typing import Any

from pyroclast.emulator.tables.ages import age_text, moment
from pyroclast.emulator.tables.jsonpaths import JsonPathError, find
from pyroclast.emulator.tables.tablecells import AGE, BUILT_IN, NAME, BuiltInColumn, Cell

__all__ = ["Column", "table_columns", "table_row"]


class Column(dict[str, Any]):
    """A column definition as it goes over the wire, with the function that fills its cells."""

    __slots__ = ("cell",)

    def __init__(self, definition: dict[str, Any], cell: Cell) -> None:
        super().__init__(definition)
        self.cell = cell


def table_columns(group: str, resource: str, crd_columns: list[Any] | None) -> list[dict[str, Any]]:
    """Define the columns of a resource.

    Args:
        group: API group, empty for the core.
        resource: Plural name.
        crd_columns: `additionalPrinterColumns` of a custom resource; none for a built-in kind.

    Returns:
        Column definitions of a meta.k8s.io/v1 Table, to be handed to `table_row` too.
    """
    if crd_columns:
        return [_built_in(NAME), *(_custom(column) for column in crd_columns if isinstance(column, dict))]
    return [_built_in(column) for column in BUILT_IN.get((group, resource), [NAME, AGE])]


def table_row(obj: dict[str, Any], columns: list[dict[str, Any]], now: str | float | None) -> list[Any]:
    """Fill one object's cells.

    Args:
        obj: The object.
        columns: What `table_columns` returned.
        now: The moment that ages count to, RFC 3339 or seconds since the epoch; the wall clock when none.
    """
    return [column.cell(obj, now) for column in columns if isinstance(column, Column)]


def _built_in(column: BuiltInColumn) -> Column:
    definition = {
        "name": column.title,
        "type": column.type,
        "format": column.format,
        "description": f"{column.title} of the object.",
        "priority": int(column.wide),
    }
    return Column(definition, column.cell)


def _custom(column: dict[str, Any]) -> Column:
    name, kind = str(column.get("name", "")), str(column.get("type") or "string")
    definition = {
        "name": name,
        "type": kind,
        "format": str(column.get("format") or ""),
        "description": str(column.get("description") or f"Custom resource definition column: {name}"),
        "priority": column.get("priority") or 0,
    }
    return Column(definition, _path_cell(str(column.get("jsonPath", "")), kind))


def _path_cell(path: str, kind: str) -> Cell:
    def cell(obj: Any, now: Any) -> Any:
        try:
            found = find(obj, path)
        except JsonPathError:
            return None
        if not found:
            return None
        return _text(found[0]) if kind == "string" else _typed(found[0], kind, now)

    return cell


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), default=str)


def _typed(value: Any, kind: str, now: Any) -> Any:
    """A value as the column's type has it; none when it has another type."""
    if kind == "date" and isinstance(value, str):
        return age_text(value, now) if moment(value) is not None else "<invalid>"
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if kind == "number":
            return value
        if kind == "integer":
            return int(value)
    return None
