"""DRF: order jobs by dominant resource share, and queues by weighted shares along a hierarchy.

Ghodsi et al., Dominant Resource Fairness (NSDI 2011); Bhattacharya et al., Hierarchical Scheduling for Diverse
Datacenter Workloads (SoCC 2013). `shares` has the arithmetic, `tree` the hierarchy, `plugin` the extension points.
"""

from pyroclast.plugins.drf.plugin import Drf

__all__ = ["Drf"]
