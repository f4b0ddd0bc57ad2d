"""Elastic quota: teams have guaranteed resources, and lend the unused part.

`accounts` tracks the usage and the current limit of each quota. `victims` selects victims of preemption and reclaim.
`revoking` evicts pods of quotas that exceed their limit for too long. `status` reports figures and faults. `plugin`
registers the extension points. `model.elastic` defines quotas and the division of the cluster.
"""

from pyroclast.plugins.elastic_quota.arguments import ElasticQuotaArgs
from pyroclast.plugins.elastic_quota.plugin import ElasticQuota

__all__ = ["ElasticQuota", "ElasticQuotaArgs"]
