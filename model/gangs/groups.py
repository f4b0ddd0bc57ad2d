"""Groups: gangs that wait for each other. Whether all are there, and what each needs, by its members as they are.

A group's job holds its gangs as roles, each with a minimum. Members that need not wait for anybody while others of
their group must are in a job of their own, the free one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from model.errors import ObjectError
from model.gangs.gang import Gang
from model.gangs.identity import group_id
from model.gangs.names import ONCE_SATISFIED, ONLY_WAITING

__all__ = ["GangGroup", "is_free", "lacking", "least"]

_MOST_NAMED: Final = 8
"""Gangs that a message names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GangGroup:
    """The gangs of one job."""

    id: str
    """Ids of all gangs of the group, sorted, with commas."""
    refusal: str = ""
    """Why none of the members may be placed, in words; empty where they may."""
    waits: bool = True
    """Whether members wait for each other; else each is for itself."""
    trying: frozenset[str] = frozenset()
    """Gangs that go on with their other members after one found no node."""
    patience: Mapping[str, float] = field(default_factory=dict)
    """For how many seconds members keep the nodes that they found while others lack, by gang; empty for no time."""
    notes: tuple[tuple[str, ObjectError], ...] = ()
    """What could not be read, with the gang that said it."""

    def goes_on(self, gang_id: str) -> bool:
        """Tell whether other members of a gang are tried after one found no node."""
        return not self.waits or gang_id in self.trying


def is_free(gang: Gang, group: Sequence[Gang], *, has_node: bool, is_satisfied: bool) -> bool:
    """Tell whether a member is for itself while others of its group must wait for each other.

    Args:
        gang: Its gang.
        group: All gangs of the group.
        has_node: Whether the member is bound.
        is_satisfied: Whether a member of the group was ever bound.
    """
    if gang.match_policy == ONLY_WAITING:
        return has_node
    is_satisfied_once = gang.match_policy == ONCE_SATISFIED and is_satisfied
    return is_satisfied_once and any(each.match_policy != ONCE_SATISFIED for each in group)


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
