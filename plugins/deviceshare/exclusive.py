"""Exclusiveness: pods that match the same rule share no card; others share with anybody.

A rule is a mapping of labels, and who carries all of them matches. Pods that match different rules may share a card,
and so may a pod that matches one with pods that match none.
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
    """Return the cards of which somebody holds a part who matches one of some rules."""
    return {use.card for holder in shelf.holders.values() if holder.rules & rules for use in holder.uses}


def spread_out(shelf: Shelf, group: str) -> set[int]:
    """Return the cards of which a pod of a group holds something."""
    return {
        use.card
        for holder in shelf.holders.values()
        if holder.group == group
        for use in holder.uses
        if use.memory or use.cores
    }
