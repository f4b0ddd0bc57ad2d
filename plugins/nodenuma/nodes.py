"""Nodes: policies, CPUs and NUMA nodes of a node, from its labels and annotations and its NodeResourceTopology."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final

from pyroclast.model.nodenuma.amplified import NO_RATIOS, Ratios, amplified, read_ratios
from pyroclast.model.nodenuma.names import (
    ALLOCATE_STRATEGY,
    AMPLIFICATION,
    CPU_BIND_POLICY,
    FULL_PCPUS,
    FULL_PCPUS_ONLY,
    NUMA_POLICIES,
    NUMA_POLICY,
    SPREAD_BY_PCPUS,
)
from pyroclast.model.nodenuma.topology import NO_TOPOLOGY, NodeTopology
from pyroclast.model.nodes import Node
from pyroclast.model.resources import CPU, Amounts
from pyroclast.plugins.nodenuma.demand import CpuDemand

__all__ = ["CpuNode", "cpu_node"]

_UNSET: Final = frozenset({"", "None"})
"""Values of the labels for no policy."""


@dataclass(frozen=True, kw_only=True, eq=False)
class CpuNode:
    """What decides on one node, besides its pods."""

    topology: NodeTopology = NO_TOPOLOGY
    bind_policy: str = ""
    """Policy that all its pods with CPU follow: `FullPCPUs` or `SpreadByPCPUs`; empty for none."""
    numa_policy: str = ""
    """NUMA policy; empty for none."""
    strategy: str = ""
    """Which NUMA nodes are filled first; empty for the default."""
    ratios: Ratios | None = field(default_factory=lambda: NO_RATIOS)
    """Ratios by which its amounts are amplified; None if the annotation cannot be parsed."""

    @property
    def cpu_ratio(self) -> Fraction | None:
        """Ratio of its CPU; None for none."""
        return None if self.ratios is None else self.ratios.get(CPU)

    @property
    def numa_cpu_ratio(self) -> Fraction | None:
        """Ratio of the CPU of its NUMA nodes; None for none."""
        return self.numa_ratios.get(CPU)

    @property
    def numa_ratios(self) -> Ratios:
        """Ratios of the amounts of its NUMA nodes."""
        return (self.ratios or NO_RATIOS) if self.topology.ratios is None else self.topology.ratios

    @cached_property
    def allocatable(self) -> Mapping[int, Amounts]:
        """Amplified amounts of its NUMA nodes, thousandths by resource."""
        ratios = NO_RATIOS if self.topology.ratios is not None else self.numa_ratios
        return {
            zone.id: {name: amplified(amount, ratios.get(name), name) for name, amount in zone.allocatable.items()}
            if ratios
            else zone.allocatable
            for zone in self.topology.zones
        }

    @cached_property
    def numa_nodes(self) -> tuple[int, ...]:
        """NUMA nodes with amounts, ascending."""
        return tuple(self.allocatable)

    @cached_property
    def signature(self) -> Hashable:
        """A key of all that decides: nodes with equal keys answer alike."""
        topology = self.topology
        zones = tuple((node, tuple(sorted(amounts.items()))) for node, amounts in self.allocatable.items())
        ratios = None if self.ratios is None else tuple(self.ratios.items())
        own = (self.bind_policy, self.numa_policy, self.strategy, ratios, tuple(self.numa_ratios.items()))
        return (topology.layout, topology.reserved, zones, own)

    @property
    def decides(self) -> bool:
        """Whether it has rules for pods that state none."""
        return bool(self.bind_policy or self.numa_policy or self.ratios is None or self.cpu_ratio)

    def binds(self, demand: CpuDemand) -> bool:
        """Return whether a pod gets CPUs of its own here."""
        return demand.binds or bool(self.bind_policy and demand.cpu_millis)

    def required_policy(self, demand: CpuDemand) -> str:
        """Return the required policy of the CPUs of a pod; empty for none."""
        return self.bind_policy or demand.required

    def policy(self, demand: CpuDemand) -> str:
        """Return the policy by which the CPUs of a pod are chosen."""
        return self.required_policy(demand) or demand.preferred

    def numa_policy_for(self, demand: CpuDemand) -> str:
        """Return the NUMA policy in force for a pod; empty for none."""
        policy = demand.numa.policy or self.numa_policy
        return policy if policy in NUMA_POLICIES else ""


_PLAIN: Final = CpuNode()


def cpu_node(node: Node, topology: NodeTopology | None) -> CpuNode:
    """Return what decides on a node.

    Args:
        node: The node.
        topology: Its CPUs and NUMA nodes; None if unknown.
    """
    labels, text = node.labels, node.annotations.get(AMPLIFICATION)
    label = labels.get(NUMA_POLICY, "")
    bind_policy, strategy = labels.get(CPU_BIND_POLICY, ""), labels.get(ALLOCATE_STRATEGY, "")
    if topology is None and text is None and not (label or bind_policy or strategy):
        return _PLAIN
    topology = topology or NO_TOPOLOGY
    if bind_policy == FULL_PCPUS_ONLY or topology.full_pcpus_only:
        policy = FULL_PCPUS
    else:
        policy = SPREAD_BY_PCPUS if bind_policy == SPREAD_BY_PCPUS else ""
    return CpuNode(
        topology=topology,
        bind_policy=policy,
        numa_policy=topology.numa_policy if label in _UNSET else label,
        strategy=strategy,
        ratios=NO_RATIOS if text is None else _ratios(text),
    )


def _ratios(text: str) -> Ratios | None:
    try:
        return read_ratios(text)
    except ValueError:  # pods with CPU avoid the node, and their reason says why
        return None
