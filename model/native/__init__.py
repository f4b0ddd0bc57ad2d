"""Native groups: PodGroups of `scheduling.k8s.io`, which pods name in `spec.schedulingGroup`.

group.py      settings of one group, as the scheduler uses them
identity.py   the group of a pod, and the id of its job
names.py      conditions and their reasons
reading.py    parsing a group: validation as the API server does it
"""

from pyroclast.model.native.group import Disruption, NativeGroup

__all__ = ["Disruption", "NativeGroup"]
