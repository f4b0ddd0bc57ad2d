"""Jobs that come: what they ask for, and the objects that say so."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.testing import Scenario
from pyroclast.testing.objects import GPU
from tests.elastic_quotas import uses

__all__ = ["COOLDOWN_SECONDS", "GIB", "PRIORITIES", "QUEUES", "Wish", "filling", "objects_of", "random_wish"]

PRIORITIES: Final = {"low": 1, "middle": 5, "high": 9, "meek": 9}
"""Value by class; pods of class `meek` evict no pods."""
QUEUES: Final = ("red", "green", "blue")
GIB: Final = 2**30
USED_QUOTAS: Final = ("ant", "ant", "bee", "bee", "")
COOLDOWN_SECONDS: Final = 10
"""How long pods are spared that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a job asks for."""

    queue: str
    tasks: int
    minimum: int
    """At most `tasks`."""
    cpu: int
    gpu: int
    priority: str
    gib: int = 0
    """Memory of each task."""
    tier: int = 0
    """Highest tier of its hard topology; 0 for none."""
    prefers: int = 0
    """Highest tier of its soft topology; 0 for none."""
    has_roles: bool = False
    """Whether one of its tasks has a role of its own, and both roles a minimum."""
    part_size: int = 0
    """Size of its sub-groups, each within a rack where `tier` is not 0; 0 for none."""
    is_mixed: bool = False
    """Whether its first tasks are of many sub-groups, and the one with a role of its own comes last."""
    light: int = 0
    """Further tasks that ask for nothing."""
    says_what_it_needs: bool = False
    """Whether the gate of its queue holds it back while its minimum is not there."""
    is_spared: bool = False
    """Whether its pods must not be evicted."""
    is_guest: bool = False
    """Whether it may run on nodes that can be taken back, and leaves them when asked."""
    cools_down: bool = False
    """Whether its pods are spared for a while after they were scheduled."""
    quota: str = ""
    """Elastic quota that its pods name; empty for none."""
    is_kept: bool = False
    """Whether quotas must not have its pods evicted."""

    @property
    def request(self) -> Mapping[str, int]:
        """What each task asks for, but the light ones."""
        amounts = {"cpu": self.cpu, GPU: self.gpu, "memory": self.gib * GIB}
        return {name: amount for name, amount in amounts.items() if amount}

    @property
    def total(self) -> int:
        """Number of tasks, the light ones included."""
        return self.tasks + self.light

    @property
    def min_by_role(self) -> Mapping[str, int]:
        """Minimum by role."""
        return {"first": 1, "rest": self.minimum - 1} if self.has_roles and self.minimum > 1 else {}

    def role_of(self, number: int) -> str:
        """Return the role of one task."""
        return "first" if number == (self.tasks - 1 if self.is_mixed else 0) else "rest"

    def part_of(self, number: int) -> str:
        """Return the sub-group of one task."""
        if not self.part_size:
            return "0"
        parts = -(-self.tasks // self.part_size)
        return str(number % parts if self.is_mixed and number < self.tasks else number // self.part_size)

    @property
    def least_parts(self) -> int:
        """Number of sub-groups that it needs."""
        return self.minimum // self.part_size if self.part_size else 0

    def request_of(self, number: int) -> Mapping[str, int]:
        """Return what one task asks for."""
        return self.request if number < self.tasks else {}


def filling(chance: random.Random) -> Wish:
    """Draw unimportant work, of the kind that a cluster is full of."""
    tasks = chance.randint(2, 5)
    minimum = chance.choice([1, tasks // 2, tasks])
    cpu = chance.choice([1, 1, 2])
    return Wish(
        queue=chance.choice(QUEUES),
        tasks=tasks,
        minimum=minimum,
        cpu=cpu,
        gpu=0,
        gib=chance.choice([0, 0, 1, 2]),
        priority="low",
        is_guest=chance.random() < 0.2,
        cools_down=chance.random() < 0.2,
        quota=chance.choice(USED_QUOTAS),
    )


def random_wish(chance: random.Random) -> Wish:
    """Draw a job: mostly a plain gang, now and then something special."""
    tasks = chance.randint(1, 5)
    minimum = chance.choice([1, tasks, tasks, max(1, tasks - 1)])
    special = chance.choice(["", "", "", "", "tier", "tier", "soft", "roles", "parts", "spared", "idle", "guest"])
    part_size = chance.randint(1, 2) if special == "parts" else 0
    return Wish(
        queue=chance.choice(QUEUES),
        tasks=tasks,
        minimum=min(tasks, max(part_size, minimum // part_size * part_size)) if part_size else minimum,
        cpu=0 if special == "idle" else chance.randint(1, 3),
        gpu=0 if special == "idle" else chance.choice([0, 0, 0, 1]),
        priority=chance.choice(["low", "low", "middle", "high", "high", "meek"]),
        gib=0 if special == "idle" else chance.choice([0, 0, 1, 2, 4]),
        prefers=chance.randint(1, 2) if special == "soft" else 0,
        tier=chance.randint(1, 2) if special == "tier" else chance.randint(0, 1) * (special == "parts"),
        has_roles=special == "roles",
        part_size=part_size,
        is_mixed=chance.random() < 0.5,
        says_what_it_needs=chance.random() < 0.3,
        light=chance.choice([0, 0, 0, 0, 0, 1, 2]),
        is_spared=special == "spared",
        is_guest=special == "guest",
        cools_down=chance.random() < 0.2,
        quota=chance.choice(USED_QUOTAS),
        is_kept=chance.random() < 0.1,
    )


def objects_of(name: str, wish: Wish, created: str) -> list[Mapping[str, Any]]:
    """Return a group and its pods."""
    scenario = Scenario().job(
        name,
        tasks=0,
        min_available=wish.minimum,
        queue=wish.queue,
        priority_class=wish.priority,
        min_by_role=wish.min_by_role,
        min_resources=_needs(wish) if wish.says_what_it_needs else None,
        group=_topology(wish),
    )
    for number in range(wish.total):
        scenario = scenario.pod(
            f"{name}-{number}",
            job=name,
            cpu=None,
            resources=wish.request_of(number),
            priority=PRIORITIES[wish.priority],
            role=wish.role_of(number),
            labels={"job": name, "part": wish.part_of(number), **uses(wish.quota, preemptible=not wish.is_kept)},
            annotations=_annotations(wish),
            spec={"preemptionPolicy": "Never"} if wish.priority == "meek" else None,
        )
    return [{**each, "metadata": {**each["metadata"], "creationTimestamp": created}} for each in scenario.objects]


def _annotations(wish: Wish) -> Mapping[str, str]:
    said = {"volcano.sh/preemptable": "false"} if wish.is_spared else {}
    said |= {"volcano.sh/preemptable": "true", "volcano.sh/revocable-zone": "*"} if wish.is_guest else {}
    return said | ({"volcano.sh/cooldown-time": f"{COOLDOWN_SECONDS}s"} if wish.cools_down else {})


def _needs(wish: Wish) -> Mapping[str, int]:
    return {name: amount * wish.minimum for name, amount in wish.request.items()}


def _topology(wish: Wish) -> Mapping[str, Any]:
    hard = {"networkTopology": {"mode": "hard", "highestTierAllowed": wish.tier}} if wish.tier else {}
    if wish.prefers:
        return {"networkTopology": {"mode": "soft", "highestTierAllowed": wish.prefers}}
    if not wish.part_size:
        return hard
    policy = {
        "name": "part",
        "matchLabelKeys": ["part"],
        "subGroupSize": wish.part_size,
        "minSubGroups": wish.least_parts,
    }
    return {"subGroupPolicy": [{**policy, **hard}]}
