"""Network-topology-aware: order the domains to try for a job, and score domains and nodes.

Points: hypernode gradients, hypernode order, node order.  Arguments: `NetworkTopologyAwareArgs`.  Rules, formulas and
examples: docs/plugins/network-topology-aware.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import GroupedScores, Locality, Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.domains import EVICT, Domains
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import NodeColumns
from pyroclast.model.arrays import FloatArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.resources import CPU, MEMORY, Amounts
from pyroclast.model.tasks import Task, TaskStatus
from pyroclast.plugins.network_topology_aware.closeness import Closeness, Distances
from pyroclast.plugins.network_topology_aware.fullness import fullness
from pyroclast.plugins.network_topology_aware.gradients import capped_widest_first, gradient
from pyroclast.plugins.network_topology_aware.packing import Chains, Packing

__all__ = ["NetworkTopologyAware", "NetworkTopologyAwareArgs"]

MAX_SCORE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTopologyAwareArgs:
    """Arguments of network-topology-aware, spelled as in the configuration file."""

    weight: int = argument("weight", 1, least=0)
    """Weight of this plugin's scores of domains and nodes; 0 disables them."""
    cpu: int = argument("hypernode.binpack.cpu", 1, least=0)
    """Weight of CPU in the fullness of a domain, at least 0."""
    memory: int = argument("hypernode.binpack.memory", 1, least=0)
    """Weight of memory, at least 0."""
    resources: Mapping[str, int] = argument(
        "hypernode.binpack.resources", {}, prefix="hypernode.binpack.resources.", listed=1, least=0
    )
    """Other resources that count, separated by commas; `.<name>` sets the weight of one, at least 0."""
    packs_normal_pods: bool = argument("hypernode.binpack.normal-pod.enable", True)
    """Whether tasks without a topology are placed so that they break few domains."""
    fading: float = argument("hypernode.binpack.normal-pod.fading", 0.8, least=0)
    """Weight of a tier relative to the tier below it, for those tasks; with 0 only tier 1 counts."""
    most_domains_to_evict_in: int = argument("hypernode.gradient.evict.max-hypernodes", 8, least=1)
    """Maximum number of domains that are searched for victims, at least 1."""

    def weights(self) -> dict[str, int]:
        """Return the importance of each resource by name."""
        return {**self.resources, CPU: self.cpu, MEMORY: self.memory}


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkTopologyAware(Plugin):
    """Place jobs in close domains."""

    name = "network-topology-aware"
    watches_clock = False
    args: NetworkTopologyAwareArgs = NetworkTopologyAwareArgs()

    def on_session_open(self, session: Session) -> None:
        """Register every extension point this plugin serves."""
        policy = _Policy(session, self.args)
        session.extensions.register(contract.HYPER_NODE_GRADIENT_FOR_JOB, self.name, policy.gradient_for_job)
        session.extensions.register(contract.HYPER_NODE_GRADIENT_FOR_SUB_JOB, self.name, policy.gradient_for_part)
        if self.args.weight == 0:
            return
        session.extensions.register(contract.HYPER_NODE_ORDER, self.name, policy.score_domains)
        session.extensions.register(
            contract.NODE_ORDER,
            self.name,
            policy.score_nodes,
            locality=Locality.GLOBAL,
            cares=policy.cares,
            grouped=policy.grouped,
            weight=self.args.weight,
        )


