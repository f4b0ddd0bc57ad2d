"""Domains of a session: the tree of HyperNodes over the live amounts, and what jobs ask of it.

What a job or sub-job holds (the innermost domain around its placed tasks) follows from the states of its tasks alone,
so trials need not note it and undoing restores it.

For actions that evict, `gradients_for_job` and `gradients_for_part` of the session, asked with purpose `EVICT`, give
the domains in which to look for victims, widest first.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np

from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model import wire
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.ids import NodeName, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task, TaskStatus
from pyroclast.model.topology.tree import ROOT, Topology

__all__ = ["ALLOCATE", "EVICT", "ROOT", "DomainNodes", "Domains", "asks_for_hard_topology"]

ALLOCATE: Final = "allocate"
"""Purpose of a search for domains with capacity."""
EVICT: Final = "evict"
"""Purpose of a search for domains in which capacity can be made."""

_PLACED: Final = ALLOCATED_STATUSES | {TaskStatus.PIPELINED}
_FEW: Final = 32
"""Touched nodes that are counted one by one; more are counted together. Without effect on the outcome."""


class Domains:
    """The domains of one session; D of them, N nodes, R resources."""

    def __init__(self, topology: Topology, nodes: SessionNodes, *, limit: int | None = None) -> None:
        """Make the domains.

        Args:
            topology: The tree.
            nodes: The nodes of the session.
            limit: The highest tier for all jobs that have these domains; None if each job has its own.
        """
        self.topology = topology
        self._fixed_limit = limit
        self._nodes = nodes
        self._masks: dict[int, BoolArray] = {}
        self._around: list[list[int]] | None = None
        self._counted: IntArray | None = None
        self._used: IntArray | None = None
        self._cursor = 0
        self._room: tuple[IntArray, IntArray] | None = None
        self.allocatable: IntArray = topology.sums(nodes.table.allocatable)
        self.allocatable.setflags(write=False)
        """Allocatable resources of the nodes of each domain, base units, shape (R, D)."""

    @property
    def is_flat(self) -> bool:
        """Whether there is no domain but the root."""
        return len(self.topology.domains) == 1

    def mask(self, number: int) -> BoolArray:
        """Return which nodes a domain has, shape (N,); do not write."""
        mask = self._masks.get(number)
        if mask is None:
            mask = self._masks[number] = np.zeros(self.topology.nodes, dtype=np.bool_)
            mask[self.topology.domains[number].columns] = True
            mask.flags.writeable = False
        return mask

    def numbers(self, names: Sequence[str]) -> list[int]:
        """Return the numbers of domains, those that are not known left out, lowest first."""
        known = self.topology.numbers
        return sorted({known[name] for name in names if name in known})

    # What is asked ----------------------------------------------------------------------------------------------------

    def limit_of_job(self, job: SessionJob) -> int | None:
        """Return the highest tier that a job may span; None if it may run anywhere.

        A soft topology may span all, so that its domains are tried from the lowest tier on.
        """
        if self._fixed_limit is not None:
            return self._fixed_limit
        return self._limit(job.job.group.spec.network_topology, self.topology.tiers[-1])

    def limit_of_part(self, part: SubJob) -> int | None:
        """Return the highest tier that a sub-job may span; a soft one may span what the job may."""
        widest = self.limit_of_job(part.job)
        return self._limit(part.topology, self.topology.tiers[-1] if widest is None else widest)

    def _limit(self, topology: wire.NetworkTopologySpec | None, widest: int) -> int | None:
        if topology is None:
            return None
        if topology.mode == "soft":
            return widest
        if topology.highest_tier_allowed is not None:
            return topology.highest_tier_allowed
        return self.topology.tier_by_name.get(topology.highest_tier_name)

    def unknown_tier(self, job: SessionJob) -> Refusal | None:
        """Refuse a job with a hard topology that names a tier which no HyperNode has."""
        for topology in topologies_of(job):
            name = topology.highest_tier_name
            if (
                topology.mode != "soft"
                and topology.highest_tier_allowed is None
                and name
                and name not in self.topology.tier_by_name
            ):
                message = f"its network topology allows tiers up to {name!r}, which names no tier of any HyperNode"
                return Refusal(plugin="allocate", reason="UnknownTier", message=message, resolvable=False)
        return None

    def allowed(self, *, limit: int, held: int, root: int) -> list[int]:
        """Return the domains inside `root` up to a tier; with something held, those inside the highest around it."""
        start = root if held < 0 else self._shared(self._highest(limit, held), root)
        if start < 0:
            return []
        domains = self.topology.domains
        return sorted(number for number in self.topology.inside(start) if domains[number].tier <= limit)

    def _highest(self, limit: int, held: int) -> int:
        """Return the highest domain around another, up to the first that exceeds a tier; negative without any."""
        highest = -1
        for number in self.topology.ancestors(held):
            if self.topology.domains[number].tier > limit:
                break
            highest = number
        return highest

    def _shared(self, left: int, right: int) -> int:
        """Return the inner one of two domains where one is inside the other, else a negative number."""
        common = self.topology.common(left, right) if left >= 0 else -1
        if common < 0:
            return -1
        return right if common == left else (left if common == right else -1)

    # What is held -----------------------------------------------------------------------------------------------------

    def held_by_job(self, job: SessionJob) -> int:
        """Return the innermost domain around a job's placed tasks; negative if there are none."""
        return self.topology.innermost(self._columns_of(job.tasks))

    def held_by_part(self, part: SubJob) -> int:
        """The same of a sub-job."""
        return self.topology.innermost(self._columns_of(part.tasks))

    def columns_held(self, part: SubJob) -> IntArray:
        """Return the node of each placed task of a sub-job, shape (placed,)."""
        return self._columns_of(part.tasks)

    def _columns_of(self, tasks: Mapping[TaskId, Task]) -> IntArray:
        column = self._nodes.table.column
        placed = (column.get(task.node) for task in tasks.values() if task.node is not None and task.status in _PLACED)
        return np.array([each for each in placed if each is not None], dtype=np.int64)

    def beside(self, part: SubJob, places: IntArray | None = None) -> BoolArray | None:
        """Return where one more task of a sub-job may run beside what is placed of it and its job, shape (N,).

        None if it may run anywhere. As long as nothing is placed: in any domain that is allowed.

        Args:
            part: The sub-job.
            places: How many tasks that ask for nothing each node takes, shape (N,); then, as long as nothing is placed,
                domains that hold fewer of those that wait than others do are left out.
        """
        job = part.job
        asked = [(self.limit_of_job(job), self.held_by_job(job), job.pending_best_effort)]
        if job.has_sub_group_policy:
            light = sum(job.counts_as_placed(task) for task in part.tasks.values())
            asked.append((self.limit_of_part(part), self.held_by_part(part), light))
        mask: BoolArray | None = None
        for limit, held, light in asked:
            if limit is None or limit >= self.topology.tiers[-1]:
                continue
            numbers = self.allowed(limit=limit, held=held, root=self.topology.root)
            if places is not None and held < 0:
                numbers = self._roomiest(numbers, places if mask is None else places * mask, light)
            inside = self._inside_any(numbers)
            mask = inside if mask is None else mask & inside
        return mask

    def _roomiest(self, numbers: Sequence[int], places: IntArray, most: int) -> list[int]:
        """Return the domains that have most places, where more than `most` count as so many."""
        found = np.minimum(self.topology.sums(places)[list(numbers)], most).tolist()
        return [number for number, count in zip(numbers, found, strict=True) if count == max(found)]

    def _inside_any(self, numbers: Sequence[int]) -> BoolArray:
        """Return which nodes some of these domains have, shape (N,)."""
        inside = np.zeros(self.topology.nodes, dtype=np.bool_)
        for number in set(numbers) - {child for each in numbers for child in self.topology.domains[each].children}:
            inside |= self.mask(number)
        return inside

    # Amounts ----------------------------------------------------------------------------------------------------------

    def used(self) -> IntArray:
        """Requests of what runs, or will, less what was evicted, by domain, base units, shape (R, D); do not write."""
        rows = self._nodes.rows
        log = self._nodes.log
        if self._used is None or self._counted is None or len(log) - self._cursor > _FEW:
            self._counted = self._nodes.state[rows.viewed].copy()
            self._used = self.topology.sums(self._counted)
        else:
            for column in set(log[self._cursor :]):
                now = self._nodes.state[rows.viewed, column]
                self._used[:, self.around(column)] += (now - self._counted[:, column])[:, None]
                self._counted[:, column] = now
        self._cursor = len(log)
        return self._used

    def fullness(self, numbers: Sequence[int]) -> FloatArray:
        """Return the used part of some domains, from 0 to 1, the mean over the resources that each has."""
        columns = np.asarray(numbers, dtype=np.int64)
        offered, used = self.allocatable[:, columns], self.used()[:, columns]
        has = offered > 0
        parts = np.divide(used, offered, out=np.zeros(offered.shape), where=has)
        means: FloatArray = np.clip(parts, 0.0, 1.0).sum(axis=0) / np.maximum(has.sum(axis=0), 1)
        return means

    def around(self, column: int) -> list[int]:
        """Return the domains that hold a node."""
        if self._around is None:
            self._around = [[] for _ in range(self.topology.nodes)]
            for number, domain in enumerate(self.topology.domains):
                for each in domain.columns.tolist():
                    self._around[each].append(number)
        return self._around[column]

    @property
    def room(self) -> tuple[IntArray, IntArray]:
        """Capacity free when the session began, then or later, by domain, base units, two arrays of shape (R, D).

        A first look, like Volcano's: what the session has placed since, siblings among it, is counted by trials.
        """
        if self._room is None:
            self._room = self._room_in(self._nodes.table.state)
        return self._room

    def _room_in(self, state: IntArray) -> tuple[IntArray, IntArray]:
        columns = self._nodes.supposing(np.arange(len(self._nodes)), state)
        idle, future_idle = self.topology.sums(columns.idle), self.topology.sums(columns.future_idle)
        idle.setflags(write=False)
        future_idle.setflags(write=False)
        return idle, future_idle

    @contextmanager
    def beginning_now(self) -> Iterator[None]:
        """Count the capacity of this moment, as in a session that begins now."""
        before, self._room = self._room, self._room_in(self._nodes.state)
        try:
            yield
        finally:
            self._room = before


