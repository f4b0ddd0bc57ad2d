"""Parts of a group: the sub-jobs that its policies make of it, each with a minimum and a topology of its own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.differential.cluster import READY, Group, Pod
from tests.differential.filters import selects


@dataclass(eq=False)
class Part:
    """A sub-job: a part of a group with a minimum of its own, and its pods still to be placed."""

    group: Group
    id: str
    policy: str
    minimum: int
    members: list[Pod]
    index: int = 0
    """The first value that made it, as a number."""
    left: list[Pod] = field(default_factory=list)
    is_required: bool = False
    needed: list[Pod] | None = None
    """Its pods that make the job ready, where these go first."""
    failed: set[str] = field(default_factory=set)
    """Pods that found no node."""
    topology: Mapping[str, Any] | None = None
    """Weight of topology distance."""

    def reaches(self, *more: str) -> bool:
        """Whether its minimum is placed."""
        placed = sum(pod.status in READY or pod.status in more or self.group.counts(pod) for pod in self.members)
        return placed >= self.minimum


def parts_of(group: Group) -> list[Part]:
    """Divide a job."""
    own = group.topology
    if not group.policies:
        return [Part(group, group.key, "", group.minimum, group.pods, topology=own)]
    found: dict[str, Part] = {}
    for pod in group.pods:
        part = Part(group, group.key, "", 1, [], topology=own)
        for each in group.policies:
            keys = each.get("matchLabelKeys", [])
            values = [pod.labels.get(key, "") for key in keys]
            selector = each.get("labelSelector")
            if (selector is None or selects(selector, pod.labels)) and all(values) and (keys or selector):
                name = f"{group.key}/{each['name']}" + (f"-{'-'.join(values)}" if values else "")
                index = int(values[0]) if values and values[0].isdecimal() else 0
                minimum, topology = each.get("subGroupSize") or 1, each.get("networkTopology")
                part = Part(group, name, each["name"], minimum, [], index, topology=topology)
                break
        found.setdefault(part.id, part).members.append(pod)
    return list(found.values())
