"""Shared devices: cards of a node of which several pods may hold a part, as annotations of nodes and pods tell of them.

Here: which cards a node has, what a pod asks of them, which cards a pod was given, and what of a card is taken. Not
here: which cards a pod gets (`plugins.deviceshare`), and devices that resource claims name (`model.device_claims`).
"""
