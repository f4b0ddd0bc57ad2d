"""Node order: the scores of kube-scheduler, weighted and added up.

`amounts` has the scores by requests and room, `single` the same for one node, `facts` those by labels, taints and
images, `pods` those by other pods, `plugin` the arguments and extension points.
"""

from pyroclast.plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
