"""Gangs: the status of Koordinator's PodGroups (`scheduling.sigs.k8s.io`).

Belongs here: how the members of such a group fare, told in it. Does not: what gangs are (`model.gangs`), and when they
are placed (the scheduler's).
"""
