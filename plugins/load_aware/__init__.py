"""Load-aware: filter and score nodes by usage that Koordinator's agent measures, plus estimates of newer pods.

`arguments` has the arguments. `arithmetic` calculates estimates, loads and scores. `limits` has the thresholds of
nodes.
`estimates` estimates the usage of pods. `loads` tracks the usage of nodes, as a ledger. `nodes` has the state of nodes.
`filter` refuses nodes above their thresholds. `plugin` registers the extension points. The model parses measurements,
and the cache watches them.
"""

from pyroclast.plugins.load_aware.arguments import LoadAwareArgs
from pyroclast.plugins.load_aware.plugin import LoadAware, is_asked_for

__all__ = ["LoadAware", "LoadAwareArgs", "is_asked_for"]
