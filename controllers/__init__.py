"""Controllers of the custom resources, as kopf operators. None yet: they come with a later release.

Belongs here: what makes pod groups for pods, runs Jobs, keeps queues' states, and admits objects. Does not: deciding
where pods run.
"""
