"""PodGroup controller: a group for every pod that comes without one, so that it can be scheduled.

Belongs here: whose group a pod is in, what the group asks for, when it goes. Does not: groups of Jobs
(`controllers.jobs`), and their status (the scheduler's).
"""
