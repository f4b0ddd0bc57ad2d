"""Descriptions from the source: the docstring of a struct, and the text below each of its fields."""

import ast
import inspect
import textwrap
from functools import cache

from pyroclast.model.api.meta import Wire

__all__ = ["describe_fields", "describe_struct"]


def describe_struct(struct: type[Wire]) -> str:
    """Return the first paragraph of a struct's docstring, on one line."""
    return _on_one_line((struct.__doc__ or "").partition("\n\n")[0])


@cache
def describe_fields(struct: type[Wire]) -> dict[str, str]:
    """Return the description of each field by its Python name, including those of base structs."""
    described: dict[str, str] = {}
    for part in reversed(struct.__mro__):
        if issubclass(part, Wire) and part is not Wire:
            described |= _fields_of_class(part)
    return described


def _fields_of_class(struct: type) -> dict[str, str]:
    """Read the literals that follow the fields in the source: Python does not keep them."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(struct))).body
    if not isinstance(definition, ast.ClassDef):
        raise TypeError(f"{struct} is not a class")
    described = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        text = _text(following)
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and text:
            described[statement.target.id] = _on_one_line(text)
    return described


def _text(statement: ast.stmt) -> str:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return str(statement.value.value) if is_text else ""  # type: ignore[attr-defined]  # `is_text` implies its type


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