class _Policy:
    """The plugin's functions in one session."""

    def __init__(self, session: Session, args: NetworkTopologyAwareArgs) -> None:
        self._session = session
        self._args = args
        self._weights = args.weights()
        self._factor = float(MAX_SCORE * args.weight)
        self._counted: dict[int, tuple[IntArray, IntArray, tuple[int, ...]]] = {}

    @property
    def _domains(self) -> Domains:
        return self._session.topology.domains

    @cached_property
    def _chains(self) -> Chains:
        return Chains(self._domains.topology, self._args.fading)

    @cached_property
    def _distances(self) -> Distances:
        return Distances(self._domains.topology)

    # Gradients

    def gradient_for_job(self, job: SessionJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        """Return the domains to try for a job, by level."""
        request = self._vector(job.job.min_resources or {})
        held = self._domains.held_by_job(job)
        return self._gradient(self._domains.limit_of_job(job), held, root, request, purpose)

    def gradient_for_part(self, part: SubJob, root: str, purpose: str) -> Sequence[Sequence[str]]:
        """Return the domains to try for a sub-job, by level."""
        needs = self._session.nodes.needs
        request = np.zeros(len(self._session.resources), dtype=np.int64)
        for task in part.tasks.values():
            if task.status is TaskStatus.PENDING:
                request = request + needs(task.template).request
        held = self._domains.held_by_part(part)
        return self._gradient(self._domains.limit_of_part(part), held, root, request, purpose)

    def _gradient(
        self, limit: int | None, held: int, root: str, request: IntArray, purpose: str
    ) -> Sequence[Sequence[str]]:
        if limit is None:
            return [[root]]
        tree = self._domains.topology
        levels = gradient(
            self._domains, limit=limit, held=held, root=tree.numbers[root], request=request, purpose=purpose
        )
        if purpose == EVICT:
            levels = capped_widest_first(levels, self._args.most_domains_to_evict_in)
        return [[tree.domains[number].name for number in level] for level in levels]

    def _vector(self, amounts: Amounts) -> IntArray:
        known = {name: amount for name, amount in amounts.items() if name in self._session.resources.rows}
        return self._session.resources.vector(known)

    # Scores of domains

    def score_domains(self, part: SubJob, named: Mapping[str, Sequence[NodeName]]) -> Mapping[str, float]:
        """Score domains by their fullness with the sub-job. Among equal ones, more of its tasks score higher."""
        domains = self._domains
        numbers = np.array([domains.topology.numbers[name] for name in named], dtype=np.int64)
        request = np.zeros(len(self._session.resources), dtype=np.int64)
        for task in part.tasks.values():
            request = request + self._session.nodes.needs(task.template).request
        rows, weights = self._rows(request)
        scores = fullness(
            request[rows], domains.used()[rows][:, numbers], domains.allocatable[rows][:, numbers], weights
        )
        best = scores == scores.max() if scores.size else scores > 0
        if best.sum() > 1 and part.size:
            marks = np.bincount(domains.columns_held(part), minlength=domains.topology.nodes).astype(np.int64)
            scores = scores + np.where(best, domains.topology.sums(marks)[numbers] / part.size, 0.0)
        return dict(zip(named, (scores * self._factor).tolist(), strict=True))

    def _rows(self, request: IntArray) -> tuple[IntArray, tuple[int, ...]]:
        names = self._session.resources.names
        counted = [row for row in np.flatnonzero(request > 0).tolist() if names[row] in self._weights]
        return np.array(counted, dtype=np.int64), tuple(self._weights[names[row]] for row in counted)

    # Scores of nodes

    def cares(self, task: Task) -> bool:
        """Return whether the plugin scores a task's nodes."""
        if self._domains.is_flat:
            return False
        part = self._part_with_topology(task)
        if part is not None:
            return True
        return self._args.packs_normal_pods and task.job is not None

    def _part_with_topology(self, task: Task) -> SubJob | None:
        job = self._session.jobs.of(task)
        if job is None or not job.has_topology:
            return None
        part = job.part_of(task)
        return part if part is not None and part.topology is not None else None

    def score_nodes(self, task: Task, columns: NodeColumns) -> FloatArray:
        """Score nodes by their groups."""
        grouped = self.grouped(task)
        groups = grouped.groups[columns.index]
        candidates = np.bincount(groups, minlength=grouped.group_count).astype(np.int64)
        scores: FloatArray = grouped.scores(candidates)[groups]
        return scores

    def grouped(self, task: Task) -> GroupedScores:
        """Return the scores of node groups for a task."""
        domains = self._domains
        part = self._part_with_topology(task)
        if part is not None:
            placed = domains.columns_held(part)
            return Closeness(self._distances, placed=placed, size=part.size, factor=self._factor)
        rows, request, weights = self._request(task)
        used = domains.used()[rows]  # a copy that the trial placements change
        return Packing(
            self._chains,
            request=request,
            used=used,
            allocatable=domains.allocatable[rows],
            weights=weights,
            factor=self._factor,
        )

    def _request(self, task: Task) -> tuple[IntArray, IntArray, tuple[int, ...]]:
        known = self._counted.get(task.template.number)
        if known is None:
            request = self._session.nodes.needs(task.template).request
            rows, weights = self._rows(request)
            known = self._counted[task.template.number] = (rows, request[rows], weights)
        return known
