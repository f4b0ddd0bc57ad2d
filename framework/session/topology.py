"""Topology of a session: its domains, and the order in which plugins want them tried."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.domains import ALLOCATE, DomainNodes, Domains
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import FloatArray
from pyroclast.model.gangs.gathering import Gathering
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.texts import quoted
from pyroclast.model.topology.labels import topology_of_label
from pyroclast.model.topology.layers import CLUSTER_LAYER, DEFAULT, NODE_LAYER, topology_of_layers
from pyroclast.model.topology.tree import Topology, topology_of

__all__ = ["SessionTopology"]


class SessionTopology:
    """The topology domains of one session, and what is asked about them."""

    def __init__(self, snapshot: Snapshot, nodes: SessionNodes, extensions: Extensions) -> None:
        self._snapshot = snapshot
        self._nodes = nodes
        self._extensions = extensions
        self._domains: Domains | None = None
        self._by_label: dict[str, Domains] = {}
        self._by_layers: dict[int, Domains] = {}
        """Domains of the cluster's layers, by the highest tier that a gang may span."""

    @property
    def domains(self) -> Domains:
        """The tree of topology domains over this session's nodes."""
        if self._domains is None:
            topology = self._snapshot.topology or topology_of({}, self._nodes.facts)
            self._domains = Domains(topology, self._nodes)
        return self._domains

    def domains_of(self, job: SessionJob) -> Domains:
        """Return the domains that limit a job: those of its label, of its layers, or of the tree of HyperNodes."""
        gathering = self.gathering_of(job)
        if gathering is not None:
            return self._domains_of_layers(gathering)
        key = job.topology_key
        if not key:
            return self.domains
        known = self._by_label.get(key)
        if known is None:
            facts = self._nodes.facts
            topology = facts.derive(("topology of label", key), lambda: topology_of_label(key, facts))
            known = self._by_label[key] = Domains(topology, self._nodes)
        return known

    def gathering_of(self, job: SessionJob) -> Gathering | None:
        """Return how a gang of Koordinator is gathered; None for other jobs."""
        group = self._snapshot.gangs.get(job.id)
        return None if group is None else group.gathering

    def lacking_layers(self, job: SessionJob) -> str:
        """Return why the layers in which a gang must be gathered are unknown; empty if they are known."""
        gathering = self.gathering_of(job)
        if gathering is None:
            return ""
        if self._snapshot.layers is None:
            return "" if not gathering.musts else f"there is no ClusterNetworkTopology {DEFAULT!r}"
        known = {NODE_LAYER, CLUSTER_LAYER, *(layer.name for layer in self._snapshot.layers)}
        unknown = [name for name in (*gathering.musts, *gathering.multiples) if name not in known]
        return f"the ClusterNetworkTopology has no layer {quoted(unknown[0])}" if unknown else ""

    def layer_names(self, job: SessionJob) -> dict[int, str]:
        """Return the layer of each tier for a gang that is gathered; empty for other jobs."""
        if self.gathering_of(job) is None:
            return {}
        return {tier: name for name, tier in self.domains_of(job).topology.tier_by_name.items()}

    def tree_of_layers(self) -> Topology:
        """Return the domains of the cluster's layers; single nodes below the root if there are no layers."""
        facts, layers = self._nodes.facts, self._snapshot.layers or ()
        return facts.derive(("topology of layers", layers), lambda: topology_of_layers(layers, facts))

    def _domains_of_layers(self, gathering: Gathering) -> Domains:
        """Return the domains of the cluster's layers, up to the lowest layer in which the gang must be."""
        topology = self.tree_of_layers()
        tiers = topology.tier_by_name
        limit = min((tiers[name] for name in gathering.musts if name in tiers), default=topology.tiers[-1])
        known = self._by_layers.get(limit)
        if known is None:
            known = self._by_layers[limit] = Domains(topology, self._nodes, limit=limit)
        return known

    def serves(self, job: SessionJob) -> bool:
        """Return whether the topology of a job is kept to: labels and layers always are, HyperNodes by a plugin."""
        return bool(job.topology_key) or self.gathering_of(job) is not None or self.is_served

    def gradients_for_job(self, job: SessionJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains to be tried for a job, best level first; the root alone if no plugin answers."""
        if self.gathering_of(job) is not None:
            levels = self._of_layers(job, root)
            return levels if purpose == ALLOCATE else levels[::-1]
        if job.topology_key:
            return self._of_label(job, root)
        return self._gradients(contract.HYPER_NODE_GRADIENT_FOR_JOB, job, root, purpose)

    def gradients_for_part(self, part: SubJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains inside another to be tried for a sub-job, best level first."""
        if self.gathering_of(part.job) is not None:
            return self._of_layers(part.job, root)
        if part.job.topology_key:
            return self._of_label(part.job, root)
        return self._gradients(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB, part, root, purpose)

    def _gradients(self, point: Point[Any], subject: SessionJob | SubJob, root: int, purpose: str) -> list[list[int]]:
        functions = self._extensions.functions(point)
        if not functions:
            return [[root]]
        name = self.domains.topology.domains[root].name
        levels = self._extensions.ask_or(functions[0], (), subject, name, purpose)
        numbers = (self._extensions.ask_or(functions[0], [], level, asking=self.domains.numbers) for level in levels)
        return [level for level in numbers if level]

    def _of_label(self, job: SessionJob, root: int) -> list[list[int]]:
        """Return the domains of a job's label inside another; the one where members run, if some do."""
        domains = self.domains_of(job)
        limit = domains.limit_of_job(job)
        assert limit is not None, "a job with a label has a limit"
        allowed = domains.allowed(limit=limit, held=domains.held_by_job(job), root=root)
        return [allowed] if allowed else []

    def _of_layers(self, job: SessionJob, root: int) -> list[list[int]]:
        """Return the domains of the cluster's layers inside another, by layer, the lowest first."""
        domains = self.domains_of(job)
        limit = domains.limit_of_job(job)
        assert limit is not None, "a gathered gang has a limit"
        levels: dict[int, list[int]] = {}
        for number in domains.allowed(limit=limit, held=domains.held_by_job(job), root=root):
            levels.setdefault(domains.topology.domains[number].tier, []).append(number)
        return [levels[tier] for tier in sorted(levels)]

    def domain_scores(self, part: SubJob, numbers: Sequence[int]) -> FloatArray:
        """Score domains for a sub-job, shape of `numbers`: higher is better. The fullest value of a label is best."""
        if part.job.topology_key or self.gathering_of(part.job) is not None:
            return self.domains_of(part.job).fullness(numbers)
        named = DomainNodes(self.domains, numbers, self._nodes.table.names)
        totals = np.zeros(len(numbers))
        for each in self._extensions.functions(contract.HYPER_NODE_ORDER):
            scores = self._extensions.ask_or(each, {}, part, named)
            totals += [float(self._extensions.ask_or(each, 0.0, name, 0.0, asking=scores.get)) for name in named]
        return totals

    @property
    def is_served(self) -> bool:
        """Whether a plugin chooses topology domains, so that hard topologies are kept to."""
        return bool(self._extensions.functions(contract.HYPER_NODE_GRADIENT_FOR_JOB))
