"""The cluster state of the scheduler: built from watched objects, with assumed plans on top, copied as snapshots.

Belongs here: translation of objects into the model, stores by kind, assumptions, execution of plans.
Does not belong here: decisions (`framework`), requests to the API server (`kube`).
"""
