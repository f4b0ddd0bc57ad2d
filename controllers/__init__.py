"""Controllers of the custom resources. They are level-triggered: all lasting state is in the API, not only in memory.

Belongs here: what makes pod groups for pods, runs Jobs, keeps queues' states, clears away what has ended, and admits
objects. Each is pure decisions, from values to values, and a thin reconciler that carries them out on what `operating`
offers. Does not: deciding where pods run.
"""
