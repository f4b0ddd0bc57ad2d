"""Choice: the CPUs and the amounts on NUMA nodes that a pod would get on a node in some state, or why it gets none."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from pyroclast.framework.extension.contract import NumaHint
from pyroclast.model.cpusets import CpuSet
from pyroclast.model.nodenuma.amplified import amplified
from pyroclast.model.nodenuma.names import BEST_EFFORT, FULL_PCPUS, RESTRICTED, SINGLE_NUMA_NODE
from pyroclast.model.nodenuma.status import NumaAmounts
from pyroclast.model.resources import CPU, MILLI, Amounts
from pyroclast.plugins.nodenuma import reasons
from pyroclast.plugins.nodenuma.accumulate import Exclusive, cpus_per_core, satisfies, take_preferred, usable
from pyroclast.plugins.nodenuma.amounts import Spread, spread
from pyroclast.plugins.nodenuma.demand import NOT_INTEGER, CpuDemand
from pyroclast.plugins.nodenuma.hints import best_nodes, mask_of, masks, nodes_in
from pyroclast.plugins.nodenuma.nodes import CpuNode
from pyroclast.plugins.nodenuma.reserved_cpus import NO_SOURCE, Source
from pyroclast.plugins.nodenuma.scoring import Scoring
from pyroclast.plugins.nodenuma.usage import CpuUsage

__all__ = ["CpuChoice", "NodeState", "never_fits"]

_RESERVED_SCORE: Final = 10_000
Hints = Mapping[str, Sequence[NumaHint]]


class CpuChoice(NamedTuple):
    """What a pod would get."""

    cpus: CpuSet = 0
    amounts: NumaAmounts = ()
    nodes: int | None = None
    """NUMA nodes that it may use, as a mask; None if the pod is not aligned."""


def never_fits(node: CpuNode, demand: CpuDemand) -> str:
    """Return why a node never takes a pod, whatever else runs there; empty if it may."""
    policy = demand.numa.policy
    if policy and node.numa_policy and policy != node.numa_policy:
        return reasons.OTHER_POLICY
    if node.ratios is None and demand.cpu_millis:
        return reasons.INVALID_RATIO
    if node.binds(demand):
        layout = node.topology.layout
        if not demand.is_whole:
            return NOT_INTEGER
        if layout is None:
            return reasons.INVALID_TOPOLOGY
        if demand.required and node.bind_policy and demand.required != node.bind_policy:
            return reasons.CONFLICT
        if node.required_policy(demand) == FULL_PCPUS and demand.cpus % cpus_per_core(layout):
            return reasons.NOT_MULTIPLE
    if node.numa_policy_for(demand) not in {"", BEST_EFFORT} and not node.numa_nodes:
        return reasons.MISSING_NUMA
    return ""


class NodeState:
    """A node with the CPUs and amounts in use, as one pod meets it; the pod is one that the node may take."""

    def __init__(
        self,
        node: CpuNode,
        usage: CpuUsage,
        demand: CpuDemand,
        scoring: Scoring,
        *,
        strategy: str,
        source: Source = NO_SOURCE,
    ) -> None:
        self._node, self._usage, self._demand, self._scoring, self._source = node, usage, demand, scoring, source
        self._strategy = node.strategy or strategy
        self._binds = node.binds(demand)
        self._required = node.required_policy(demand) if self._binds else ""

    def choose(self, devices: Hints) -> CpuChoice | str:
        """Return what the pod would get, or the reason of a refusal.

        Args:
            devices: Hints of other plugins by type of device, if a NUMA policy is in force.
        """
        policy = self._node.numa_policy_for(self._demand)
        if self._demand.designated is not None:
            return self._take_designated(policy, *self._demand.designated.status)
        if not policy or not self._node.numa_nodes:
            return self._allocate(None)
        hints: dict[str, list[NumaHint]] = {name: [] for name in self._aligned_names}
        nodes = self._best_nodes(policy, hints, devices)
        if not nodes:
            return self._why_unaligned(policy, hints, devices)
        choice = self._allocate(nodes)
        if policy != BEST_EFFORT:
            return choice
        if isinstance(choice, str):
            return self._allocate(None)  # the NUMA nodes lack it, which must not keep the pod from the node
        is_common = all(any(hint.nodes == nodes for hint in each) for each in devices.values())
        return choice if is_common else choice._replace(nodes=None)

    def _take_designated(self, policy: str, cpus: CpuSet, amounts: NumaAmounts) -> CpuChoice | str:
        """Return the CPUs and amounts that another component has decided, or why the pod cannot get them.

        A pod gets CPUs only if it needs its own, and amounts only under a NUMA policy; they must be its whole request.
        """
        requested = self._demand.cpus if self._binds else 0
        if cpus.bit_count() != requested or cpus & ~self._available or self._source.taken_over.cpus & ~cpus:
            return reasons.NOT_ENOUGH_CPUS
        layout = self._node.topology.layout
        if cpus and (layout is None or not satisfies(layout, cpus, self._required)):
            return reasons.unsatisfied_policy(self._required)
        if not policy or not self._node.numa_nodes:
            return CpuChoice(cpus)
        nodes = [node for node, _ in amounts]
        if policy == SINGLE_NUMA_NODE and len(nodes) > 1:
            return reasons.UNALIGNED
        for name in self._aligned_names:
            parts = {node: dict(each).get(name, 0) for node, each in amounts}
            is_free = all(part <= self._free.get(node, {}).get(name, 0) for node, part in parts.items())
            if sum(parts.values()) != self._demand.request[name] or not is_free:
                return reasons.insufficient(name)
        counted = [(node, tuple(part for part in each if part[0] in self._aligned_names)) for node, each in amounts]
        return CpuChoice(cpus, tuple(counted), mask_of(nodes))

    # CPUs -------------------------------------------------------------------------------------------------------------

    @cached_property
    def _available(self) -> CpuSet:
        """Free CPUs that the required policy leaves."""
        topology = self._node.topology
        if topology.layout is None:
            return 0
        free = topology.layout.cpus & ~topology.reserved & ~self._usage.cpus
        if self._source.restricts_cpus:
            free &= self._source.preferred.cpus
        return usable(topology.layout, free, self._required)

    def _take(self, parts: Spread | None) -> CpuSet | str:
        """Choose CPUs, as many from each NUMA node as the parts say; anywhere without parts."""
        layout, demand, usage = self._node.topology.layout, self._demand, self._usage
        assert layout is not None, "a node without known CPUs takes no pod with CPUs of its own"
        if self._available.bit_count() < demand.cpus:
            return reasons.NOT_ENOUGH_CPUS
        cpus_of = dict(layout.numa)
        groups = (
            [(self._available, demand.cpus)]
            if parts is None
            else [(self._available & cpus_of.get(node, 0), part.get(CPU, 0) // MILLI) for node, part in parts.items()]
        )
        taken = 0
        for available, count in groups:
            more = take_preferred(
                layout,
                available,
                count,
                policy=self._node.policy(demand),
                preferred=self._source.preferred.cpus,
                exclusive=Exclusive(demand.exclusive, usage.exclusive_cores, usage.exclusive_numa),
                strategy=self._strategy,
            )
            if more is None:
                return reasons.NOT_ENOUGH_CPUS
            taken |= more
        if taken.bit_count() != demand.cpus or self._source.taken_over.cpus & ~taken:
            return reasons.NOT_ENOUGH_CPUS
        return taken if satisfies(layout, taken, self._required) else reasons.unsatisfied_policy(self._required)

    # NUMA nodes -------------------------------------------------------------------------------------------------------

    @cached_property
    def _free(self) -> Mapping[int, Amounts]:
        """Free amounts of the NUMA nodes. CPUs of pods' own count amplified; a required policy limits the CPU."""
        layout, ratio = self._node.topology.layout, self._node.numa_cpu_ratio
        cpus_of = {} if layout is None else dict(layout.numa)
        used = {numa: dict(amounts) for numa, amounts in self._usage.amounts}
        reserved = {numa: dict(amounts) for numa, amounts in self._source.preferred.amounts}
        found: dict[int, Amounts] = {}
        for numa, offered in self._node.allocatable.items():
            taken, cpus = used.get(numa, {}), cpus_of.get(numa, 0)
            bound = (cpus & self._usage.cpus).bit_count() * MILLI
            free = {name: max(amount - taken.get(name, 0), 0) for name, amount in offered.items()}
            if ratio is not None and taken and CPU in free:
                more = amplified(bound, ratio) - bound
                free[CPU] = max(offered[CPU] - taken.get(CPU, 0) - more, 0)
            for name in self._source.restricted & free.keys():
                free[name] = min(free[name], reserved.get(numa, {}).get(name, 0))
            if self._binds and CPU in free:
                free[CPU] = min(free[CPU], (cpus & self._available).bit_count() * MILLI)
            found[numa] = free
        return found

    @property
    def _cpu_step(self) -> int:
        layout = self._node.topology.layout
        if not self._binds or layout is None:
            return 1
        return MILLI * cpus_per_core(layout) if self._required == FULL_PCPUS else MILLI

    @cached_property
    def _taken_over(self) -> Spread:
        """Parts of the request that pods have which the Reservation takes over: it has them where the pods are."""
        layout, (cpus, amounts, _) = self._node.topology.layout, self._source.taken_over
        left = dict(self._demand.request)
        found: Spread = {}
        if self._binds and layout is not None:
            for node, there in layout.numa:
                if there & cpus and CPU in self._node.allocatable.get(node, {}):
                    found[node] = {CPU: (there & cpus).bit_count() * MILLI}
        for node, each in amounts:
            for name, amount in each:
                part = min(amount, left.get(name, 0))
                if part and not (self._binds and name == CPU):
                    left[name] -= part
                    found.setdefault(node, {})[name] = part
        return found

    def _spread(self, nodes: Sequence[int]) -> tuple[Spread, tuple[str, ...]]:
        """Spread the request over NUMA nodes. Parts of pods that are taken over stay where they are."""
        taken, request, free = self._taken_over, self._demand.request, self._free
        if not taken:
            return spread(request, free, nodes, self._cpu_step)
        outside = [name for node, part in taken.items() if node not in nodes for name in part]
        if outside:
            return {}, tuple(outside)
        rest = {name: amount - sum(part.get(name, 0) for part in taken.values()) for name, amount in request.items()}
        left = {
            node: {name: max(amount - taken.get(node, {}).get(name, 0), 0) for name, amount in each.items()}
            for node, each in free.items()
        }
        parts, lacking = spread(rest, left, nodes, self._cpu_step)
        for node, part in taken.items():
            whole = parts.setdefault(node, {})
            for name, amount in part.items():
                whole[name] = whole.get(name, 0) + amount
        return parts, lacking

    def _best_nodes(self, policy: str, hints: dict[str, list[NumaHint]], devices: Hints) -> int:
        """Return the best set of NUMA nodes as a mask; 0 if the policy admits none.

        Narrow sets are tried first: with 8 NUMA nodes there are 255 sets, and most pods fit one NUMA node.

        Args:
            policy: The NUMA policy in force.
            hints: Receives the hints of the sets that are tried.
            devices: Hints of other plugins.
        """
        nodes = self._node.numa_nodes
        exclusive = self._usage.numa if self._demand.is_numa_exclusive else None
        for size in range(1, 2 if policy == SINGLE_NUMA_NODE else len(nodes) + 1):
            self._add_hints(hints, size)
            found = best_nodes({**hints, **devices}, nodes, RESTRICTED, exclusive=exclusive)
            if found and (policy != SINGLE_NUMA_NODE or found.bit_count() == 1 or not (hints or devices)):
                return found
        return best_nodes({**hints, **devices}, nodes, policy, exclusive=exclusive)

    @cached_property
    def _aligned_names(self) -> tuple[str, ...]:
        """Requested resources that NUMA nodes report."""
        offered = self._node.allocatable.values()
        return tuple(name for name in sorted(self._demand.request) if any(name in each for each in offered))

    def _add_hints(self, found: dict[str, list[NumaHint]], size: int) -> None:
        """Add the hints of sets of a size (R13)."""
        offered, free = self._node.allocatable, self._free
        for nodes in masks(self._node.numa_nodes, size):
            if self._spread(nodes)[1]:
                continue
            score = self._scoring.of_numa_nodes(self._demand.request, offered, free, nodes)
            hint = NumaHint(mask_of(nodes), score=self._preference(nodes) + score)
            for name, each in found.items():
                if all(free[node].get(name, 0) for node in nodes):
                    each.append(hint)

    def _preference(self, nodes: Sequence[int]) -> int:
        """Return a score that outweighs all others, for NUMA nodes of the Reservation that the pod uses."""
        reserved = {node for node, _ in self._source.preferred.amounts}
        return _RESERVED_SCORE if reserved.issuperset(nodes) else 0

    def _why_unaligned(self, policy: str, hints: Hints, devices: Hints) -> str:
        lacking = self._spread(self._node.numa_nodes)[1]
        if not lacking and policy != SINGLE_NUMA_NODE:  # for that one wider sets were not tried
            lacking = tuple(name for name, each in hints.items() if not each)
        if lacking:
            return reasons.unsatisfied(lacking[0])
        return reasons.UNALIGNED if all(devices.values()) else reasons.DEVICES

    def _allocate(self, nodes: int | None) -> CpuChoice | str:
        parts: Spread | None = None
        if nodes is not None:
            parts, lacking = self._spread(nodes_in(nodes))
            if lacking:
                return reasons.insufficient(lacking[0])
        # NUMA nodes that report no CPU have no part of it
        has_parts = parts is not None and any(CPU in part for part in parts.values())
        cpus = self._take(parts if has_parts else None) if self._binds else 0
        if isinstance(cpus, str):
            return cpus
        amounts = tuple((node, tuple(sorted(part.items()))) for node, part in sorted((parts or {}).items()))
        return CpuChoice(cpus, amounts, nodes)
