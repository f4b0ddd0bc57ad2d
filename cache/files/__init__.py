"""The cluster as files: objects read and written, and audits of the state against a rebuild.

Belongs here: what dumps and `pyroclast simulate` share. Does not: a live cluster.
"""
