"""Gang: what is said of one set of pods that must come together."""

from dataclasses import dataclass

import msgspec

from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs.names import ONCE_SATISFIED

__all__ = ["Gang", "GangRules"]


class GangRules(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for gangs that say nothing of it."""

    match_policy: str = ONCE_SATISFIED
    waiting_seconds: float = 600.0
    longest_wait_seconds: float = 3600.0
    """Most that counts of a waiting time."""
    keeps_places: bool = True
    """Whether members of NonStrict gangs keep the nodes that they found while they wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """One gang, read."""

    id: str
    """`namespace/name`."""
    group: tuple[str, ...]
    """Ids of the gangs that must come together, itself among them, sorted."""
    minimum: int
    """Members that must come together."""
    total: int
    """Members that there will be; decides nothing."""
    mode: str
    """`Strict` or `NonStrict`."""
    match_policy: str
    waiting_seconds: float
    """How long members wait for each other."""
    created: str
    """Creation of its pod group, else of its first member, as the server writes times."""
    fault: str = ""
    """Why it cannot be used; empty where it can."""
    notes: tuple[ObjectError, ...] = ()
    """What could not be read, with the object where it stands and what holds in its place."""
