"""Migration from Volcano: report what of an installation would behave differently.

Belongs here: reading an installation from files or a cluster, and rules that each check one kind of object.
Does not belong here: changes to the installation.
"""
