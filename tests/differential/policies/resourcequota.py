"""Quotas of namespaces at the gate, job by job: what docs/plugins/resourcequota.md says."""

from collections import Counter
from typing import Any, ClassVar

from tests.differential.cluster import Group, amounts
from tests.differential.policy import Policy


class ResourceQuota(Policy):
    """Jobs whose minimum the quotas of their namespace leave room for."""

    name: ClassVar[str] = "resourcequota"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.admitted: dict[str, Counter[str]] = {}
        """What has passed in this cycle, by namespace."""

    def opens_gate(self, group: Group) -> int:
        """Every quota has a say."""
        namespace, reserves = group.key.split("/")[0], group.reserves or {}
        for quota in self.cluster.of_kind("ResourceQuota"):
            if quota["metadata"]["namespace"] != namespace:
                continue
            hard, used = (amounts(quota["status"][each]) for each in ("hard", "used"))
            for name in set(hard) & set(reserves):
                passed = self.admitted.get(namespace, Counter())[name]
                if used.get(name, 0) + passed + reserves[name] > hard[name]:
                    return -1
        return 1

    def passed(self, group: Group) -> None:
        """Count what has passed."""
        self.admitted.setdefault(group.key.split("/")[0], Counter()).update(group.reserves or {})
