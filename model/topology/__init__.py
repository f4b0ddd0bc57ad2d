"""Network topology: the tree of domains (HyperNodes) as a value.

Belongs here: which nodes a HyperNode's members are, how HyperNodes become one tree, and arithmetic over its domains.
Does not: updates of the tree (`cache.stores.topology`), the choice of domains (`framework.placement.topology`).
"""
