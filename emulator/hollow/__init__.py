"""Hollow nodes: machines that exist on the API server alone, and do there what kubelets do.

Belongs here: registering nodes, heartbeats, and the lives of pods that are bound to them. It is an API client like any
other, so it runs against the emulator and a real server alike, and keeps all of its state there.
Does not belong here: choosing nodes for pods.
"""
