"""The quota profile controller: for each ElasticQuotaProfile the root of a tree of quotas, as large as its nodes.

Belongs here: which nodes a profile means, what they come to, and the ElasticQuota that says so. Does not: dividing it,
which is `model.elastic`.
"""
