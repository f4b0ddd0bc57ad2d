"""Elastic quota: teams are guaranteed a part of the cluster, and lend what they do not use.

`accounts` has what each quota has and may have now, `taking` who may be evicted for whom, `revoking` who goes where a
quota has had too much for too long, `status` what its object is told, `plugin` the extension points. What quotas are,
and how the cluster is divided among them, is in `model.elastic`.
"""

from pyroclast.plugins.elastic_quota.arguments import ElasticQuotaArgs
from pyroclast.plugins.elastic_quota.plugin import ElasticQuota

__all__ = ["ElasticQuota", "ElasticQuotaArgs"]
