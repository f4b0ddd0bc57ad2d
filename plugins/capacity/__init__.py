"""Capacity: each queue has the amounts that are declared for it; queues can form a tree.

`tree` finds parents and faults of the tree. `queue_usage` holds the amounts of a queue. `limits` passes limits down the
tree. `reclaim` selects victims. `plugin` registers the extension points.
"""

from pyroclast.plugins.capacity.plugin import Capacity, CapacityArgs

__all__ = ["Capacity", "CapacityArgs"]
