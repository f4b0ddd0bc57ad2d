"""Translation of API objects into the model.

Belongs here: how tasks, nodes, queues and templates are computed from objects.
Does not belong here: storing them (`stores`).
"""
