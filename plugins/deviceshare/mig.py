"""MIG: cards that hardware cuts into instances.

A card is cut in one way (a group) at a time; a group has so many instances of each kind. A pod is given the smallest
free instance with enough memory: in the group that is in use, else in the first group that has one. A card on which
nothing is left in use may be cut anew.

Example: of group `g` with 3 of 2g.10gb and 1 of 1g.5gb, positions 0 to 2 are of the first kind and 3 of the second.
"""

from collections.abc import Sequence

from pyroclast.model.devices.cards import Instance
from pyroclast.model.devices.settings import Group, Kind

__all__ = ["kind_at", "pick"]


def pick(groups: Sequence[Group], taken: Sequence[Instance], megabytes: int) -> tuple[Instance, Kind] | None:
    """Return an instance for so much memory, and its kind; None where there is none, or what is taken makes no sense.

    Args:
        groups: The ways in which the card can be cut.
        taken: The instances in use.
        megabytes: What is needed.
    """
    if not taken:
        return next(filter(None, (_pick_in(group, frozenset(), megabytes) for group in groups)), None)
    in_use = {name for name, _ in taken}
    group = next((each for each in groups if each.name in in_use), None)
    if group is None or len(in_use) > 1 or any(kind_at(groups, each) is None for each in taken):
        return None  # told by somebody else's hand: nobody knows what is free
    return _pick_in(group, frozenset(position for _, position in taken), megabytes)


def kind_at(groups: Sequence[Group], instance: Instance) -> Kind | None:
    """Return the kind of an instance; None where there is no such instance."""
    name, position = instance
    for kind in next((group.kinds for group in groups if group.name == name), ()):
        if position < kind.count:
            return kind
        position -= kind.count
    return None


def _pick_in(group: Group, taken: frozenset[int], megabytes: int) -> tuple[Instance, Kind] | None:
    begins = [sum(kind.count for kind in group.kinds[:number]) for number in range(len(group.kinds))]
    for begin, kind in sorted(zip(begins, group.kinds, strict=True), key=lambda pair: pair[1].memory):
        if kind.memory >= megabytes:
            free = next((each for each in range(begin, begin + kind.count) if each not in taken), None)
            if free is not None:
                return (group.name, free), kind
    return None
