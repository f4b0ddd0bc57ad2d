"""PodGroup controller: creates a group for every pod without one, so that it can be scheduled.

Belongs here: the group of a pod, the fields of the group, and its deletion. Does not: groups of Jobs
(`controllers.jobs`), and their status (the scheduler's).
"""
