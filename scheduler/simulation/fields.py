"""Fields of cases: return a value of the expected type, or raise an error with its path."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.model.errors import PyroclastError

__all__ = ["CaseError", "items_of", "object_of", "objects_of", "whole_of"]


class CaseError(PyroclastError):
    """A case cannot be parsed. Remedy: fix the field that the message names."""


def items_of(value: Any, path: str) -> Sequence[Any]:
    """Return the items of a list; null is an empty list.

    Raises:
        CaseError: It is not a list.
    """
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise CaseError(f"{path}: expected a list, got {type(value).__name__}")
    return value


def object_of(value: Any, path: str) -> Mapping[str, Any]:
    """Return an object.

    Raises:
        CaseError: It is not an object.
    """
    if not isinstance(value, Mapping):
        raise CaseError(f"{path}: expected an object, got {type(value).__name__}")
    return value


def objects_of(value: Any, path: str) -> list[Mapping[str, Any]]:
    """Return the objects of a list; null is an empty list.

    Raises:
        CaseError: It is not a list of objects.
    """
    return [object_of(each, f"{path}[{index}]") for index, each in enumerate(items_of(value, path))]


def whole_of(value: Any, path: str) -> int:
    """Return a whole number.

    Raises:
        CaseError: It is not a whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise CaseError(f"{path}: expected a whole number, got {value!r}")
    return value
