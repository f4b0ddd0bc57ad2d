"""Usage: what nodes really use, and what new pods will use on them.

`arguments` has the arguments, `arithmetic` loads, estimates and scores as numbers, `shadow` the ledger of load that no
measurement shows yet, `plugin` the extension points. Measuring is the cache's part.
"""

from pyroclast.plugins.usage.arguments import UsageArgs
from pyroclast.plugins.usage.plugin import Usage

__all__ = ["Usage", "UsageArgs"]
