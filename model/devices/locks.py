"""Locks of nodes, as far as who decides and who carries out must agree on them."""

from typing import Final

__all__ = ["LOCK_NODE", "LOCK_SECONDS"]

LOCK_NODE: Final = "lock-node"
"""Kind of preparation: sets the annotation that its details name under `annotation`."""
LOCK_SECONDS: Final = 300.0
"""A lock that is older counts no more; one from the future does."""
