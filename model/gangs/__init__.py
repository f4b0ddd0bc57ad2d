"""Gangs as Koordinator's users write them: labels and annotations of pods, and pod groups of `scheduling.sigs.k8s.io`.

names.py      what they write, and what is written on their pods
identity.py   which gang a pod is in, and which job that is
gang.py       what one gang says
reading.py    reading it from an object or from pods
groups.py     gangs that wait for each other: whether they are complete, what they need
"""

from pyroclast.model.gangs.gang import Gang, GangRules
from pyroclast.model.gangs.groups import GangGroup

__all__ = ["Gang", "GangGroup", "GangRules"]
