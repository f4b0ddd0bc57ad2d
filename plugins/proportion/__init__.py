"""Proportion: divide the cluster among queues by weight, up to what each asks for.

`water` has the arithmetic, `books` what is counted per queue, `plugin` the extension points.
"""

from plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
