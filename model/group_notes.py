"""Group notes: what a PodGroup says of topology and sub-groups that cannot be meant, or means less than it seems to.

In the same words wherever it is told: by admission, by the controllers and by the scheduler.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from pyroclast.model import wire
from pyroclast.model.matching.selectors import unreadable

__all__ = ["Note", "Policy", "TopologyAsked", "selector_faults", "topology_faults", "topology_notes"]

MODES = ("hard", "soft")


class Note(NamedTuple):
    """One thing to be told."""

    path: str
    """Where, as Kubernetes writes it."""
    message: str
    """What of it."""

    def __str__(self) -> str:
        """Say all of it in one line."""
        return f"{self.path}: {self.message}"


class TopologyAsked(Protocol):
    """A network topology, as any of its structs."""

    @property
    def mode(self) -> str:
        """How strictly it is meant."""

    @property
    def highest_tier_allowed(self) -> int | None:
        """The highest tier, by number."""

    @property
    def highest_tier_name(self) -> str:
        """The same by name."""


class Policy(Protocol):
    """A policy of sub-groups, as any of its structs."""

    @property
    def label_selector(self) -> wire.LabelSelector | None:
        """Which pods it is about."""

    @property
    def match_label_keys(self) -> Sequence[str]:
        """What tells its sub-groups apart."""


def topology_faults(topology: TopologyAsked | None, path: str) -> Iterator[Note]:
    """Find modes that there are not."""
    if topology is not None and topology.mode not in MODES:
        yield Note(f"{path}.mode", f"{topology.mode!r} is neither hard nor soft; it counts as hard")


def topology_notes(topology: TopologyAsked | None, path: str) -> Iterator[Note]:
    """Find hard topologies that allow any tier."""
    if topology is None or topology.mode == "soft":
        return
    if topology.highest_tier_allowed is None and not topology.highest_tier_name:
        yield Note(path, "without highestTierAllowed or highestTierName it limits nothing: pods may lie in any domain")


def selector_faults(policy: Policy, path: str) -> Iterator[Note]:
    """Find why a policy of sub-groups selects no pod, whatever pods there are."""
    if policy.label_selector is not None:
        for inner, message in unreadable(policy.label_selector):
            yield Note(f"{path}.labelSelector.{inner}", message)
    elif not policy.match_label_keys:
        yield Note(path, "has neither labelSelector nor matchLabelKeys; selects no pod")
