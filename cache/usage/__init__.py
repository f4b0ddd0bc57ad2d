"""Node usage: measurements that a monitoring system returns, applied to the cluster state at intervals.

Belongs here: the requests to each type of source, and the meaning of its answers.
Does not belong here: decisions from measurements (the plugins), the configuration of the source
(`framework.configuration`).
"""
