"""Garbage controller: delete finished Jobs after their time to live, and Commands without a target at once.

Belongs here: the deletion of objects that have ended or can never start. Does not: objects that a Job owns, which
Kubernetes deletes by their owner references.
"""
