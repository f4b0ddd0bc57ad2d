"""Migration from Volcano: what of an installation would behave differently here.

Belongs here: reading an installation from files or a cluster, and rules that each look at one kind of object. Does not:
changing anything.
"""
