"""Relations: affinity, anti-affinity and order of a job's roles."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

__all__ = ["AFFINITY", "ANTI_AFFINITY", "ORDER", "Relations", "RelationsError", "read_relations"]

AFFINITY: Final = "volcano.sh/task-topology-affinity"
ANTI_AFFINITY: Final = "volcano.sh/task-topology-anti-affinity"
ORDER: Final = "volcano.sh/task-topology-task-order"
Groups = Sequence[Sequence[str]]
Pairs = frozenset[tuple[str, str]]


class RelationsError(ValueError):
    """The annotations name an unknown role, or a role twice."""


class Rank(IntEnum):
    """Strength of a kind of relation, strongest last."""

    APART_FROM_OTHERS = 1
    WITH_ITSELF = 2
    WITH_OTHERS = 3
    APART_FROM_ITSELF = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Relations:
    """Relations from the annotations of one job."""

    together: Pairs
    """Pairs of roles with affinity, in both directions; a role with itself means self affinity."""
    apart: Pairs
    """Pairs of roles with anti-affinity."""
    ranks: Mapping[str, int]
    """The strongest relation of each role."""
    places: Mapping[str, int]
    """Position of each role in the order; the first role has the highest number."""

    def affinity(self, role: str, other: str) -> int:
        """Return the contribution of a task of another role to the attraction of a bucket: 1, 0 or -1."""
        return ((role, other) in self.together) - ((role, other) in self.apart)

    def urgency(self, role: str) -> tuple[int, int]:
        """Return a sort key: roles that come first have smaller keys."""
        return -self.places.get(role, 0), -self.ranks.get(role, 0)


def read_relations(annotations: Mapping[str, str], roles: Collection[str], job: str) -> Relations | None:
    """Parse the annotations of a PodGroup; None if it has none of them.

    Args:
        annotations: Annotations of the PodGroup.
        roles: Roles of the job's tasks.
        job: `namespace/name`, for messages.

    Raises:
        RelationsError: A role is unknown, or repeated in a group.
    """
    if not any(key in annotations for key in (AFFINITY, ANTI_AFFINITY, ORDER)):
        return None
    together, apart = groups_of(annotations.get(AFFINITY)), groups_of(annotations.get(ANTI_AFFINITY))
    order = annotations[ORDER].split(",") if ORDER in annotations else []
    for group in (*together, *apart, order):
        _check(group, roles, job)
    return Relations(
        together=_pairs(together),
        apart=_pairs(apart),
        ranks=_ranks(together, apart),
        # A repeated empty name has no tasks, so its position does not matter.
        places={role: len(order) - index for index, role in enumerate(order)},
    )


def groups_of(text: str | None) -> Groups:
    """Split `a,b;c` into groups of roles. Empty names are preserved."""
    return [] if text is None else [group.split(",") for group in text.split(";")]


def _check(group: Sequence[str], roles: Collection[str], job: str) -> None:
    named = [role for role in group if role]
    for index, role in enumerate(named):
        if role not in roles:
            raise RelationsError(f"task {role} do not exist in job <{job}>")
        if role in named[:index]:
            raise RelationsError(f"task {role} is duplicate in job <{job}>")


def _pairs(groups: Groups) -> Pairs:
    alone = {(group[0], group[0]) for group in groups if len(group) == 1}
    others = {(role, other) for group in groups for role in group for other in group if role != other}
    return frozenset(alone | others)


def _ranks(together: Groups, apart: Groups) -> dict[str, int]:
    ranks: dict[str, int] = {}
    kinds = ((together, Rank.WITH_ITSELF, Rank.WITH_OTHERS), (apart, Rank.APART_FROM_ITSELF, Rank.APART_FROM_OTHERS))
    for groups, alone, others in kinds:
        for group in groups:
            rank = alone if len(group) == 1 else others
            ranks.update({role: max(rank, ranks.get(role, 0)) for role in group})
    return ranks
