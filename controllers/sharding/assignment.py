"""Assignment of nodes to shards, by Volcano's policies.

The shards choose one after the other, in the order of the settings, among the nodes that are left. Each filters the
nodes by CPU, sorts them by their scores, the best first, and takes as many as its limits permit. Nodes of equal score
are in the order of their names.

    score = sum of weight * (used CPU - minimum) / (maximum - minimum) + sum of the weights of labels that the node has
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["CpuRange", "NodeLimit", "Shard", "ShardNode", "Warmup", "assigned", "is_due"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuRange:
    """Policy `allocation-rate`: nodes whose requested CPU is in a range of their capacity, hundredths."""

    minimum: int = 0
    maximum: int = 100
    weight: int = 1

    def score(self, node: "ShardNode") -> Fraction:
        """Return the place of a node in the range, 0 to 1."""
        if self.maximum == self.minimum:
            return Fraction(1)
        return Fraction(node.used_percent - self.minimum, self.maximum - self.minimum)


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmup:
    """Policy `warmup`: nodes with a label come first."""

    label: str = "node.volcano.sh/warmup"
    value: str = "true"
    weight: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLimit:
    """Policy `node-limit`: the number of nodes. The minimum has no effect, as in Volcano."""

    minimum: int = 0
    maximum: int = 0
    """0 for no maximum."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Policies of one shard."""

    name: str
    ranges: tuple[CpuRange, ...] = ()
    warmups: tuple[Warmup, ...] = ()
    limits: tuple[NodeLimit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardNode:
    """A node as the policies see it."""

    name: str
    labels: Mapping[str, str]
    used_percent: int
    """CPU requests of its pods in hundredths of its capacity, 0 to 100."""


def assigned(shards: Iterable[Shard], nodes: Iterable[ShardNode]) -> dict[str, tuple[str, ...]]:
    """Return the nodes of each shard, sorted. A node is in at most one shard."""
    left = sorted(nodes, key=lambda node: node.name)
    found: dict[str, tuple[str, ...]] = {}
    for shard in shards:
        chosen = _chosen(shard, left)
        found[shard.name] = tuple(sorted(node.name for node in chosen))
        taken = frozenset(found[shard.name])
        left = [node for node in left if node.name not in taken]
    return found


def _chosen(shard: Shard, nodes: Sequence[ShardNode]) -> Sequence[ShardNode]:
    candidates = [
        node for node in nodes if all(each.minimum <= node.used_percent <= each.maximum for each in shard.ranges)
    ]
    candidates.sort(key=lambda node: -_score(shard, node))
    for limit in shard.limits:
        if limit.maximum:
            candidates = candidates[: limit.maximum]
    return candidates


def _score(shard: Shard, node: ShardNode) -> Fraction:
    places = sum((each.weight * each.score(node) for each in shard.ranges), Fraction(0))
    return places + sum(each.weight for each in shard.warmups if node.labels.get(each.label) == each.value)


def is_due(current: Mapping[str, Iterable[str]], desired: Mapping[str, Sequence[str]], nodes: Iterable[str]) -> bool:
    """Return whether shards change enough to be written.

    A shard is missing, has another number of nodes or a node that is gone, or gets a tenth of its nodes, at least one.
    Smaller changes wait, because each one moves nodes between schedulers.
    """
    existing = frozenset(nodes)
    for name, assignment in desired.items():
        if name not in current:
            return True
        known = frozenset(current[name])
        new = len(frozenset(assignment) - known)
        if len(known) != len(assignment) or known - existing or new >= max(1, len(assignment) // 10):
            return True
    return False
