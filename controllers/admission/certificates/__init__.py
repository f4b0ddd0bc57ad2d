"""Certificates of the admission server: issued and renewed here and shared in a Secret, or read from files.

Belongs here: issue and renewal as pure functions of the current certificates and the time, the shared Secret, files
that cert-manager renews, and the CA bundle that the API server trusts. Does not: the server that presents them.
"""
