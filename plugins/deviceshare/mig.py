"""MIG: cards that the hardware divides into instances.

A card is divided in one way (a group) at a time; a group has a number of instances of each kind. A pod gets the
smallest free instance with enough memory, in the group in use or else in the first group that has one. A card without
used instances can be divided again. Example: in group `g` with 3 of 2g.10gb and 1 of 1g.5gb, positions 0 to 2 are of
the first kind and 3 of the second.
"""

from collections.abc import Sequence

from pyroclast.model.devices.cards import Instance
from pyroclast.model.devices.settings import Group, Kind

__all__ = ["kind_at", "pick"]


def pick(groups: Sequence[Group], taken: Sequence[Instance], megabytes: int) -> tuple[Instance, Kind] | None:
    """Return an instance with enough memory and its kind; None if there is none or the used instances are inconsistent.

    Args:
        groups: Possible divisions of the card.
        taken: Used instances.
        megabytes: Required memory.
    """
    if not taken:
        return next(filter(None, (_pick_in(group, frozenset(), megabytes) for group in groups)), None)
    in_use = {name for name, _ in taken}
    group = next((each for each in groups if each.name in in_use), None)
    if group is None or len(in_use) > 1 or any(kind_at(groups, each) is None for each in taken):
        return None  # written by another program: the free instances are unknown
    return _pick_in(group, frozenset(position for _, position in taken), megabytes)


def kind_at(groups: Sequence[Group], instance: Instance) -> Kind | None:
    """Return the kind of an instance; None if there is no such instance."""
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
