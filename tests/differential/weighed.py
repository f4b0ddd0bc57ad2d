"""Queues at their paths: drf with `enableHierarchy` in whole cycles, the tree of shares made anew at every question."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cmp_to_key
from random import Random
from typing import Any

from tests.differential.cluster import Amounts, Group, Pod
from tests.differential.crowded import Crowded, crowded
from tests.differential.evicting import Evicting
from tests.differential.policy import Key, Rule
from tests.differential.varied import noted
from tests.differential.vetoes import ACTIVE

PATH, WEIGHTS = "volcano.sh/hierarchy", "volcano.sh/hierarchy-weights"
TIERS: tuple[Any, ...] = (
    (("priority", "gang", "conformance"), ("drf", "predicates", "nodeorder")),
    (("drf", "gang", "predicates"),),
    (("gang",), ("drf", "predicates", "binpack")),
)
Sums = Mapping[str, Fraction]


@dataclass
class Branch:
    """A node of the tree, or a job below it."""

    weight: Fraction = Fraction(1)
    children: dict[str, "Branch"] = field(default_factory=dict)
    has: Sums = field(default_factory=dict)
    share: Fraction = Fraction(0)
    is_saturated: bool = False


class Weighed(Evicting):
    """One cycle in which branches of queues have weights."""

    def path(self, queue: str) -> list[str]:
        """Where a queue stands, the root first."""
        written: str = self.cluster.queues[queue].object["metadata"]["annotations"].get(PATH, "")
        return written.split("/")

    def tree(self, more: Mapping[str, Amounts], less: Mapping[str, Amounts]) -> Branch:
        """The shares of all, with something given to some groups and taken from others."""
        root = Branch()
        held = {key: self.held_by(group, more.get(key, {}), less.get(key, {})) for key, group in self.groups().items()}
        total = self.cluster.total
        taken = {name: sum(each.get(name, 0) for each in held.values()) for name in total}
        for key, group in self.groups().items():
            branch = root
            weights = self.cluster.queues[group.queue].object["metadata"]["annotations"].get(WEIGHTS, "").split("/")
            for number, name in enumerate(self.path(group.queue)[1:], start=1):
                weight = max(Fraction(weights[number]), Fraction(1))
                branch = branch.children.setdefault(name, Branch(weight=weight))
            wanted = {name: sum(pod.counted.get(name, 0) for pod in group.pods) for name in total}
            full = any(
                number and wanted.get(name) and (number >= wanted[name] or taken[name] >= total[name])
                for name, number in held[key].items()
            )
            leaf = Branch(has={name: Fraction(number) for name, number in held[key].items()}, is_saturated=full)
            leaf.share = self.share_of(leaf.has)
            branch.children[f"job {key}"] = leaf
        self.add_up(root)
        return root

    def groups(self) -> dict[str, Group]:
        """The groups whose queues are known."""
        return {key: group for key, group in self.cluster.groups.items() if group.queue in self.cluster.queues}

    def held_by(self, group: Group, more: Amounts, less: Amounts) -> Amounts:
        """What a group has."""
        placed = [pod for pod in group.pods if pod.status in (*ACTIVE, "Pipelined")]
        return {
            name: sum(pod.counted.get(name, 0) for pod in placed) + more.get(name, 0) - less.get(name, 0)
            for name in self.cluster.total
        }

    def share_of(self, sums: Sums) -> Fraction:
        """The largest part of what the cluster offers."""
        total = self.cluster.total
        return max(
            (sums.get(name, Fraction(0)) / number for name, number in total.items() if number), default=Fraction(0)
        )

    def add_up(self, branch: Branch) -> None:
        """Shares from the leaves up; who is far ahead counts as much as who has least."""
        inner = [each for name, each in branch.children.items() if not name.startswith("job ")]
        for each in inner:
            self.add_up(each)
        having = [each for each in branch.children.values() if each.share]
        least = min([Fraction(1), *(each.share for each in having if not each.is_saturated)])
        sums: dict[str, Fraction] = {}
        for each in having:
            scale = Fraction(1) if each.is_saturated else least / each.share
            for name, number in each.has.items():
                sums[name] = sums.get(name, Fraction(0)) + number * scale
        branch.has, branch.share = sums, self.share_of(sums)
        branch.is_saturated = all(each.is_saturated for each in branch.children.values())

    def compare(self, root: Branch, left: str, right: str) -> Fraction:
        """Which of two queues goes first: negative for the left one."""
        one = other = root
        for mine, theirs in zip(self.path(left)[1:], self.path(right)[1:], strict=False):
            one, other = one.children.get(mine, Branch()), other.children.get(theirs, Branch())
            if one.is_saturated is not other.is_saturated:
                return Fraction(1 if one.is_saturated else -1)
            if one.share / one.weight != other.share / other.weight:
                return one.share / one.weight - other.share / other.weight
        return Fraction(0)

    def queue_key(self, name: str) -> Key:
        """Queues: as the tree has it, then by age."""
        root = self.tree({}, {})

        def compare(left: str, right: str) -> int:
            order = self.compare(root, left, right)
            return (order > 0) - (order < 0)

        return (cmp_to_key(compare)(name), self.cluster.queues[name].created, name)

    def rules(self, point: str) -> dict[str, Rule]:
        """The tree has a say about reclaim."""
        return super().rules(point) | ({"drf": self.by_tree} if point == "reclaimable" else {})

    def by_tree(self, pod: Pod, candidates: list[Pod]) -> list[Pod]:
        """Pods without which, and with the other one, the other one's queue still goes first."""
        mine = self.group_of(pod)
        return [
            each
            for each in candidates
            if self.compare(
                self.tree({mine.key: pod.counted}, {each.group: each.counted}), mine.queue, self.group_of(each).queue
            )
            < 0
        ]


@dataclass(frozen=True)
class Pathed(Crowded):
    """A crowded cluster whose queues have paths and weights."""

    @property
    def configured(self) -> tuple[tuple[Any, ...], ...]:
        """The tiers with drf in its hierarchical mode."""
        entry = {"name": "drf", "enableHierarchy": True}
        return tuple(tuple(entry if each == "drf" else each for each in tier) for tier in self.tiers)


def pathed(chance: Random) -> Pathed:
    """Make a case: queues at paths, of which some begin alike, one perhaps at none."""
    each = crowded(chance)
    weights = {name: chance.choice(["1", "2", "5", "0.5"]) for name in ("eng", "dev", "prod", "sci")}
    places = {"red": ["eng", "dev"], "green": chance.choice([["eng", "prod"], ["eng"]]), "blue": ["sci"]}

    def write(queue: Any) -> Any:
        place = places[queue["metadata"]["name"]]
        if chance.random() < 0.05:
            return queue
        texts = {PATH: "/".join(["root", *place]), WEIGHTS: "/".join(["1", *(weights[name] for name in place)])}
        return noted(queue, "annotations", texts)

    objects = tuple(write(made) if made["kind"] == "Queue" else made for made in each.scenario.objects)
    scenario = replace(each.scenario, objects=objects)
    return Pathed(scenario, chance.choice(TIERS), each.actions, each.least_harm, each.whole)
