"""Extender: an HTTP service decides with us.

`arguments` has the arguments; `asking` makes questions of verbs and answers of what came back, `replies` says what may
come back; `bodies` writes the session's objects as JSON, from `amounts` and `objects`; `nodes`, `jobs`, `victims` and
`events` are what the verbs answer, `plugin` registers them. The HTTP client is in `framework.extension.outside`.
"""

from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.plugin import Extender

__all__ = ["Extender", "ExtenderArgs"]
