"""Names of Volcano's configuration that this release does not have yet: told apart from misspelt ones."""

from collections.abc import Collection
from typing import Final

from framework.nearest import did_you_mean

__all__ = ["hint_for"]

PLUGINS: Final = frozenset({
})  # fmt: skip


def hint_for(name: str, known: Collection[str]) -> str:
    """Return what to say behind an unknown plugin: that it comes later, or the nearest name, to come ones included."""
    if name in PLUGINS:
        return " (one of Volcano's that this release does not have yet)"
    return did_you_mean(name, {*known, *PLUGINS})