class DomainNodes(Mapping[str, Sequence[NodeName]]):
    """Names of nodes by domain, listed only on access."""

    def __init__(self, domains: Domains, numbers: Sequence[int], names: Sequence[NodeName]) -> None:
        self._topology = domains.topology
        self._numbers = {domains.topology.domains[number].name: number for number in numbers}
        self._names = names

    def __getitem__(self, name: str) -> Sequence[NodeName]:
        """Return the nodes of a domain."""
        columns = self._topology.domains[self._numbers[name]].columns
        return tuple(self._names[column] for column in columns.tolist())

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the domains."""
        return iter(self._numbers)

    def __len__(self) -> int:
        """Return the number of domains."""
        return len(self._numbers)


def topologies_of(job: SessionJob) -> Iterator[wire.NetworkTopologySpec]:
    """Return the topologies that a job and its policies ask for."""
    spec = job.job.group.spec
    for topology in (spec.network_topology, *(policy.network_topology for policy in spec.sub_group_policy)):
        if topology is not None:
            yield topology


def asks_for_hard_topology(job: SessionJob) -> bool:
    """Return whether some topology of a job is hard, so that a plugin must enforce it."""
    return any(
        each.mode != "soft" and (each.highest_tier_allowed is not None or bool(each.highest_tier_name))
        for each in topologies_of(job)
    )
