"""Quotas of namespaces at the gate, job by job: what docs/plugins/resourcequota.md says."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.differential.cluster import Group, amounts
from tests.differential.policy import Policy

ENDED = ("Succeeded", "Failed")


class ResourceQuota(Policy):
    """Jobs whose minimum the quotas of their namespace leave room for, beside the pods that they have already."""

    name = "resourcequota"

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.admitted: dict[str, Counter[str]] = {}
        """What has passed in this cycle and is not in use yet, by quota."""

    def opens_gate(self, group: Group) -> int:
        """Every quota has a say."""
        for quota, resource, used, hard, more in self.asked(group):
            if more and used + self.admitted.get(quota, Counter())[resource] + more > hard:
                return -1
        return 1

    def passed(self, group: Group) -> None:
        """Count what has passed."""
        for quota, resource, _, _, more in self.asked(group):
            self.admitted.setdefault(quota, Counter())[resource] += more

    def asked(self, group: Group) -> Iterator[tuple[str, str, int, int, int]]:
        """Each quota and resource that concern a group: what is used, what may be, what its minimum lacks."""
        namespace, reserves = group.key.split("/")[0], group.reserves or {}
        for quota in self.cluster.of_kind("ResourceQuota"):
            if quota["metadata"]["namespace"] != namespace:
                continue
            hard, usage = (amounts(quota["status"][each]) for each in ("hard", "used"))
            for resource in sorted(set(hard) & set(reserves)):
                used = usage.get(resource, 0)
                own = sum(pod.request.get(resource, 0) for pod in group.pods if pod.status not in ENDED)
                more = max(reserves[resource] - min(own, used), 0)
                yield quota["metadata"]["name"], resource, used, hard[resource], more
