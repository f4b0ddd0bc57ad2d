"""Capacity: each queue has what its owner declared for it, in a tree if wanted.

`tree` finds who is whose parent and what is wrong with that, `books` has what is counted per queue, `limits` how limits
are handed down, `reclaim` who may take from whom, `plugin` the extension points.
"""

from pyroclast.plugins.capacity.plugin import Capacity, CapacityArgs

__all__ = ["Capacity", "CapacityArgs"]
