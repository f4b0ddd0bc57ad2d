"""Load-aware: what nodes use by the measurements of Koordinator's agent, and what pods placed since will use on them.

`arguments` has the arguments, `arithmetic` estimates, loads and scores as numbers, `limits` which loads each node may
have, `estimates` what pods are taken to use, `loads` what nodes are taken to use, as a ledger, `nodes` what is known of
nodes, `filter` which of them use too much, `plugin` the extension points. Reading measurements is the model's part,
following them the cache's.
"""

from pyroclast.plugins.load_aware.arguments import LoadAwareArgs
from pyroclast.plugins.load_aware.plugin import LoadAware, is_asked_for

__all__ = ["LoadAware", "LoadAwareArgs", "is_asked_for"]
