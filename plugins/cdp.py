"""Cooldown protection: pods that were scheduled recently are not evicted.

Points: preemptable, reclaimable, unified evictable.  Arguments: `CdpArgs`.  Rules and example: docs/plugins/cdp.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.model import wire
from pyroclast.model.api.names import COOLDOWN_TIME
from pyroclast.model.durations import parse_duration
from pyroclast.model.tasks import Task
from pyroclast.model.wire.times import unix_seconds

__all__ = ["Cdp", "cooldown_seconds", "is_cooling_down"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CdpArgs:
    """Arguments of cdp, spelled as in the configuration file."""

    everyTier: bool = True  # noqa: N815
    """Whether pods are protected in every tier; otherwise, as in Volcano, only in the tier of the plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cdp(Plugin):
    """Do not evict pods during their cooldown time."""

    name = "cdp"
    watches_clock = True
    args: CdpArgs = CdpArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""

        def spare_fresh(_: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
            return [task for task in candidates if not is_cooling_down(task.pod, session.now)], Vote.PERMIT

        register, always = session.extensions.register, self.args.everyTier
        register(contract.PREEMPTABLE, self.name, spare_fresh, alike=True, in_every_tier=always)
        register(contract.RECLAIMABLE, self.name, spare_fresh, alike=True, in_every_tier=always)
        register(contract.UNIFIED_EVICTABLE, self.name, spare_fresh, alike=True, in_turn=True, in_every_tier=always)


def is_cooling_down(pod: wire.Pod, now: float) -> bool:
    """Return whether a running pod was scheduled less than its cooldown time ago; `now` is in seconds since 1970."""
    cooldown = cooldown_seconds(pod)
    if cooldown is None or pod.status.phase != "Running":
        return False
    scheduled = _scheduled_at(pod)
    return scheduled is not None and Fraction(scheduled) + cooldown > Fraction(now)


def cooldown_seconds(pod: wire.Pod) -> Fraction | None:
    """Return the cooldown time of a pod from its label, or else its annotation; None if it is missing or invalid."""
    labels, annotations = pod.metadata.labels, pod.metadata.annotations
    text = labels.get(COOLDOWN_TIME, annotations.get(COOLDOWN_TIME))
    try:
        return None if text is None else parse_duration(text)
    except ValueError:
        return None


def _scheduled_at(pod: wire.Pod) -> float | None:
    """Return the transition time of the pod's first true `PodScheduled` condition, in seconds since 1970."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "True":
            try:
                return unix_seconds(condition.last_transition_time)
            except ValueError:
                return None
    return None
