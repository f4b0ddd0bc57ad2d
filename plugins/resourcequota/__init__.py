"""Resource quota: a job waits for admission while its minimum would exceed a ResourceQuota of its namespace.

`scopes` says which quotas concern a job, `usage` what its pods use of them already, `plugin` has the extension points.
"""

from pyroclast.plugins.resourcequota.plugin import ResourceQuota

__all__ = ["ResourceQuota"]
