"""The known name that somebody probably meant."""

import re
from collections.abc import Collection
from difflib import get_close_matches

__all__ = ["did_you_mean", "nearest"]


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


def _plain(name: str) -> str:
    return re.sub(r"[-._ ]", "", name).lower()
