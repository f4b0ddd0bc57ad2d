"""Elastic quotas: trees of guarantees and maximums whose unused part is lent, as Koordinator defines them.

Belongs here: parsing of an ElasticQuota, the quota of a pod, and the division of resources. Does not: I/O, a clock, and
plugins.
"""

from pyroclast.model.elastic.names import DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA
from pyroclast.model.elastic.pod_quota import Belonging
from pyroclast.model.elastic.quota import ParsedQuota, read_quota
from pyroclast.model.elastic.uses import Claim, QuotaUses

__all__ = [
    "DEFAULT_QUOTA",
    "ROOT_QUOTA",
    "SYSTEM_QUOTA",
    "Belonging",
    "Claim",
    "ParsedQuota",
    "QuotaUses",
    "read_quota",
]
