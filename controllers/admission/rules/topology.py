"""Rules for `networkTopology`, for jobs, partitions and pod groups."""

from collections.abc import Iterator

from pyroclast.controllers.admission.faults import Fault
from pyroclast.model import group_notes
from pyroclast.model.api.scheduling import NetworkTopologySpec

__all__ = ["topology_faults"]


def topology_faults(topology: NetworkTopologySpec | None, field: str, *, of: str = "") -> Iterator[Fault]:
    """Find two tiers where one is permitted, and unknown modes.

    Args:
        topology: The network topology, if there is one.
        field: Path of the object.
        of: Words before the rule, such as the name of a sub-group.
    """
    for path, message in group_notes.topology_faults(topology, field):
        yield Fault(field=path, rule=f"{of}{message}")
    if topology is not None and topology.highest_tier_allowed is not None and topology.highest_tier_name:
        yield Fault(
            field=field,
            value={"highestTierAllowed": topology.highest_tier_allowed, "highestTierName": topology.highest_tier_name},
            expected="one of the two",
            rule=f"{of}must not specify 'highestTierAllowed' and 'highestTierName' in networkTopology simultaneously",
        )
