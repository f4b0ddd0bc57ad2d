"""Predicates: on which nodes a task may run, by the filters of kube-scheduler.

Belongs here: one file per filter, and `plugin`, which registers them in their order. Does not: room (actions compare
requests with what is free), devices, and how liked a node is (`nodeorder`).
"""
