"""Close domains, node by node: what docs/plugins/network-topology-aware.md says of nodes, spelled out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pyroclast.model import wire

__all__ = ["PlainSite", "plain_site"]

ROOT = ""


@dataclass
class PlainSite:
    """Nodes, and the HyperNodes around them."""

    nodes: Sequence[str]
    tier: dict[str, int] = field(default_factory=dict)
    """Tier of each HyperNode, by name."""
    parent: dict[str, str] = field(default_factory=dict)
    """The HyperNode around each HyperNode, where there is one."""
    members: dict[str, list[str]] = field(default_factory=dict)
    """Nodes right inside each HyperNode."""

    def objects(self) -> list[wire.HyperNode]:
        """The HyperNodes as objects."""
        return [
            wire.HyperNode(
                metadata=wire.ObjectMeta(name=name, uid=name),
                spec=wire.HyperNodeSpec(
                    tier=tier,
                    members=(
                        *(_member("Node", each) for each in self.members[name]),
                        *(_member("HyperNode", child) for child, around in self.parent.items() if around == name),
                    ),
                ),
            )
            for name, tier in self.tier.items()
        ]

    def tiers(self) -> list[int]:
        """All tiers, the root's last."""
        known = sorted(set(self.tier.values()))
        return [*known, (known[-1] if known else 0) + 1]

    def tier_of(self, domain: str) -> int:
        """The tier of a domain."""
        return self.tiers()[-1] if domain == ROOT else self.tier[domain]

    def inside(self, domain: str) -> set[str]:
        """All nodes of a domain."""
        if domain == ROOT:
            return set(self.nodes)
        children = [child for child, around in self.parent.items() if around == domain]
        return set(self.members[domain]).union(*(self.inside(child) for child in children))

    def at_tier(self, tier: int, node: str) -> str | None:
        """The domain of a tier around a node."""
        domains = [*sorted(self.tier), ROOT]
        return next((each for each in domains if self.tier_of(each) == tier and node in self.inside(each)), None)

    def around(self, domain: str) -> list[str]:
        """A domain and all those around it, inner ones first."""
        chain = [domain]
        while chain[-1] != ROOT:
            chain.append(self.parent.get(chain[-1], ROOT))
        return chain

    def innermost(self, nodes: Collection[str]) -> str | None:
        """The lowest domain around some nodes."""
        if not nodes:
            return None
        domains = sorted([*self.tier, ROOT], key=lambda each: (self.tier_of(each), each))
        return next(each for each in domains if set(nodes) <= self.inside(each))

    def closeness(self, candidates: Sequence[str], placed: Sequence[str], size: int) -> dict[str, float]:
        """Score candidates for a task of a sub-job of so many tasks, some of which are placed, from 0 to 1 and more."""
        held = self.innermost(set(placed))
        if held is None:
            return dict.fromkeys(candidates, 0.0)
        tiers = self.tiers()
        leaves = {node: self.at_tier(tiers[0], node) for node in candidates}
        scores = {}
        for node, leaf in leaves.items():
            if leaf is None:
                scores[node] = 0.0
            elif leaf == held or tiers[0] == tiers[-1]:
                scores[node] = 1.0
            else:
                common = next(each for each in self.around(held) if each in self.around(leaf))
                scores[node] = (tiers[-1] - self.tier_of(common)) / (tiers[-1] - tiers[0])
        closest = [node for node in candidates if scores[node] == max(scores.values())]
        for node in closest if len(closest) > 1 else ():
            leaf = leaves[node]
            if leaf is not None:
                scores[node] += sum(each in self.inside(leaf) for each in placed) / size
        return scores

    def fullness(
        self,
        domain: str,
        *,
        request: Mapping[str, int],
        used: Mapping[str, Mapping[str, int]],
        offered: Mapping[str, Mapping[str, int]],
        weights: Mapping[str, int],
    ) -> float:
        """How full a domain would be with a request more, from 0 to 1; 0 where it would be overfull."""
        total = 0.0
        counted = {name: weight for name, weight in weights.items() if request.get(name)}
        for name, weight in counted.items():
            after = request[name] + sum(used[node].get(name, 0) for node in self.inside(domain))
            most = sum(offered[node].get(name, 0) for node in self.inside(domain))
            if after > most:
                return 0.0
            total += weight * (after / most) if most else 0.0
        return total / sum(counted.values()) if sum(counted.values()) else 0.0

    def packing(
        self,
        candidates: Sequence[str],
        *,
        request: Mapping[str, int],
        used: Mapping[str, Mapping[str, int]],
        offered: Mapping[str, Mapping[str, int]],
        weights: Mapping[str, int],
        fading: float,
    ) -> dict[str, float]:
        """Score candidates for a task without a topology, from 0 to 1."""

        def fullness(domain: str) -> float:
            return self.fullness(domain, request=request, used=used, offered=offered, weights=weights)

        tiers = range(self.tiers()[0], self.tiers()[-1] + 1)
        say = {tier: fading ** (tier - 1) for tier in tiers}
        scores = {}
        for node in candidates:
            domains = {tier: self.at_tier(tier, node) for tier in tiers}
            parts = {tier: 1.0 if domain is None else fullness(domain) for tier, domain in domains.items()}
            scores[node] = (
                sum(say[tier] * parts[tier] for tier in tiers) / sum(say.values()) if sum(say.values()) else 0.0
            )
        return scores


def _member(kind: str, name: str) -> wire.MemberSpec:
    selector = wire.MemberSelector(exact_match=wire.ExactMatch(name=name))
    return wire.MemberSpec(type=kind, selector=selector)


def plain_site(chance: Random) -> PlainSite:
    """Draw a tree of one to three tiers, some of them skipped, with nodes and racks outside of it."""
    site = PlainSite([f"n{number}" for number in range(chance.randint(2, 9))])
    numbers = sorted(chance.sample([1, 2, 3, 4], chance.randint(1, 3)))
    racks = [f"a{number}" for number in range(chance.randint(1, 4))]
    for name in racks:
        site.tier[name], site.members[name] = numbers[0], []
    for node in site.nodes:
        if chance.random() < 0.85:
            site.members[chance.choice(racks)].append(node)
    below = racks
    for level, tier in enumerate(numbers[1:], start=1):
        names = [f"{'abc'[level]}{number}" for number in range(chance.randint(1, 2))]
        for name in names:
            site.tier[name], site.members[name] = tier, []
        for child in below:
            if chance.random() < 0.85:
                site.parent[child] = chance.choice(names)
        below = names
    return site
