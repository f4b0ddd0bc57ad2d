"""Queues in a tree: capacity with `enableHierarchy` in whole cycles, and crowded clusters with branches of queues."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cmp_to_key
from random import Random
from typing import Any

from tests.differential.capacity import Declared, PlainQueue
from tests.differential.cluster import Pod, amounts
from tests.differential.crowded import CAPABILITIES, DESERVED, Crowded, crowded
from tests.differential.evicting import Draft, Evicting
from tests.differential.policy import Key
from tests.differential.vetoes import plain_pod, renamed

LEVELS = "ancestorReclaimLevel"


@dataclass(frozen=True)
class Branches(Declared):
    """Declared shares, those of queues with queues below as they were when the cycle began."""

    at_first: dict[str, float] = field(default_factory=dict)

    def share(self, name: str) -> float:
        """The largest part of what is deserved that is allocated, or was."""
        return self.at_first[name] if name in self.at_first else super().share(name)


class Treed(Evicting):
    """One cycle over a tree of queues."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.at_first: dict[str, float] = {}
        first = self.declared()
        self.at_first = {name: first.share(name) for name in first.queues if first.children(name)}
        self.asker = ""
        """The queue of the beneficiary."""

    def declared(self) -> Declared:
        """Queues and pods as capacity sees them now, in a tree."""
        queues = {}
        for name, each in self.cluster.queues.items():
            spec = each.object["spec"]
            parent = "" if name == "root" else spec.get("parent") or "root"
            deserved, capability = renamed(amounts(spec["deserved"])), renamed(amounts(spec["capability"]))
            queues[name] = PlainQueue(name, parent, each.priority, deserved, capability, renamed(each.guarantee))
        pods = [plain_pod(pod, group) for group in self.cluster.groups.values() for pod in group.pods]
        levels = self.arguments.get("capacity", {}).get(LEVELS, 0)
        total = renamed(self.cluster.total)
        return Branches(queues=queues, pods=pods, total=total, in_tree=True, levels=levels, at_first=self.at_first)

    def queue_key(self, name: str) -> Key:
        """Queues: as the tree has it, then by age of the branches that part, so that no three go round in a circle."""
        declared = self.declared()

        def compare(left: str, right: str) -> int:
            if left == right:
                return 0
            lines = ([*reversed(declared.above(each)), each] for each in (left, right))
            mine, theirs = next(pair for pair in zip(*lines, strict=False) if pair[0] != pair[1])
            ages = [(self.cluster.queues[each].created, each) for each in (mine, theirs)]
            return declared.goes_first(left, right) or (1 if ages[0] > ages[1] else -1)

        return (cmp_to_key(compare)(name),)

    def in_turn_for(self, draft: Draft, pod: Pod, pods: Any) -> list[Pod]:
        """Which of some pods may be proposed as victims, first to go first."""
        self.asker = draft.group.queue
        return super().in_turn_for(draft, pod, pods)

    def queues_last_first(self, candidates: Sequence[Pod]) -> list[str]:
        """The queues of some pods: those that share most ancestors with the beneficiary's first."""
        declared = self.declared()
        mine = declared.above(self.asker)
        last_first = super().queues_last_first(candidates)
        return sorted(last_first, key=lambda name: -len(set(declared.above(name)) & set(mine)))


@dataclass(frozen=True)
class Branched(Crowded):
    """A crowded cluster whose queues are in branches."""

    levels: int = 0

    @property
    def arguments(self) -> dict[str, Mapping[str, Any]]:
        """Arguments by plugin and action."""
        return {**super().arguments, "capacity": {LEVELS: self.levels}}

    @property
    def configured(self) -> tuple[tuple[Any, ...], ...]:
        """The tiers with capacity in its hierarchical mode."""
        entry = {"name": "capacity", "enableHierarchy": True}
        return tuple(tuple(entry if each == "capacity" else each for each in tier) for tier in self.tiers)


def branched(chance: Random) -> Branched:
    """Make a case: the queues of a crowded cluster stand below two departments, or right below the root."""
    each = next(made for made in iter(lambda: crowded(chance), None) if any("capacity" in tier for tier in made.tiers))
    scenario = each.scenario
    above = ["", "east", "west", "east"]
    objects = [
        {**made, "spec": {**made["spec"], "parent": chance.choice(above)}} if made["kind"] == "Queue" else made
        for made in scenario.objects
    ]
    taken = {made["spec"]["parent"] for made in objects if made["kind"] == "Queue"} - {""}
    scenario = replace(scenario, objects=tuple(objects)).queue("root")
    for name in sorted(taken):
        scenario = scenario.queue(
            name,
            priority=chance.choice([0, 0, 3]),
            deserved=chance.choice(DESERVED),
            capability=chance.choice(CAPABILITIES),
            guarantee=chance.choice([None, None, {"cpu": 1}]),
        )
    return Branched(scenario, each.tiers, each.actions, each.least_harm, each.whole, chance.randint(0, 2))
