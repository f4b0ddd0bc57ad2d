"""Proportion: divide the cluster among queues by weight, up to their requests.

`fair_share` has the arithmetic. `queue_usage` holds the amounts of a queue. `lending` has the limits beyond the
deserved amounts. `plugin` registers the extension points.
"""

from pyroclast.plugins.proportion.plugin import Proportion, ProportionArgs

__all__ = ["Proportion", "ProportionArgs"]
