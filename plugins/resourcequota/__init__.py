"""Resource quota: a job is not enqueued while its minimum exceeds a ResourceQuota of its namespace.

`scopes` selects the quotas of a job. `usage` calculates the usage of its pods. `plugin` registers the extension points.
"""

from pyroclast.plugins.resourcequota.plugin import ResourceQuota

__all__ = ["ResourceQuota"]
