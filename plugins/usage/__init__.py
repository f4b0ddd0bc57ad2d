"""Usage: filter and score nodes by their measured usage and the estimated usage of new pods.

`arguments` has the arguments. `arithmetic` calculates loads, estimates and scores. `shadow` is the ledger of load that
is not measured yet. `plugin` registers the extension points. The cache collects measurements.
"""

from pyroclast.plugins.usage.arguments import UsageArgs
from pyroclast.plugins.usage.plugin import Usage

__all__ = ["Usage", "UsageArgs"]
