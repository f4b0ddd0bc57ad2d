"""The flags of a plugin option: which extension points a plugin is asked at.

Volcano spells some `enable…` and some `enabled…`; the spelling here is the canonical one of each.
"""

from collections.abc import Mapping
from typing import Final

__all__ = ["FLAGS", "HIERARCHY", "canonical_flag", "defaults"]

HIERARCHY: Final = "enableHierarchy"
"""Gates no point: switches drf, capacity and nodegroup to queue trees."""

FLAGS: Final[Mapping[str, bool]] = {
    "enableJobOrder": True,
    HIERARCHY: False,
    "enableJobReady": True,
    "enableJobPipelined": True,
    "enableTaskOrder": True,
    "enablePreemptable": True,
    "enableReclaimable": True,
    "enablePreemptive": True,
    "enableQueueOrder": True,
    "enabledClusterOrder": False,
    "enablePredicate": True,
    "enableBestNode": True,
    "enableNodeOrder": True,
    "enableTargetJob": True,
    "enableReservedNodes": True,
    "enableJobEnqueued": True,
    "enabledVictim": True,
    "enableJobStarving": True,
    "enabledOverused": True,
    "enabledAllocatable": True,
    "enabledHyperNodeOrder": True,
    "enabledSubJobReady": True,
    "enabledSubJobPipelined": True,
    "enabledSubJobOrder": True,
    "enabledHyperNodeGradient": True,
}
"""Every flag with its value when the file does not write it."""


def canonical_flag(key: str) -> str | None:
    """Return the canonical spelling of a flag spelled either way; None when it is no flag."""
    return _CANONICAL.get(key)


def defaults(*, absent: bool) -> dict[str, bool]:
    """Return all flags as they are when not written; with `absent` false all are off, as without Volcano's loader."""
    return dict(FLAGS) if absent else dict.fromkeys(FLAGS, False)


def _other_spelling(flag: str) -> str:
    return (
        "enable" + flag.removeprefix("enabled")
        if flag.startswith("enabled")
        else "enabled" + flag.removeprefix("enable")
    )


_CANONICAL: Final = {spelling: flag for flag in FLAGS for spelling in (flag, _other_spelling(flag))}
