"""HyperNodes of a case: its objects, or, where those are not all there, objects made from its tables."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["hyper_nodes"]


def hyper_nodes(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return HyperNode objects.

    Args:
        value: A list of objects, or a mapping with `objects`, and with `byTier` (names by tier), `realNodes` (nodes by
            name) and `objectsIncomplete`, which says that the tables alone hold true.
    """
    if not value:
        return ()
    if not isinstance(value, Mapping):
        return [{"kind": "HyperNode", **each} for each in value]
    objects = [{"kind": "HyperNode", **each} for each in value.get("objects") or ()]
    if not value.get("objectsIncomplete"):
        return objects
    return _from_tables(value.get("byTier") or {}, value.get("realNodes") or {}, _tier_names(objects))


def _tier_names(objects: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
    specs = (each.get("spec") or {} for each in objects)
    return {int(spec.get("tier", 0)): spec["tierName"] for spec in specs if spec.get("tierName")}


def _from_tables(
    by_tier: Mapping[str, Sequence[str]], real_nodes: Mapping[str, Sequence[str]], tier_names: Mapping[int, str]
) -> list[Mapping[str, Any]]:
    """Make a tree: a domain's members are the largest domains of lower tiers inside it, then nodes in none of them."""
    tiers = {name: int(tier) for tier, names in by_tier.items() for name in names}
    inside = {name: frozenset(real_nodes.get(name, ())) for name in tiers}
    made: list[Mapping[str, Any]] = []
    for name, tier in sorted(tiers.items(), key=lambda item: (item[1], item[0])):
        lower = [each for each in tiers if tiers[each] < tier and inside[each] and inside[each] <= inside[name]]
        children = sorted(
            each
            for each in lower
            if not any(tiers[other] > tiers[each] and inside[each] <= inside[other] for other in lower)
        )
        loose = sorted(inside[name].difference(*(inside[each] for each in children)))
        members = [_member("HyperNode", each) for each in children] + [_member("Node", each) for each in loose]
        spec = {"tier": tier, "tierName": tier_names.get(tier, ""), "members": members}
        made.append({"kind": "HyperNode", "metadata": {"name": name}, "spec": spec})
    return made


def _member(kind: str, name: str) -> Mapping[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}
