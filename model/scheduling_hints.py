"""Scheduling hints: nodes and allocations of a waiting pod that another component has decided already.

Koordinator's annotation, JSON: {"nodeNames": ["n1"], "extensions": {"NodeNUMAResource": {}}}. A plugin that it names
gives the pod what the annotation of that plugin says, or nothing.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec

from pyroclast.model.annotations import read_json

__all__ = ["NO_HINT", "SchedulingHint", "hint_texts", "read_hint"]

_KEYS: Final = ("internal.scheduling.koordinator.sh/scheduling-hint", "scheduling.koordinator.sh/scheduling-hint")
"""The annotation, and its older name."""
_LONGEST_TEXT: Final = 16_384
_MOST_ENTRIES: Final = 100


class SchedulingHint(NamedTuple):
    """What is decided of a pod."""

    nodes: frozenset[str] = frozenset()
    """Names of the nodes on which it may be placed; empty for any."""
    extensions: frozenset[str] = frozenset()
    """Koordinator's names of the plugins whose annotations are decisions."""


NO_HINT: Final = SchedulingHint()


class _Hint(msgspec.Struct, frozen=True):
    nodes: tuple[str, ...] = msgspec.field(name="nodeNames", default=())
    extensions: dict[str, Any] = {}  # a field of a struct, copied for each


def read_hint(annotations: Mapping[str, str]) -> SchedulingHint:
    """Return the hint of a pod; nothing without the annotation.

    Raises:
        ValueError: It cannot be parsed, or has too many entries. The message names the annotation.
    """
    for key in _KEYS:
        text = annotations.get(key)
        if text:
            found = _read(text)
            if isinstance(found, str):
                raise ValueError(f"annotation {key}: {found}")
            return found
    return NO_HINT


def hint_texts(annotations: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the texts of a hint. Pods that differ in them share no template."""
    return tuple(map(annotations.get, _KEYS))


@lru_cache(1024)
def _read(text: str) -> SchedulingHint | str:
    """Return what an annotation says, or its fault."""
    try:
        hint = read_json(text, _Hint, longest=_LONGEST_TEXT)
    except ValueError as error:
        return str(error)
    most = max(len(hint.nodes), len(hint.extensions))
    if most > _MOST_ENTRIES:
        return f"{most} entries, at most {_MOST_ENTRIES} are supported"
    return SchedulingHint(frozenset(hint.nodes), frozenset(hint.extensions))
