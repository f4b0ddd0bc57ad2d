"""HyperNodes as objects, with members by name."""

from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["hyper_node", "rack"]


def hyper_node(name: str, tier: int, kind: str, members: Iterable[str], *, tier_name: str = "") -> Mapping[str, Any]:
    """A HyperNode of some tier, whose members are nodes or HyperNodes."""
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": tier,
            **({"tierName": tier_name} if tier_name else {}),
            "members": [{"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members],
        },
    }


def rack(name: str, *nodes: str) -> Mapping[str, Any]:
    """A HyperNode of the lowest tier."""
    return hyper_node(name, 1, "Node", nodes)
