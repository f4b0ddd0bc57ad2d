"""Junk: values of any kind, and the places in objects where they do not belong."""

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

__all__ = ["JUNK", "Path", "paths", "planted"]

Path = tuple[str | int, ...]

TEXTS = st.sampled_from(
    [
        "",
        "-1",
        "0",
        "1e9",
        "NaN",
        "9" * 40,
        "1Ei",
        "1.5.5",
        "*",
        "(a+)+$",
        "[",
        "true",
        "-1h",
        "100%",
        "a,b;;",
        "root/",
        "é\x00",
    ]
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=False), TEXTS, st.text(max_size=8)
)
JUNK = st.one_of(SCALARS, st.lists(SCALARS, max_size=2), st.dictionaries(st.text(max_size=5), SCALARS, max_size=2))


def paths(value: object, here: Path = ()) -> Iterator[Path]:
    """Yield the path of each field inside a value."""
    items: Any = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*here, key)
        yield from paths(inner, (*here, key))


def planted(objects: Sequence[Any], changes: Sequence[tuple[tuple[int, Path], Any]]) -> list[Any]:
    """Return objects with values put where they do not belong: by number of the object and path."""
    changed = copy.deepcopy(list(objects))
    for (number, path), junk in changes:
        place: Any = changed[number]
        try:
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = junk
        except (KeyError, IndexError, TypeError):
            continue  # an earlier change took the place away
    return changed
