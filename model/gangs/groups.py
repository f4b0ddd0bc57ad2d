"""Groups: gangs that wait for each other. Whether all are there, and what each needs, by its members as they are.

A group's job holds its gangs as roles, each with a minimum. Members that need not wait for anybody while others of
their group must are in a job of their own, the free one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from model.gangs.gang import Gang
from model.gangs.identity import group_id
from model.gangs.names import NON_STRICT

__all__ = ["GangGroup", "lacking", "least"]

_MOST_NAMED: Final = 8
"""Gangs that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangGroup:
    """The gangs of one job."""

    id: str
    """Ids of all gangs of the group, sorted, with commas."""
    gangs: tuple[Gang, ...]
    """Those that say they are of it, in the order of their ids."""
    refusal: str
    """Why none of the members may be placed, in words; empty where they may."""
    waits: bool
    """Whether members wait for each other; else each is for itself."""
    is_patient: bool
    """Whether members keep the nodes that they found, each for the waiting time of its gang, while others lack."""

    def goes_on(self, gang_id: str) -> bool:
        """Tell whether other members of a gang are tried after one found no node."""
        return not self.waits or any(gang.id == gang_id and gang.mode == NON_STRICT for gang in self.gangs)

    def patience(self, gang_id: str) -> float:
        """Return for how many seconds members of a gang keep a node."""
        return next(gang.waiting_seconds for gang in self.gangs if gang.id == gang_id)


def least(gang: Gang, ready: int, *, waits: bool) -> int:
    """Return how many members of a gang a job needs.

    Those that need not wait for each other hold what runs of them, up to the minimum: no newcomer waits, and nobody is
    evicted alone whom the minimum needs.
    """
    return gang.minimum if waits else min(gang.minimum, ready)


def lacking(group: Sequence[str], gangs: Mapping[str, Gang], sizes: Mapping[str, int]) -> str:
    """Say which gangs of a group are missing, cannot be used, or have too few members; empty where none.

    Args:
        group: Ids of its gangs, sorted.
        gangs: All gangs there are.
        sizes: How many members they have that have not ended.
    """
    faults = [fault for each in group if (fault := _fault_of(each, group, gangs, sizes))]
    if not faults:
        return ""
    more = f" and {len(faults) - _MOST_NAMED} more" if len(faults) > _MOST_NAMED else ""
    what = "gang" if len(group) == 1 else "gang group"
    return f"the {what} is not complete: {'; '.join(faults[:_MOST_NAMED])}{more}"


def _fault_of(gang_id: str, group: Sequence[str], gangs: Mapping[str, Gang], sizes: Mapping[str, int]) -> str:
    gang = gangs.get(gang_id)
    if gang is None:
        return f"there is no gang {gang_id}"
    if gang.fault:
        return f"gang {gang_id}: {gang.fault}"
    if gang.group != tuple(group):
        return f"gang {gang_id} says it is of another group: {group_id(gang.group)}"
    there = sizes.get(gang_id, 0)
    return f"gang {gang_id} has {there} of {gang.minimum} pods" if there < gang.minimum else ""
