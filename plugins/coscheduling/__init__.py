"""Coscheduling: gangs in Koordinator's format.

`arguments` and `settings` configure how gangs are read. `plugin` registers the extension points. `model.gangs` defines
gangs; `cache.stores.gangs` makes jobs of them when pods become tasks.
"""

from pyroclast.plugins.coscheduling.arguments import CoschedulingArgs
from pyroclast.plugins.coscheduling.plugin import Coscheduling
from pyroclast.plugins.coscheduling.settings import gang_rules

__all__ = ["Coscheduling", "CoschedulingArgs", "gang_rules"]
