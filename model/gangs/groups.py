"""Groups: gangs that wait for each other, whether the group is complete, and the minimum of each gang.

A group's job holds its gangs as roles, each with a minimum. If only some members of a group must wait, the others are
in a separate job, the free one.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyroclast.model.gangs.gang import Gang
from pyroclast.model.gangs.gathering import Gathering
from pyroclast.model.gangs.identity import group_id
from pyroclast.model.gangs.names import NON_STRICT
from pyroclast.model.texts import shortened

__all__ = ["GangGroup", "lacking", "least"]

_MOST_NAMED: Final = 8
"""Gangs that a message names."""
_LONGEST: Final = 200
"""Characters of a name in messages; lists in annotations may hold anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangGroup:
    """The gangs of one job."""

    id: str
    """Ids of all gangs of the group, sorted, with commas."""
    gangs: tuple[Gang, ...]
    """Gangs that name this group, in the order of their ids."""
    refusal: str
    """Reason why no member may be placed; empty if members may be placed."""
    waits: bool
    """Whether members wait for each other. Otherwise each member is placed alone."""
    is_patient: bool
    """Whether placed members keep their nodes, for the waiting time of their gang, while others are not placed."""

    @property
    def gathering(self) -> Gathering | None:
        """How close all pods of the job must be in the network: by the first gang that has a constraint."""
        return next((gang.gathering for gang in self.gangs if gang.gathering is not None), None)

    def goes_on(self, gang_id: str) -> bool:
        """Return whether other members of a gang are tried after one found no node."""
        return not self.waits or any(gang.id == gang_id and gang.mode == NON_STRICT for gang in self.gangs)

    def patience(self, gang_id: str) -> float:
        """Return for how many seconds members of a gang keep a node."""
        return next(gang.waiting_seconds for gang in self.gangs if gang.id == gang_id)


def least(gang: Gang, ready: int, *, waits: bool) -> int:
    """Return how many members of a gang a job needs.

    If members need not wait for each other, the number is that of ready members, up to the minimum. New members do not
    wait, and a member that the minimum needs is not evicted alone.
    """
    return gang.minimum if waits else min(gang.minimum, ready)


def lacking(group: Sequence[str], gangs: Mapping[str, Gang], agreed: Collection[str], sizes: Mapping[str, int]) -> str:
    """Return a message naming gangs of a group that are missing, unusable, or too small; empty if there are none.

    Args:
        group: Ids of its gangs, sorted.
        gangs: All gangs there are.
        agreed: Ids of the gangs that name this group.
        sizes: Number of members of each gang that have not ended.
    """
    lack = [
        each for each in group if each not in agreed or gangs[each].fault or sizes.get(each, 0) < gangs[each].minimum
    ]
    if not lack:
        return ""
    faults = "; ".join(
        _fault_of(shortened(each, _LONGEST), gangs.get(each), sizes.get(each, 0), agrees=each in agreed)
        for each in lack[:_MOST_NAMED]
    )
    more = f" and {len(lack) - _MOST_NAMED} more" if len(lack) > _MOST_NAMED else ""
    what = "gang" if len(group) == 1 else "gang group"
    return f"the {what} is not complete: {faults}{more}"


def _fault_of(name: str, gang: Gang | None, size: int, *, agrees: bool) -> str:
    """Return the message about an incomplete gang."""
    if gang is None:
        return f"there is no gang {name}"
    if gang.fault:
        return f"gang {name}: {gang.fault}"
    if not agrees:
        return f"gang {name} names another group: {shortened(group_id(gang.group), _LONGEST)}"
    return f"gang {name} has {size} of {gang.minimum} pods"
