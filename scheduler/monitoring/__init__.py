"""Observability of a process: metrics, probes, logs, debug endpoints.

Belongs here: reading and publishing state. Does not belong here: decisions.
"""
