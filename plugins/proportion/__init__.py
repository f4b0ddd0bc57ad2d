"""Proportion: divide the cluster among queues by weight, up to what each asks for.

`water` has the arithmetic, `books` what is counted per queue, `lending` how far queues may go
beyond that, `plugin` the extension points.
"""

from pyroclast.plugins.proportion.plugin import Proportion, ProportionArgs

__all__ = ["Proportion", "ProportionArgs"]
