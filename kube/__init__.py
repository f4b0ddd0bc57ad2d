"""Speaking Kubernetes: credentials, lists and watches, binds, evictions, status, events, the lease.

Belongs here: what goes over the wire to an API server, and how its failures are borne. Does not: what the objects
mean to the scheduler; this package stands on `model` alone.
"""
