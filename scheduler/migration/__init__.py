"""Coming from Volcano: what an installation has that would behave differently here.

Belongs here: reading an installation from files or a cluster, and rules that each look at one kind of object. Does not:
changing anything.
"""
