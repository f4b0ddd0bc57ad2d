"""Plugins of Jobs: requirements of a framework's pods, such as host names, keys, ranks and ports.

Belongs here: one file per plugin, each a pure function of (job, task, index, pod) and of its objects, and the table of
plugins. Does not: requests to the API server, which the Job controller sends.
"""
