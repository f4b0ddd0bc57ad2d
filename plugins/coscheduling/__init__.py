"""Coscheduling: gangs as Koordinator's users write them.

`arguments` and `settings` say how gangs are read, `plugin` what is asked of them in a session. What gangs are stands in
`model.gangs`; the jobs that they make are made where pods become tasks (`cache.stores.gangs`).
"""

from pyroclast.plugins.coscheduling.arguments import CoschedulingArgs
from pyroclast.plugins.coscheduling.plugin import Coscheduling
from pyroclast.plugins.coscheduling.settings import gang_rules

__all__ = ["Coscheduling", "CoschedulingArgs", "gang_rules"]
