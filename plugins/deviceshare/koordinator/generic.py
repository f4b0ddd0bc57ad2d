"""Devices one by one: best score first; if requested, near other devices first.

Example: devices 1 and 2 are at PCIe switch A, 5 and 6 at B. Near A and B the order is 1, 5, 2, 6, then the others. With
a score of 10 for 5 and of 50 for 6 it is 6, 1, 5, 2.
"""

from collections.abc import Collection, Sequence

from pyroclast.model.devices.cards import Instance, Use
from pyroclast.model.devices.koordinator.layout import DeviceAmounts
from pyroclast.plugins.deviceshare.koordinator.free import Free
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.scoring import Scoring

__all__ = ["amounts_of", "one_by_one", "score_of"]


def one_by_one(free: Free, need: Need, scoring: Scoring, near: Collection[str] = ()) -> tuple[Use, ...] | None:
    """Return devices for a need; None if there are too few.

    Args:
        free: Free amounts of the node's devices.
        need: The need.
        scoring: Scores devices.
        near: PCIe switches. One device at each of them is chosen if possible, even if that is more than needed.
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
    """Return the amounts that an allocation takes. An unspecified amount counts as 0."""
    return tuple(amount or 0 for amount in each)


def _order(free: Free, need: Need, scoring: Scoring, near: Collection[str]) -> Sequence[int]:
    """Return candidates, the best first. Positions ascend with device numbers."""
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
    """Return the free virtual function with the smallest address in the groups that the pod selects."""
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
