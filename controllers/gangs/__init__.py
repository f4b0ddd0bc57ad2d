"""Gangs: the status of Koordinator's PodGroups (`scheduling.sigs.k8s.io`).

Belongs here: the state of a group's members, written to its status. Does not: the definition of gangs (`model.gangs`),
and their placement (the scheduler).
"""
