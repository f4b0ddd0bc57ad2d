"""Plugins of Jobs: requirements of a framework's pods, such as host names, keys, ranks and ports.

Belongs here: one file a plugin, each a pure function of (job, task, index, pod) and of the objects it owns, and the
table of plugins. Does not: carrying anything out, which the Job controller does.
"""
