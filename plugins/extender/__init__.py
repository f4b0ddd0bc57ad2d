"""Extender: an HTTP service takes part in decisions.

`arguments` has the arguments. `asking` sends requests for verbs and checks the replies. `replies` defines the replies.
`bodies` writes the session's objects as JSON, with `amounts` and `objects`. `nodes`, `jobs`, `victims` and `events`
implement the verbs. `plugin` registers them. The HTTP client is in `framework.extension.outside`.
"""

from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.plugin import Extender

__all__ = ["Extender", "ExtenderArgs"]
