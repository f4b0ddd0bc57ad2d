"""The built-in quota controller: the objects of the root, the system and the default quota.

Belongs here: when these objects are created, and what they must say. Does not: how the quotas are served, which is
`model.elastic`; they are served without objects too.
"""
