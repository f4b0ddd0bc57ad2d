"""Topology of a session: its domains, and the order in which plugins want them tried."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Point
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.state.domains import DomainNodes, Domains
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.arrays import FloatArray
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.topology.labels import topology_of_label
from pyroclast.model.topology.tree import topology_of

__all__ = ["SessionTopology"]


class SessionTopology:
    """The topology domains of one session, and what is asked about them."""

    def __init__(self, snapshot: Snapshot, nodes: SessionNodes, extensions: Extensions) -> None:
        self._snapshot = snapshot
        self._nodes = nodes
        self._extensions = extensions
        self._domains: Domains | None = None
        self._by_label: dict[str, Domains] = {}

    @property
    def domains(self) -> Domains:
        """The tree of topology domains over this session's nodes."""
        if self._domains is None:
            topology = self._snapshot.topology or topology_of({}, self._nodes.facts)
            self._domains = Domains(topology, self._nodes)
        return self._domains

    def domains_of(self, job: SessionJob) -> Domains:
        """Return the domains that limit a job: those of its label, else the tree of HyperNodes."""
        key = job.topology_key
        if not key:
            return self.domains
        known = self._by_label.get(key)
        if known is None:
            facts = self._nodes.facts
            topology = facts.derive(("topology of label", key), lambda: topology_of_label(key, facts))
            known = self._by_label[key] = Domains(topology, self._nodes)
        return known

    def serves(self, job: SessionJob) -> bool:
        """Return whether the topology of a job is kept to: labels always are, HyperNodes by a plugin."""
        return bool(job.topology_key) or self.is_served

    def gradients_for_job(self, job: SessionJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains to be tried for a job, best level first; the root alone if no plugin answers."""
        if job.topology_key:
            return self._of_label(job, root)
        return self._gradients(contract.HYPER_NODE_GRADIENT_FOR_JOB, job, root, purpose)

    def gradients_for_part(self, part: SubJob, root: int, purpose: str) -> list[list[int]]:
        """Return the domains inside another to be tried for a sub-job, best level first."""
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

    def domain_scores(self, part: SubJob, numbers: Sequence[int]) -> FloatArray:
        """Score domains for a sub-job, shape of `numbers`: higher is better. The fullest value of a label is best."""
        if part.job.topology_key:
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
