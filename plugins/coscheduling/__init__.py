"""Coscheduling: gangs as Koordinator's users write them.

`arguments` and `settings` say how gangs are read, `plugin` what is asked of them in a session. What gangs are stands in
`model.gangs`; the jobs that they make are made where pods become tasks (`cache.gangs`).
"""

from plugins.coscheduling.arguments import CoschedulingArgs
from plugins.coscheduling.plugin import Coscheduling
from plugins.coscheduling.settings import gang_rules

__all__ = ["Coscheduling", "CoschedulingArgs", "gang_rules"]
