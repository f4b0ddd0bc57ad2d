"""Node order: the weighted scores of kube-scheduler.

`amounts` has the scores by requests and allocatable amounts. `single` has the same for one node. `facts` has those by
labels, taints and images. `pods` has those by other pods. `plugin` has the arguments and extension points.
"""

from pyroclast.plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
