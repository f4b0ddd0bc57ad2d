"""Gang: settings of one set of pods that are scheduled together."""

from dataclasses import dataclass

import msgspec

from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs.gathering import Gathering
from pyroclast.model.gangs.names import ONCE_SATISFIED

__all__ = ["Gang", "GangRules"]


class GangRules(msgspec.Struct, frozen=True, kw_only=True):
    """Defaults of gangs."""

    match_policy: str = ONCE_SATISFIED
    waiting_seconds: float = 600.0
    longest_wait_seconds: float = 3600.0
    """Maximum waiting time."""
    keeps_places: bool = True
    """Whether members of NonStrict gangs keep their nodes while they wait."""
    gathers: bool = False
    """Whether gangs are gathered by network topology."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """One parsed gang."""

    id: str
    """`namespace/name`."""
    group: tuple[str, ...]
    """Ids of the gangs that are scheduled together, including its own, sorted."""
    minimum: int
    """Members that must come together."""
    total: int
    """Expected number of members. Informational."""
    mode: str
    """`Strict` or `NonStrict`."""
    match_policy: str
    waiting_seconds: float
    """Time that members wait for each other."""
    created: str
    """Creation of its pod group, else of its first member, as the server writes times."""
    fault: str = ""
    """Reason why the gang cannot be used; empty if it can."""
    gathering: Gathering | None = None
    """How close its pods must be in the network; None without a constraint."""
    notes: tuple[ObjectError, ...] = ()
    """Fields that cannot be parsed, with their object and the value used instead."""
