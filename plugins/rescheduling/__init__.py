"""Rescheduling: move pods from the busiest to the idlest nodes, by strategies that the action shuffle executes.

`arguments` has the arguments. `low_node_utilization` has the strategy's arithmetic. `plugin` registers the extension
point.
"""

from pyroclast.plugins.rescheduling.arguments import ReschedulingArgs
from pyroclast.plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling", "ReschedulingArgs"]
