"""Exclusiveness: pods that match the same rule do not share a card.

A rule is a mapping of labels; a pod with all of them matches. Pods that match different rules may share a card. A pod
that matches a rule may share a card with pods that match none.
"""

from collections.abc import Mapping

from pyroclast.model.devices.cards import Shelf
from pyroclast.plugins.deviceshare.arguments import Rules

__all__ = ["matching", "reserved", "spread_out"]


def matching(rules: Rules, labels: Mapping[str, str]) -> frozenset[int]:
    """Return the numbers of the rules that labels match."""
    return frozenset(
        number for number, rule in enumerate(rules) if all(labels.get(label) == value for label, value in rule.items())
    )


def reserved(shelf: Shelf, rules: frozenset[int]) -> set[int]:
    """Return the cards on which a pod that matches one of the rules has a part."""
    return {use.card for holder in shelf.holders.values() if holder.rules & rules for use in holder.uses}


def spread_out(shelf: Shelf, group: str) -> set[int]:
    """Return the cards on which a pod of a group has a part."""
    return {
        use.card
        for holder in shelf.holders.values()
        if holder.group == group
        for use in holder.uses
        if use.memory or use.cores
    }
