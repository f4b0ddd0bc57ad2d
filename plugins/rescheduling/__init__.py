"""Rescheduling: pods leave the busiest nodes for the idlest, by strategies that shuffle carries out.

`arguments` has the arguments, `low_node_utilization` the strategy as numbers, `plugin` the extension point.
"""

from pyroclast.plugins.rescheduling.arguments import ReschedulingArgs
from pyroclast.plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling", "ReschedulingArgs"]
