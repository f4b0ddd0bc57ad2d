"""Locks of nodes, as far as who decides and who carries out must agree on them."""

from typing import Final

from pyroclast.model.wire import unix_seconds

__all__ = ["LOCK_NODE", "LOCK_SECONDS", "is_held"]

LOCK_NODE: Final = "lock-node"
"""Kind of preparation: sets the annotation that its details name under `annotation`."""
LOCK_SECONDS: Final = 300.0
"""A lock that is older counts no more; one from the future does."""


def is_held(text: str, now: float) -> bool:
    """Tell whether a lock that was set at a time counts still.

    Raises:
        ValueError: The text is no time; a lock without one is held for ever.
    """
    if not text:
        raise ValueError("an empty text is no time")
    return now - unix_seconds(text) <= LOCK_SECONDS
