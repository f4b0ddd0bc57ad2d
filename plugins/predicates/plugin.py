"""Predicates: on which nodes a task may run.

Points: pre-predicate, predicate, node order (volume score, off by default); ledgers for host ports, attached volumes
and volumes taken; preparations for volumes.  Arguments: `PredicatesArgs`.  Rules: docs/plugins/predicates.md.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from framework import points
from framework.pods import session_pods
from framework.points import Locality
from framework.session import Session
from model.tasks import Task
from plugins.predicates import (
    node_facts,
    pod_affinity,
    pod_count,
    ports,
    topology_spread,
    volume_binding,
    volume_limits,
    volume_zone,
)
from plugins.predicates.arguments import PredicatesArgs
from plugins.predicates.faults import Faults
from plugins.predicates.pod_affinity import PodAffinity
from plugins.predicates.ports import HostPorts
from plugins.predicates.topology_spread import TopologySpread
from plugins.predicates.volume_binding import VolumeBinding
from plugins.predicates.volume_limits import VolumeLimits
from plugins.predicates.volume_score import VolumeScore
from plugins.predicates.volume_zone import VolumeZone

__all__ = ["Predicates"]

NAMES_CONFLICT = "pod affinity terms conflict"


@dataclass(frozen=True)
class Predicates:
    """The filters of kube-scheduler, in its order."""

    name: ClassVar[str] = "predicates"
    arguments: ClassVar[type] = PredicatesArgs
    watches_clock: ClassVar[bool] = False
    args: PredicatesArgs = field(default_factory=PredicatesArgs)

    def on_session_open(self, session: Session) -> None:
        """Register every filter that is on, in the order in which kube-scheduler asks them."""
        faults = Faults(self.name)
        session.register(points.PRE_PREDICATE, self.name, faults.refuse)
        self._register_node_facts(session, faults)
        if self.args.node_ports:
            self._register_ports(session)
        if self.args.pod_affinity:
            self._register_pod_affinity(session)
        if self.args.volume_limits:
            self._register_volume_limits(session, faults)
        if self.args.volume_zone:
            self._register_volume_zone(session, faults)
        if self.args.topology_spread:
            self._register_topology_spread(session)
        if self.args.volume_binding:
            self._register_volume_binding(session, faults)

    def _register_node_facts(self, session: Session, faults: Faults) -> None:
        session.register(
            points.PREDICATE,
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
            session.register(points.PREDICATE, self.name, function, locality=Locality.FACTS, reasons=reasons, part=part)

    def _register_ports(self, session: Session) -> None:
        host_ports = HostPorts(session)
        session.register_ledger(self.name, host_ports)
        session.register(
            points.PREDICATE,
            self.name,
            host_ports.verdicts,
            locality=Locality.NODE,
            reasons=ports.REASONS,
            part="NodePorts",
        )

    def _register_pod_affinity(self, session: Session) -> None:
        affinity = PodAffinity(session, session_pods(session))
        session.register(
            points.PREDICATE,
            self.name,
            affinity.verdicts,
            locality=Locality.GLOBAL,
            reasons=pod_affinity.REASONS,
            cares=affinity.cares,
            part="InterPodAffinity",
        )

    def _register_volume_limits(self, session: Session, faults: Faults) -> None:
        limits = VolumeLimits(session)
        session.register_ledger(self.name, limits)
        faults.of_volumes("NodeVolumeLimits", limits.fault)
        session.register(
            points.PREDICATE,
            self.name,
            limits.verdicts,
            locality=Locality.GLOBAL,
            reasons=volume_limits.REASONS,
            cares=limits.cares,
            part="NodeVolumeLimits",
        )

    def _register_volume_zone(self, session: Session, faults: Faults) -> None:
        zone = VolumeZone(session)
        faults.of_volumes("VolumeZone", zone.fault)
        session.register(
            points.PREDICATE,
            self.name,
            zone.verdicts,
            locality=Locality.GLOBAL,
            reasons=volume_zone.REASONS,
            cares=zone.cares,
            part="VolumeZone",
        )

    def _register_topology_spread(self, session: Session) -> None:
        spread = TopologySpread(session, session_pods(session))
        session.register(
            points.PREDICATE,
            self.name,
            spread.verdicts,
            locality=Locality.GLOBAL,
            reasons=topology_spread.REASONS,
            cares=spread.cares,
            part="PodTopologySpread",
        )

    def _register_volume_binding(self, session: Session, faults: Faults) -> None:
        binding = VolumeBinding(session, self.name, timeout_seconds=self.args.bind_timeout_seconds)
        session.register_ledger(self.name, binding)
        session.register_preparations(self.name, binding.preparations)
        faults.of_volumes("VolumeBinding", binding.fault)
        session.register(
            points.PREDICATE,
            self.name,
            binding.verdicts,
            locality=Locality.GLOBAL,
            reasons=volume_binding.REASONS,
            cares=binding.cares,
            part="VolumeBinding",
        )
        if self.args.volume_score and self.args.volume_weight:
            score = VolumeScore(session, binding, self.args.volume_shape, self.args.volume_weight)
            session.register(
                points.NODE_ORDER,
                self.name,
                score.scores,
                locality=Locality.GLOBAL,
                cares=binding.cares,
                part="volumes",
            )


def names_fault(task: Task) -> str:
    """Say that the required node affinity contradicts itself; empty where it does not."""
    return NAMES_CONFLICT if node_facts.names_conflict(task.template.spec) else ""
