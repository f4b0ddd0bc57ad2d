"""Documents with one value changed: for tests that bad input gets a clear error."""

from collections.abc import Iterator
from typing import Any

__all__ = ["changed", "places"]


def places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value of a document."""
    yield path
    for key in document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ():
        yield from places(document[key], (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Return a document with another value at a path."""
    if not path:
        return value
    copied = document.copy()
    copied[path[0]] = changed(document[path[0]], path[1:], value)
    return copied
