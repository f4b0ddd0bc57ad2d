"""Carried state: the part of the cluster state that no object holds.

The objects and the carried state together restore the cluster state. Records contain it, so its field names are a file
format.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyroclast.cache.assumptions import AssumedClaim, Assumption
from pyroclast.model.gangs import GangRules
from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.jobs import Departed
from pyroclast.model.resources import Amounts
from pyroclast.model.usage import NodeUsage

__all__ = ["CarriedState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedState:
    """The carried state of one moment; sets are sorted."""

    generation: int
    """Number of changes so far."""
    assumed: Mapping[TaskId, Assumption]
    broken_gangs: tuple[JobId, ...]
    kept: tuple[TaskId, ...]
    """Pods whose eviction a disruption budget refused."""
    usage: Mapping[NodeName, NodeUsage]
    gang_rules: GangRules | None
    satisfied: tuple[tuple[str, ...], ...]
    """Gang groups with a member that was ever bound, by the ids of their gangs."""
    departed: Mapping[JobId, Departed]
    elsewhere: Mapping[NodeName, Amounts]
    """What the nodes in other parts of the hash ring offer."""
    claims: Mapping[str, AssumedClaim]
    """Resource claims that plans allocated or reserved, by key."""
