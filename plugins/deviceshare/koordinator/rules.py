"""Rules for devices from the arguments."""

from dataclasses import dataclass
from typing import Final

from pyroclast.model.devices.koordinator.templates import NO_TEMPLATES, Templates
from pyroclast.plugins.deviceshare.koordinator.scoring import BY_DEFAULT, Scoring

__all__ = ["BY_DEFAULT_RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules for all pods and nodes."""

    scoring: Scoring = BY_DEFAULT
    unsupported: frozenset[tuple[str, str]] = frozenset()
    """Vendors and models of GPUs that cannot be shared."""
    templates: Templates = NO_TEMPLATES
    """Permitted shares of some GPU models."""
    small_scores_first: bool = False
    """Whether partitions with small scores come first."""
    searches_on: bool = True
    """Whether other GPUs are tried if other devices of the pod are not free near the chosen ones."""
    aligns: bool = True
    """Whether devices are chosen within few NUMA nodes if the pod or node requires it."""
    adapts: bool = False
    """Whether pods get annotations for the device plugins of vendors, and nodes are locked for these."""


BY_DEFAULT_RULES: Final = Rules()
