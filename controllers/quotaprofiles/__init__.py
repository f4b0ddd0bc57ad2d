"""The quota profile controller: the root quota of each ElasticQuotaProfile, with the resources of its nodes.

Belongs here: the nodes of a profile, their total resources, and the root ElasticQuota. Does not: division among quotas
(`model.elastic`).
"""
