"""The client of the Kubernetes API: credentials, lists and watches, binds, evictions, status, events, the lease.

Belongs here: requests to an API server, and how their failures are handled. Does not belong here: the meaning of the
objects for the scheduler. This package depends on `model` only.
"""
