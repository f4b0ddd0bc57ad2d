"""Conformance: never evict system-critical pods.

Points: preemptable, reclaimable, unified evictable.  No arguments.  Rules and example: docs/plugins/conformance.md.
"""

from collections.abc import Sequence
from typing import Any, Final

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin, Vote
from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task

__all__ = ["Conformance"]

CRITICAL_CLASSES: Final = frozenset({"system-cluster-critical", "system-node-critical"})
SYSTEM_NAMESPACE: Final = "kube-system"


class Conformance(Plugin):
    """Do not evict critical pods."""

    name = "conformance"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        session.extensions.register(contract.PREEMPTABLE, self.name, spare_critical, alike=True)
        session.extensions.register(contract.RECLAIMABLE, self.name, spare_critical, alike=True)
        session.extensions.register(contract.UNIFIED_EVICTABLE, self.name, spare_critical, alike=True, in_turn=True)


def spare_critical(_: Any, candidates: Sequence[Task]) -> tuple[list[Task], Vote]:
    """Permit all candidates except critical ones, in the given order."""
    return [task for task in candidates if not is_critical(task)], Vote.PERMIT


def is_critical(task: Task) -> bool:
    """Return whether a pod has a system priority class or is in the system namespace."""
    return task.namespace == SYSTEM_NAMESPACE or task.pod.spec.priority_class_name in CRITICAL_CLASSES
