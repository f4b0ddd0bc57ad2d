"""Discovery: HyperNodes from node labels.

The nodes of a rack form a domain of tier 1, the racks of a row one of tier 2.

An existing HyperNode for a label keeps its name, even if Volcano created it. New names are derived from type and label,
so that a repeated discovery has the same result.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.model.api import names
from pyroclast.model.api.topology import HyperNode
from pyroclast.model.wire import Node

__all__ = ["SOURCE", "discovered", "name_prefix"]

SOURCE: Final = "label"
"""Value of the label of discovered HyperNodes."""

_SUFFIX: Final = 5
"""Number of characters that make the names of the domains of a type and tier unique."""
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Letters of Kubernetes' generated names, which form no words."""


@dataclass(slots=True)
class _Domain:
    """The domain of one label value."""

    name: str
    tier: int
    key: str
    value: str
    members: set[str] = field(default_factory=set)


def discovered(
    types: Mapping[str, tuple[str, ...]], nodes: Sequence[Node], existing: Sequence[HyperNode]
) -> list[dict[str, Any]]:
    """Return the desired HyperNodes.

    Args:
        types: Labels by type of network, the narrowest domain first. A label in two types yields one domain with the
            name of the first type.
        nodes: All nodes. A node that lacks a label is not in this domain or the wider ones of the type.
        existing: All HyperNodes, from all sources.
    """
    naming = _Naming(existing)
    domains: dict[tuple[int, str, str], _Domain] = {}
    for type_, keys in types.items():
        for node in nodes:
            member = node.metadata.name
            for tier, key, value in _chain(keys, node.metadata.labels):
                place = (tier, key, value)
                domain = domains.get(place)
                if domain is None:
                    domain = domains[place] = _Domain(naming.name(type_, tier, key, value), tier, key, value)
                domain.members.add(member)
                member = domain.name
    return [_manifest(domain) for domain in sorted(domains.values(), key=lambda domain: domain.name)]


def _chain(keys: Sequence[str], labels: Mapping[str, str]) -> Iterator[tuple[int, str, str]]:
    """Yield the domains of a node, up to the first missing label."""
    for tier, key in enumerate(keys, start=1):
        value = labels.get(key)
        if value is None:
            return
        yield tier, key, value


class _Naming:
    """Names of domains: existing names of a label, or new ones."""

    def __init__(self, existing: Sequence[HyperNode]) -> None:
        self._taken = {hyper_node.metadata.name for hyper_node in existing}
        self._ours: dict[tuple[str, str], list[str]] = {}
        for hyper_node in sorted(existing, key=lambda each: each.metadata.name):
            labels = hyper_node.metadata.labels
            if labels.get(names.NETWORK_TOPOLOGY_SOURCE) == SOURCE:
                for key, value in labels.items():
                    self._ours.setdefault((key, value), []).append(hyper_node.metadata.name)

    def name(self, type_: str, tier: int, key: str, value: str) -> str:
        """Return the name of a domain."""
        prefix = name_prefix(type_, tier)
        in_use = next((name for name in self._ours.get((key, value), ()) if name.startswith(prefix)), None)
        if in_use is not None:
            return in_use
        salt = 0
        while (name := prefix + _suffix(f"{type_}/{tier}/{key}/{value}/{salt}")) in self._taken:
            salt += 1
        self._taken.add(name)
        return name


def name_prefix(type_: str, tier: int) -> str:
    """Return the prefix of the names of a type's and tier's domains."""
    return f"hypernode-{re.sub('[^a-z0-9.-]', '-', type_.lower())}-tier{tier}-"


def _suffix(text: str) -> str:
    number = int.from_bytes(hashlib.sha256(text.encode()).digest())
    return "".join(_LETTERS[number // len(_LETTERS) ** place % len(_LETTERS)] for place in range(_SUFFIX))


def _manifest(domain: _Domain) -> dict[str, Any]:
    type_ = "Node" if domain.tier == 1 else "HyperNode"
    return {
        "metadata": {
            "name": domain.name,
            "labels": {names.NETWORK_TOPOLOGY_SOURCE: SOURCE, domain.key: domain.value},
        },
        "spec": {
            "tier": domain.tier,
            "tierName": domain.key,
            "members": [{"type": type_, "selector": {"exactMatch": {"name": name}}} for name in sorted(domain.members)],
        },
    }
