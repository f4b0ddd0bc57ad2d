"""Certificates that admission shows: made and renewed here and shared in a Secret, or taken from files.

Belongs here: making and renewing as pure functions of what there is and the time, the Secret that replicas share,
files that cert-manager renews, and the CA bundle that the API server trusts. Does not: the server that presents them.
"""
