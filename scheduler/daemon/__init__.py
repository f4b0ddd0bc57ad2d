"""The scheduler daemon: the loop of cycles, its settings, leadership, and the cluster it works on.

Belongs here: what runs for months. Does not: decisions (`framework`), the objects of the cluster (`cache`).
"""
