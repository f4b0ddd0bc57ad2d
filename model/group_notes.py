"""Group notes: errors and warnings about the topology and sub-groups of a PodGroup.

Admission, the controllers and the scheduler report them with the same messages.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pyroclast.model import wire
from pyroclast.model.matching.selectors import unreadable

__all__ = ["GroupNote", "selector_faults", "topology_faults", "topology_notes"]

MODES = ("hard", "soft")


class GroupNote(NamedTuple):
    """One error or warning."""

    path: str
    """Field path, as Kubernetes writes it."""
    message: str
    """Message about the field."""

    def __str__(self) -> str:
        """Return path and message in one line."""
        return f"{self.path}: {self.message}"


def topology_faults(topology: wire.NetworkTopologySpec | None, path: str) -> Iterator[GroupNote]:
    """Find modes that there are not."""
    if topology is not None and topology.mode not in MODES:
        yield GroupNote(f"{path}.mode", f"{topology.mode!r} is neither hard nor soft; it counts as hard")


def topology_notes(topology: wire.NetworkTopologySpec | None, path: str) -> Iterator[GroupNote]:
    """Find hard topologies that allow any tier."""
    if topology is None or topology.mode == "soft":
        return
    if topology.highest_tier_allowed is None and not topology.highest_tier_name:
        yield GroupNote(path, "has no effect without highestTierAllowed or highestTierName: pods may be in any domain")


def selector_faults(policy: wire.SubGroupPolicySpec, path: str) -> Iterator[GroupNote]:
    """Yield the errors in a sub-group policy that keep it from selecting any pod."""
    if policy.label_selector is not None:
        for inner, message in unreadable(policy.label_selector):
            yield GroupNote(f"{path}.labelSelector.{inner}", message)
    elif not policy.match_label_keys:
        yield GroupNote(path, "has neither labelSelector nor matchLabelKeys; selects no pod")
