"""Devices one by one: those with the best scores first, and those near others first where a pod wants so.

Example: devices 1 and 2 are at PCIe switch A, 5 and 6 at B. Near A and B they are gone through as 1, 5, 2, 6, then the
others; with a score of 10 for 5 and of 50 for 6 as 6, 1, 5, 2.
"""

from collections.abc import Collection, Sequence

from pyroclast.model.devices.cards import Instance, Use
from pyroclast.model.devices.koordinator.layout import DeviceAmounts
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.scoring import Scoring

__all__ = ["amounts_of", "one_by_one", "score_of"]


def one_by_one(free: Free, need: Need, scoring: Scoring, near: Collection[str] = ()) -> tuple[Use, ...] | None:
    """Return devices for a need; None where they are too few.

    Args:
        free: What is left of the devices of the node.
        need: What is needed.
        scoring: Says which go first.
        near: PCIe switches, of each of which one device is taken where it can be, also where more than needed.
    """
    most, uses = max(need.devices, len(near)), list[Use]()
    for position in _order(free, need, scoring, near):
        if not free.fits(position, need.each):
            continue
        function = None
        if need.hint.functions is not None:
            function = _function(free, position, need)
            if function is None:
                continue
        uses.append(Use(position, 0, instance=function, amounts=amounts_of(need.each)))
        if len(uses) == most:
            break
    return tuple(uses) if len(uses) >= need.devices else None


def score_of(free: Free, position: int, need: Need, scoring: Scoring) -> int:
    """Score one device."""
    total, left = free.layout.devices[position].total, free.amounts[position]
    return 0 if total is None or left is None else scoring.score(need.type, need.each, total, left)


def amounts_of(each: DeviceAmounts) -> tuple[int, ...]:
    """Return what is taken of a device: of what is not spoken of, nothing."""
    return tuple(amount or 0 for amount in each)


def _order(free: Free, need: Need, scoring: Scoring, near: Collection[str]) -> Sequence[int]:
    """Return candidates, the best first; positions ascend with the numbers of devices."""
    score = {at: score_of(free, at, need, scoring) for at in need.candidates}
    ordered = sorted(need.candidates, key=lambda at: (-score[at], at))
    if not near:
        return ordered
    turns: dict[int, int] = {}
    taken = dict.fromkeys(near, 0)
    for at in ordered:
        place = free.layout.devices[at].place
        if place is not None and place.pcie in taken:
            turns[at] = taken[place.pcie]
            taken[place.pcie] += 1
    return sorted(ordered, key=lambda at: (turns.get(at, len(ordered)), -score[at], at))


def _function(free: Free, position: int, need: Need) -> Instance | None:
    """Return the free virtual function with the smallest address of the groups that a pod selects."""
    selector, in_use = need.hint.functions, {address for address, _ in free.functions[position]}
    groups = free.layout.devices[position].groups
    return min(
        (
            function
            for group in groups
            if selector is None or selector.matches(dict(group.labels))
            for function in group.functions
            if function[0] not in in_use
        ),
        default=None,
    )
