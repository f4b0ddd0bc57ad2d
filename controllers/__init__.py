"""Controllers of the custom resources. They are level-triggered: all lasting state is in the API, not only in memory.

Belongs here: controllers of pod groups, Jobs, queues and garbage, and admission. Each controller is a set of pure
decisions, from values to values, and a thin reconciler that executes them on `runtime`. Does not: placement of pods.
"""
