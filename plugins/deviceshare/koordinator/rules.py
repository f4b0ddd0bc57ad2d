"""Rules: what arguments say of who gets which devices."""

from dataclasses import dataclass
from typing import Final

from pyroclast.model.devices.koordinator.templates import NO_TEMPLATES, Templates
from pyroclast.plugins.deviceshare.koordinator.scoring import BY_DEFAULT, Scoring

__all__ = ["BY_DEFAULT_RULES", "Rules"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What holds for all pods and nodes."""

    scoring: Scoring = BY_DEFAULT
    unsupported: frozenset[tuple[str, str]] = frozenset()
    """Vendors and models of GPUs that cannot be shared."""
    templates: Templates = NO_TEMPLATES
    """Shares that some models of GPUs can be given in."""
    small_scores_first: bool = False
    """Whether partitions of small scores are looked at first."""
    searches_on: bool = True
    """Whether GPUs are chosen anew where other devices of the pod are not to be had near them."""
    aligns: bool = True
    """Whether devices are chosen within few NUMA nodes where pod or node want so."""


BY_DEFAULT_RULES: Final = Rules()
