"""HyperNodes of a case: its objects or, if they are incomplete, objects made from its tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyroclast.scheduler.simulation.fields import CaseError, items_of, object_of, objects_of, whole_of

__all__ = ["hyper_nodes"]


def hyper_nodes(value: Any) -> Sequence[Mapping[str, Any]]:
    """Return HyperNode objects.

    Args:
        value: A list of objects, or a mapping with `objects`, `byTier` (names by tier), `realNodes` (nodes by name) and
            `objectsIncomplete`; if this is set, only the tables count.

    Raises:
        CaseError: A field has an unexpected value.
    """
    if not isinstance(value, Mapping):
        return _named(objects_of(value, "hyperNodes"))
    objects = objects_of(value.get("objects"), "hyperNodes.objects")
    if not value.get("objectsIncomplete"):
        return _named(objects)
    tiers = _table(value, "byTier")
    tier_of = {name: _tier(tier, "hyperNodes.byTier") for tier, names in tiers.items() for name in names}
    return _from_tables(tier_of, _table(value, "realNodes"), _tier_names(objects))


def _named(objects: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [{"kind": "HyperNode", **each} for each in objects]


def _table(value: Mapping[str, Any], key: str) -> Mapping[str, Sequence[str]]:
    """Return a table of names by key."""
    path = f"hyperNodes.{key}"
    rows = value.get(key)
    table = {} if rows is None else object_of(rows, path)
    return {key: [str(name) for name in items_of(names, f"{path}.{key}")] for key, names in table.items()}


def _tier(text: str, path: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise CaseError(f"{path}: expected a whole number, got {text!r}") from None


def _tier_names(objects: Sequence[Mapping[str, Any]]) -> Mapping[int, str]:
    """Return the tier names of the objects."""
    names = {}
    for index, each in enumerate(objects):
        path = f"hyperNodes.objects[{index}].spec"
        spec = object_of(each.get("spec", {}), path)
        if spec.get("tierName"):
            names[whole_of(spec.get("tier", 0), f"{path}.tier")] = str(spec["tierName"])
    return names


def _from_tables(
    tiers: Mapping[str, int], real_nodes: Mapping[str, Sequence[str]], tier_names: Mapping[int, str]
) -> list[Mapping[str, Any]]:
    """Build a tree. The members of a domain are the largest lower domains inside it, then the remaining nodes."""
    inside = {name: frozenset(real_nodes.get(name, ())) for name in tiers}
    made: list[Mapping[str, Any]] = []
    for name, tier in sorted(tiers.items(), key=lambda item: (item[1], item[0])):
        lower = [each for each in tiers if tiers[each] < tier and inside[each] and inside[each] <= inside[name]]
        children = sorted(
            each
            for each in lower
            if not any(tiers[other] > tiers[each] and inside[each] <= inside[other] for other in lower)
        )
        own_nodes = sorted(inside[name].difference(*(inside[each] for each in children)))
        members = [_member("HyperNode", each) for each in children] + [_member("Node", each) for each in own_nodes]
        spec = {"tier": tier, "tierName": tier_names.get(tier, ""), "members": members}
        made.append({"kind": "HyperNode", "metadata": {"name": name}, "spec": spec})
    return made


def _member(kind: str, name: str) -> Mapping[str, Any]:
    return {"type": kind, "selector": {"exactMatch": {"name": name}}}
