"""NodeNUMA: give pods CPUs of their own, and their amounts on few NUMA nodes.

Points: pre-predicate, predicate, node order; a ledger; annotations of bindings; the NUMA nodes of tasks.
Arguments: `NodeNumaArgs`.  Rules, formula and example: docs/plugins/nodenuma.md.
"""

from dataclasses import dataclass, field
from typing import Final

from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.report import EventNote
from pyroclast.model.required_rules import CPU_BINDING, NUMA_ALIGNMENT
from pyroclast.plugins.nodenuma import reasons
from pyroclast.plugins.nodenuma.allocator import CpuAllocator
from pyroclast.plugins.nodenuma.arguments import NodeNumaArgs
from pyroclast.plugins.nodenuma.scores import Scores

__all__ = ["NodeNuma", "is_asked_for"]

INVALID_STATUS: Final = "ResourceStatusInvalid"
"""Reason of an event."""


def is_asked_for(profile: Profile) -> bool:
    """Return whether a configuration requires the CPUs and NUMA nodes of nodes."""
    return any(option.plugin == NodeNuma.name for option in profile.plugins)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeNuma(Plugin):
    """Allocate CPUs and NUMA nodes."""

    name = "nodenuma"
    watches_clock = False
    args: NodeNumaArgs = field(default_factory=NodeNumaArgs)

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        extensions = session.extensions
        allocator = CpuAllocator(session, self.name, self.args)
        for rule in (CPU_BINDING, NUMA_ALIGNMENT):
            extensions.register_rule(self.name, rule)
        extensions.register_ledger(self.name, allocator)
        extensions.register_annotations(self.name, allocator.annotations)
        extensions.register_numa_plan(self.name, allocator.plan)
        extensions.register(contract.PRE_PREDICATE, self.name, allocator.refuse_unreadable)
        extensions.register(
            contract.PREDICATE,
            self.name,
            allocator.never,
            locality=Locality.FACTS,
            reasons=reasons.NEVER,
            part="policies",
        )
        extensions.register(
            contract.PREDICATE,
            self.name,
            allocator.verdicts,
            locality=Locality.NODE,
            reasons=allocator.reasons_of,
            part="cpus",
        )
        if self.args.weight:
            scores = Scores(session, allocator, self.args.scoring.scoring, self.args.weight)
            for part, function, locality in (
                ("amounts", scores.of_amounts, Locality.AMOUNTS),
                ("cpus", scores.of_nodes, Locality.NODE),
            ):
                extensions.register(
                    contract.NODE_ORDER, self.name, function, locality=locality, part=part, weight=self.args.weight
                )
        extensions.on_close(self.name, lambda: _record_unread(session, allocator))


def _record_unread(session: Session, allocator: CpuAllocator) -> None:
    """Record an event about each pod on a node whose annotation cannot be read, once."""
    for task, message in allocator.unread:
        metadata = task.pod.metadata
        if session.report.is_news(f"Pod/{metadata.key}/{INVALID_STATUS}", message, job=task.job):
            event = EventNote(
                kind="Pod",
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                type="Warning",
                reason=INVALID_STATUS,
                message=message,
            )
            session.report.record_events(event)
