"""NodeNUMA: give pods CPUs of their own, and their amounts on few NUMA nodes.

Points: pre-predicate, predicate, node order, filter of reservations; a ledger; annotations of bindings; the NUMA nodes
of tasks.
Arguments: `NodeNumaArgs`.  Rules, formula and example: docs/plugins/nodenuma.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyroclast.framework.configuration import Profile
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.cpusets import CpuSet, as_text
from pyroclast.model.ids import NodeName
from pyroclast.model.nodenuma.names import RESOURCE_STATUS
from pyroclast.model.nodenuma.status import written
from pyroclast.model.nodenuma.topology import NodeTopology
from pyroclast.model.required_rules import CPU_BINDING, NUMA_ALIGNMENT
from pyroclast.model.tasks import by_name
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

    def endpoints(self) -> Mapping[str, contract.Endpoint]:
        """Return the endpoint of the CPUs of a node, and of the pods that have them."""
        return {"nodes/{name}": cpus_of_node}

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
        if session.reserved:
            extensions.register(contract.RESERVATION_FILTER, self.name, allocator.refuse_reservation)
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


def cpus_of_node(request: contract.EndpointRequest) -> dict[str, Any] | None:
    """Return CPUs, NUMA nodes and pods with CPUs or amounts of a node; None if it has no NodeResourceTopology."""
    name = NodeName(request.parameters["name"])
    topology, table = request.snapshot.topologies.get(name), request.snapshot.nodes
    if topology is None or name not in table.column:
        return None
    tasks = sorted(table.tasks[table.column[name]].values(), key=by_name)
    return {
        "node": name,
        "cpus": as_text(0 if topology.layout is None else topology.layout.cpus),
        "reserved": as_text(topology.reserved),
        "numaPolicy": topology.numa_policy,
        "numaNodes": [
            {"node": zone.id, "cpus": as_text(_cpus_in(topology, zone.id)), "allocatable": written(zone.allocatable)}
            for zone in topology.zones
        ],
        "pods": {
            task.key: task.pod.metadata.annotations[RESOURCE_STATUS]
            for task in tasks
            if RESOURCE_STATUS in task.pod.metadata.annotations
        },
    }


def _cpus_in(topology: NodeTopology, numa_node: int) -> CpuSet:
    return 0 if topology.layout is None else dict(topology.layout.numa).get(numa_node, 0)


def _record_unread(session: Session, allocator: CpuAllocator) -> None:
    """Record an event about each pod on a node whose annotation cannot be read, once."""
    for task, message in allocator.unread:
        session.report.warn_once("Pod", task.pod.metadata, INVALID_STATUS, message, job=task.job)
