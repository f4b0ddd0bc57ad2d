"""Predicates: the nodes on which a task may run.

Points: pre-predicate, predicate, node order (volume score, off by default); ledgers for host ports, attached volumes
and volumes taken; preparations for volumes.  Arguments: `PredicatesArgs`.  Rules: docs/plugins/predicates.md.
"""

from dataclasses import dataclass, field
from typing import Protocol

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality, Plugin
from pyroclast.framework.session.pods import session_pods
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import ReasonArray
from pyroclast.model.refusals import Reason
from pyroclast.model.required_rules import POD_AFFINITY, RESOURCE_CLAIMS, TOPOLOGY_SPREAD
from pyroclast.model.tasks import Task
from pyroclast.plugins.predicates import (
    node_facts,
    pod_affinity,
    pod_count,
    ports,
    topology_spread,
    volume_binding,
    volume_limits,
    volume_restrictions,
    volume_zone,
)
from pyroclast.plugins.predicates.arguments import PredicatesArgs
from pyroclast.plugins.predicates.devices import allocator
from pyroclast.plugins.predicates.devices.allocator import DeviceAllocator
from pyroclast.plugins.predicates.faults import PredicateFaults
from pyroclast.plugins.predicates.pod_affinity import PodAffinityFilter
from pyroclast.plugins.predicates.ports import HostPorts
from pyroclast.plugins.predicates.topology_spread import TopologySpread
from pyroclast.plugins.predicates.volume_binding import VolumeBinding
from pyroclast.plugins.predicates.volume_limits import VolumeLimits
from pyroclast.plugins.predicates.volume_restrictions import VolumeRestrictions
from pyroclast.plugins.predicates.volume_score import VolumeScore
from pyroclast.plugins.predicates.volume_zone import VolumeZone

__all__ = ["Predicates"]

NAMES_CONFLICT = "pod affinity terms conflict"


class _Judge(Protocol):
    """A filter that is evaluated for each task that it applies to."""

    def cares(self, task: Task) -> bool:
        """Return whether the filter applies to a task."""
        ...

    def verdicts(self, task: Task, columns: NodeColumns) -> ReasonArray | None:
        """Return verdicts about nodes, shape (columns,)."""
        ...


@dataclass(frozen=True)
class Predicates(Plugin):
    """The filters of kube-scheduler, in its order."""

    name = "predicates"
    arguments = PredicatesArgs
    watches_clock = False
    args: PredicatesArgs = field(default_factory=PredicatesArgs)

    def on_session_open(self, session: Session) -> None:
        """Register every enabled filter, in the order of kube-scheduler."""
        faults = PredicateFaults(self.name)
        session.extensions.register(contract.PRE_PREDICATE, self.name, faults.refuse)
        self._register_node_facts(session, faults)
        if self.args.node_ports:
            self._register_ports(session)
        if self.args.pod_affinity:
            affinity = PodAffinityFilter(session, session_pods(session))
            session.extensions.register_rule(self.name, POD_AFFINITY)
            self._register_judge(session, "InterPodAffinity", affinity, pod_affinity.REASONS)
        if self.args.volume_restrictions:
            restrictions = VolumeRestrictions(session)
            session.extensions.register_ledger(self.name, restrictions)
            self._register_judge(session, "VolumeRestrictions", restrictions, volume_restrictions.REASONS)
        if self.args.volume_limits:
            self._register_volume_limits(session, faults)
        if self.args.volume_zone:
            self._register_volume_zone(session, faults)
        if self.args.topology_spread:
            spread = TopologySpread(session, session_pods(session))
            session.extensions.register_rule(self.name, TOPOLOGY_SPREAD)
            self._register_judge(session, "PodTopologySpread", spread, topology_spread.REASONS)
        if self.args.volume_binding:
            self._register_volume_binding(session, faults)
        if self.args.devices:
            self._register_devices(session, faults)

    def _register_devices(self, session: Session, faults: PredicateFaults) -> None:
        devices = DeviceAllocator(session, self.name)
        session.extensions.register_rule(self.name, RESOURCE_CLAIMS)
        session.extensions.register_ledger(self.name, devices)
        session.extensions.register_preparations(self.name, devices.preparations)
        faults.of_claims("DynamicResources", devices.fault)
        self._register_judge(session, "DynamicResources", devices, allocator.REASONS)

    def _register_node_facts(self, session: Session, faults: PredicateFaults) -> None:
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            pod_count.pod_count,
            locality=Locality.AMOUNTS,
            reasons=pod_count.REASONS,
            part="PodCount",
        )
        filters = [("NodeUnschedulable", node_facts.unschedulable, node_facts.UNSCHEDULABLE_REASONS)]
        if self.args.node_affinity:
            filters.append(("NodeAffinity", node_facts.node_affinity, node_facts.NODE_AFFINITY_REASONS))
            faults.of_template(names_fault)
        if self.args.taints:
            filters.append(("TaintToleration", node_facts.taints, node_facts.TAINT_REASONS))
        for part, function, reasons in filters:
            session.extensions.register(
                contract.PREDICATE, self.name, function, locality=Locality.FACTS, reasons=reasons, part=part
            )

    def _register_ports(self, session: Session) -> None:
        host_ports = HostPorts(session)
        session.extensions.register_ledger(self.name, host_ports)
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            host_ports.verdicts,
            locality=Locality.NODE,
            reasons=ports.REASONS,
            part="NodePorts",
        )

    def _register_volume_limits(self, session: Session, faults: PredicateFaults) -> None:
        limits = VolumeLimits(session)
        session.extensions.register_ledger(self.name, limits)
        faults.of_claims("NodeVolumeLimits", limits.fault)
        self._register_judge(session, "NodeVolumeLimits", limits, volume_limits.REASONS)

    def _register_volume_zone(self, session: Session, faults: PredicateFaults) -> None:
        zone = VolumeZone(session)
        faults.of_claims("VolumeZone", zone.fault)
        self._register_judge(session, "VolumeZone", zone, volume_zone.REASONS)

    def _register_judge(self, session: Session, part: str, judge: _Judge, reasons: tuple[Reason, ...]) -> None:
        """Register a filter that depends on more than the node and the template."""
        session.extensions.register(
            contract.PREDICATE,
            self.name,
            judge.verdicts,
            locality=Locality.GLOBAL,
            reasons=reasons,
            cares=judge.cares,
            part=part,
        )

    def _register_volume_binding(self, session: Session, faults: PredicateFaults) -> None:
        binding = VolumeBinding(session, self.name, timeout_seconds=self.args.bind_timeout_seconds)
        session.extensions.register_ledger(self.name, binding)
        session.extensions.register_preparations(self.name, binding.preparations)
        faults.of_claims("VolumeBinding", binding.fault)
        self._register_judge(session, "VolumeBinding", binding, volume_binding.REASONS)
        if self.args.volume_score and self.args.volume_weight:
            score = VolumeScore(session, binding, self.args.volume_shape, self.args.volume_weight)
            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                score.scores,
                locality=Locality.GLOBAL,
                cares=binding.cares,
                weight=self.args.volume_weight,
                part="volumes",
            )


def names_fault(task: Task) -> str:
    """Return the fault of a contradictory required node affinity; empty if there is none."""
    return NAMES_CONFLICT if node_facts.names_conflict(task.template.spec) else ""
