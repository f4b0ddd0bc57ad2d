"""The cluster in files: objects that are read and written, and audits of the state against a rebuild.

Belongs here: the file format that dumps and `pyroclast simulate` share.
Does not belong here: a live cluster (`sync`).
"""
