"""Records of cycles: written by the daemon, decided again by `pyroclast replay`.

Belongs here: writing and reading the record format. Does not belong here: explaining decisions.
"""
