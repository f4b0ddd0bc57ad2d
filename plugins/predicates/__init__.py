"""Predicates: the nodes on which a task may run, by the filters of kube-scheduler.

Belongs here: one file for each filter, and `plugin`, which registers them in order. Does not belong here: resource fit
(actions compare requests with idle resources), devices, and scores (`nodeorder`).
"""
