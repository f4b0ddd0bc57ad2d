"""Carried state: the part of the cluster state that no object holds; with the objects it restores the same state."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyroclast.cache.assumptions import Assumption
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.jobs import Departed
from pyroclast.model.resources import Amounts
from pyroclast.model.usage import NodeUsage

__all__ = ["CarriedState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedState:
    """A state at one moment; sets are sorted."""

    generation: int
    """Number of changes so far."""
    assumed: Mapping[TaskId, Assumption]
    broken_gangs: tuple[JobId, ...]
    kept: tuple[TaskId, ...]
    """Pods that a disruption budget kept from eviction."""
    usage: Mapping[NodeName, NodeUsage]
    gang_rules: GangRules | None
    satisfied: tuple[tuple[str, ...], ...]
    """Groups of gangs of which a member was ever bound, by the ids of their gangs."""
    departed: Mapping[JobId, Departed]
    elsewhere: Mapping[NodeName, Amounts]
    """Nodes of another part of the ring, and what they offer."""
