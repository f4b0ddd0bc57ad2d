"""Records of cycles: written by the daemon, decided again by `pyroclast replay`.

Belongs here: the format of a record, both ways. Does not: explaining decisions.
"""
