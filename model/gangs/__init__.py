"""Gangs as Koordinator's users write them: labels and annotations of pods, and pod groups of `scheduling.sigs.k8s.io`.

names.py      labels and annotations, of users and of bound members
identity.py   the gang of a pod, and the job of a gang group
gang.py       settings of one gang
reading.py    parsing a gang from an object or from pods
groups.py     gangs that wait for each other: completeness and minimums
"""

from pyroclast.model.gangs.gang import Gang, GangRules
from pyroclast.model.gangs.groups import GangGroup

__all__ = ["Gang", "GangGroup", "GangRules"]
