"""Network topology: the tree of domains (HyperNodes) as a value.

Here: which nodes a HyperNode's members are, how HyperNodes become one tree, and arithmetic over its domains. Not here:
who keeps the tree up to date (`cache.topology`) and who chooses domains (`framework.placement.topology`, the plugins).
"""
