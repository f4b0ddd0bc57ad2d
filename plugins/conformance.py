"""Conformance: never evict system-critical pods.

Points: preemptable, reclaimable, unified evictable.  Arguments: `ConformanceArgs`.  Rules and example:
docs/plugins/conformance.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task

__all__ = ["Conformance"]

CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
SYSTEM_NAMESPACE: Final = "kube-system"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConformanceArgs:
    """Arguments of conformance, spelled as in the configuration file."""

    everyTier: bool = True  # noqa: N815
    """Whether critical pods are protected in every tier; otherwise, as in Volcano, only in the tier of the plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conformance(Plugin):
    """Do not evict critical pods."""

    name = "conformance"
    watches_clock = False
    args: ConformanceArgs = ConformanceArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        register, always = session.extensions.register, self.args.everyTier
        register(contract.PREEMPTABLE, self.name, spare_critical, alike=True, in_every_tier=always)
        register(contract.RECLAIMABLE, self.name, spare_critical, alike=True, in_every_tier=always)
        register(contract.UNIFIED_EVICTABLE, self.name, spare_critical, alike=True, in_turn=True, in_every_tier=always)


def spare_critical(_: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
    """Permit all candidates except critical ones, in the given order."""
    return [task for task in candidates if not is_critical(task)], Vote.PERMIT


def is_critical(task: Task) -> bool:
    """Return whether a pod has a system priority class or is in the system namespace."""
    return task.namespace == SYSTEM_NAMESPACE or task.pod.spec.priority_class_name in CRITICAL_CLASSES
