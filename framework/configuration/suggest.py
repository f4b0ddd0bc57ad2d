"""Suggestions: the known name that is closest to a misspelt one."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

__all__ = ["did_you_mean", "did_you_mean_inside", "nearest"]


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name closest to `name`, or None when none is close.

    Names that differ in hyphens, dots and case alone (`numaaware`, `numa-aware`) are closest of all. Ties go to the
    name that sorts first.
    """
    candidates = sorted(known)
    plain = _plain(name)
    for candidate in candidates:
        if _plain(candidate) == plain:
            return candidate
    matches = get_close_matches(name, candidates, n=1, cutoff=0.6)
    return matches[0] if matches else None


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return ` (did you mean 'x'?)` for the end of a message, or nothing when no known name is close."""
    found = nearest(name, known)
    return f" (did you mean {found!r}?)" if found is not None else ""


def did_you_mean_inside(name: str, value: object, known: Collection[str]) -> str:
    """Return the hint for a key; where keys have dots and a mapping stands instead, for `name.<key inside>` first."""
    if isinstance(value, Mapping):
        for inner in value:
            if hint := did_you_mean(f"{name}.{inner}", [each for each in known if each.startswith(f"{name}.")]):
                return hint
    return did_you_mean(name, known)


def _plain(name: str) -> str:
    return re.sub(r"[-._ ]", "", name).lower()
