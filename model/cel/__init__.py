"""CEL: expressions of the Common Expression Language that select devices, with the types of Kubernetes.

Belongs here: parsing, evaluation with a bound on steps, and the values that expressions see. Does not: which objects
have expressions, and what their results mean (`plugins.predicates.devices`).
"""
