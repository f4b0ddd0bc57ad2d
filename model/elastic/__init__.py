"""Elastic quotas: trees of guarantees and ceilings whose unused part is lent, as Koordinator defines them.

Here is what an ElasticQuota says, which quota a pod belongs to, and how what is there is divided; no I/O, no clock, and
no word of plugins.
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
