"""Blocking candidates: upper bounds of the places without some jobs, which select the jobs to try.

Never too few: rules that depend on what else is on nodes, and limits of queues, are not asked. R resources, N nodes.

A zone is a set of nodes in which the whole job must run: all of them, or the widest domains that its topology allows.
Inside a zone places count by cells: by node, or, where each sub-group must run in one domain, by the widest of these;
as many places of one cell as a sub-group lacks make one unit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from pyroclast.framework.placement.placing import Worksheet
from pyroclast.framework.placement.topology.placing import goes_by_domains
from pyroclast.framework.preemption.victim_gangs import ACTIVE_STATUSES
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.domains import Domains
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import JobId, NodeName
from pyroclast.model.tasks import Task

__all__ = ["Choice", "Held", "Layout", "Places", "on_nodes_here"]

_MOST_ENDED: Final = 1000
"""Maximum number of jobs on nodes that are checked, in the order of their ids."""
_MOST_TOGETHER: Final = 100
"""Jobs that must end together, at most."""
_MOST_ZONES: Final = 2
"""Zones of a job, those that lack least, in which several jobs are thought of as ended."""
_NOWHERE: Final = -1


class Choice(NamedTuple):
    """Jobs whose end might be enough."""

    ended: list[SessionJob]
    """Oldest first."""
    zone: int
    """Number of the domain in which there would be places enough."""


@dataclass(frozen=True, slots=True)
class Held:
    """Resources that jobs hold on nodes; K pairs of a job and a node, by job."""

    jobs: list[SessionJob]
    number: IntArray
    """Position in `jobs`, shape (K,), ascending."""
    column: IntArray
    """Shape (K,)."""
    amounts: IntArray
    """Base units, shape (R, K)."""
    by_job: IntArray
    """The same added up by job, shape (R, jobs)."""
    age_rank: IntArray
    """Positions of the jobs in the order of their ages, oldest first, shape (jobs,)."""
    queue: IntArray
    """Their queues, by position in the snapshot, shape (jobs,)."""

    @classmethod
    def of(cls, session: Session) -> "Held":
        """Add up what jobs hold that have tasks on nodes at this moment."""
        jobs = list(_on_nodes(session))
        pairs: list[int] = []
        requests: list[IntArray] = []
        for number, job in enumerate(jobs):
            for task, node in on_nodes_here(session, job):
                pairs.append(number * len(session.nodes) + session.nodes.table.column[node])
                requests.append(session.nodes.needs(task.template).request)
        distinct, position = np.unique(np.array(pairs, dtype=np.int64), return_inverse=True)
        amounts = np.zeros((distinct.size, len(session.resources)), dtype=np.int64)
        if requests:
            np.add.at(amounts, position, np.array(requests))
        numbers, columns = np.divmod(distinct, len(session.nodes))
        by_job = np.zeros((len(jobs), len(session.resources)), dtype=np.int64)
        np.add.at(by_job, numbers, amounts)
        age_rank = np.empty(len(jobs), dtype=np.int64)
        age_rank[sorted(range(len(jobs)), key=lambda number: _age(jobs[number]))] = np.arange(len(jobs))
        queue = session.snapshot.job_table.queue[[job.job.column for job in jobs]]
        by_resource = np.ascontiguousarray(amounts.T)
        return cls(jobs, numbers, columns, by_resource, np.ascontiguousarray(by_job.T), age_rank, queue)

    def pairs_of(self, number: int) -> slice:
        """Return which pairs are of one job, by its position."""
        begin, end = np.searchsorted(self.number, (number, number + 1)).tolist()
        return slice(begin, end)


@dataclass(frozen=True, slots=True)
class Layout:
    """Domains that a job may use, and the number of places it lacks."""

    zone: IntArray
    """The zone of each node, as the number of a domain, negative if it may not run, shape (N,)."""
    cell: IntArray
    """The cell of each node, shape (N,); negative if no part may run."""
    size: int
    """Places of one cell that make a unit."""
    needed: int
    """Units in one zone that the minimum lacks at least."""

    @classmethod
    def of(cls, session: Session, job: SessionJob, sheets: Sequence[Worksheet]) -> "Layout":
        """Find out where a job may run.

        Args:
            session: The session.
            job: A job that waits.
            sheets: Its tasks that want places, by sub-job.
        """
        domains = session.topology.domains_of(job)
        everywhere = np.zeros(len(session.nodes), dtype=np.int64) + domains.topology.root
        lacking = max(job.min_available - job.ready_count - job.pending_best_effort, 1)
        required = [sheet for sheet in sheets if sheet.is_required]
        needed = max(lacking, sum(sheet.sub_job.missing for sheet in required))
        by_node = np.arange(len(session.nodes), dtype=np.int64)
        if not (session.topology.serves(job) and goes_by_domains(session, job)):
            return cls(everywhere, by_node, 1, needed)
        limit = domains.limit_of_job(job)
        zone = everywhere if limit is None else _zones(domains, job, limit)
        if not job.has_sub_group_policy:
            # a job that has begun may continue one by one; otherwise a domain must have capacity for all its pending
            # tasks
            return cls(zone, by_node, 1, needed if job.allocated_count else len(sheets[0].left()))
        tiers = {domains.limit_of_part(sheet.sub_job) for sheet in sheets}
        tier = tiers.pop() if len(tiers) == 1 else None
        if tier is None:
            return cls(zone, by_node, 1, needed)
        sizes = [len(sheet.left()) for sheet in required or sheets]
        units = len(required) or -(-lacking // max(sizes))
        return cls(zone, _widest(domains, tier if limit is None else min(tier, limit)), min(sizes), units)


def _zones(domains: Domains, job: SessionJob, limit: int) -> IntArray:
    """Return the widest domain in which a job may run, by node; negative for none, shape (N,)."""
    allowed = domains.allowed(limit=limit, held=domains.held_by_job(job), root=domains.topology.root)
    zone = np.full(domains.topology.nodes, _NOWHERE, dtype=np.int64)
    for number in allowed:  # wider ones come later
        zone[domains.topology.domains[number].columns] = number
    return zone


def _widest(domains: Domains, limit: int) -> IntArray:
    """Return the widest domain up to a tier around each node; negative for none, shape (N,)."""
    cell = np.full(domains.topology.nodes, _NOWHERE, dtype=np.int64)
    for number, domain in enumerate(domains.topology.domains):
        if domain.tier <= limit:
            cell[domain.columns] = number
    return cell


class Places:
    """Number of equal tasks that nodes have capacity for after some jobs have ended."""

    def __init__(self, session: Session, held: Held, job: SessionJob, task: Task, layout: Layout) -> None:
        """Prepare.

        Args:
            session: The session.
            held: What jobs hold.
            job: The job that waits.
            task: The smallest of its tasks.
            layout: Where it may run.
        """
        request = session.nodes.needs(task.template).request
        self._asked = np.flatnonzero(request > 0)
        self._request = request[self._asked]
        self._helped = session.candidates.of(task).permitted_by_facts & (layout.zone >= 0) & (layout.cell >= 0)
        self._held = held
        self._job = job
        self._layout = layout
        self._queue = int(session.snapshot.job_table.queue[job.job.column])
        self._queue_lacks = self._request * _lacking_in_queue(session, job, task, layout)
        """Resources that the queue lacks for that many tasks, shape (asked,); 0 if it has capacity, or if that is
        unknown."""
        self._lacks_in_queue = bool(self._queue_lacks.any())
        self._zones = len(session.topology.domains_of(job).topology.domains)
        self._cells = max(len(session.nodes), self._zones)
        self._zone_of_cell = np.full(self._cells, _NOWHERE, dtype=np.int64)
        self._zone_of_cell[layout.cell[self._helped]] = layout.zone[self._helped]
        self._freed = held.amounts[self._asked]
        self._room = session.nodes.columns().future_idle[self._asked]
        self._now = self.on(self._room, self._helped)

    def on(self, room: IntArray, helped: BoolArray) -> IntArray:
        """Count places in capacity on nodes, shape (asked, n), of which some could ever be used, shape (n,)."""
        return np.where(helped, (np.maximum(room, 0) // self._request[:, None]).min(axis=0), 0)

    def _by_cell(self, places: IntArray) -> IntArray:
        """Add up places of nodes by cell, shape (cells,)."""
        helped = self._helped
        return np.bincount(self._layout.cell[helped], places[helped], self._cells).astype(np.int64)

    def _by_zone(self, in_cells: IntArray) -> IntArray:
        """Count the units of cells by zone, shape (zones,)."""
        known = self._zone_of_cell >= 0
        units = in_cells[known] // self._layout.size
        return np.bincount(self._zone_of_cell[known], units, self._zones).astype(np.int64)

    def is_enough(self, in_cells: IntArray, in_queue: IntArray | int) -> bool:
        """Return whether the minimum has what it lacks.

        Args:
            in_cells: Places in each of some cells.
            in_queue: What jobs of its queue have freed, shape (asked,).
        """
        units = int((in_cells // self._layout.size).sum())
        return units >= self._layout.needed and bool((self._queue_lacks <= in_queue).all())

    def cells_of(self, zone: int) -> IntArray:
        """Return the cells of a zone."""
        return np.flatnonzero(self._zone_of_cell == zone)

    def in_queue(self, number: int) -> IntArray:
        """Return what a job, by its position, frees in the queue, shape (asked,)."""
        freed: IntArray = self._held.by_job[self._asked, number]
        return freed if self._held.jobs[number].queue == self._job.queue else np.zeros_like(freed)

    def of_job(self, number: int) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
        """Return of a job, by its position, its nodes, what it holds, and their cells, and which could ever be used."""
        where = self._held.pairs_of(number)
        columns = self._held.column[where]
        return columns, self._freed[:, where], self._layout.cell[columns], self._helped[columns]

    # One job ----------------------------------------------------------------------------------------------------------

    def alone(self) -> Iterator[Choice]:
        """Yield the jobs whose end alone might be enough, oldest first."""
        held, size = self._held, self._layout.size
        after = self.on(self._room[:, held.column] + self._freed, self._helped[held.column])
        more = after - self._now[held.column]
        gain = np.flatnonzero(more > 0)
        in_cells = self._by_cell(self._now)
        by_cell, position = np.unique(
            held.number[gain] * self._cells + self._layout.cell[held.column[gain]], return_inverse=True
        )
        added = np.zeros(by_cell.size, dtype=np.int64)
        np.add.at(added, position, more[gain])
        numbers, cells = np.divmod(by_cell, self._cells)
        units = (in_cells[cells] + added) // size - in_cells[cells] // size
        by_zone, position = np.unique(numbers * self._zones + self._zone_of_cell[cells], return_inverse=True)
        sums = np.zeros(by_zone.size, dtype=np.int64)
        np.add.at(sums, position, units)
        numbers, zones = np.divmod(by_zone, self._zones)
        enough = (sums > 0) & (self._by_zone(in_cells)[zones] + sums >= self._layout.needed)
        numbers, zones = numbers[enough], zones[enough]
        helps = self._helps_queue[numbers]
        ranked = np.lexsort((numbers, zones, held.age_rank[numbers], ~helps)).tolist()
        found = ((int(numbers[each]), int(zones[each])) for each in ranked)
        return (Choice([held.jobs[number]], zone) for number, zone in found if held.jobs[number] is not self._job)

    @cached_property
    def _helps_queue(self) -> BoolArray:
        """Whether each job frees at least what the queue lacks, shape (jobs,)."""
        held = self._held
        freed = held.by_job[self._asked] * (held.queue == self._queue)
        helps: BoolArray = (freed >= self._queue_lacks[:, None]).all(axis=0)
        return helps

    # Several ----------------------------------------------------------------------------------------------------------

    def together(self) -> Iterator[Choice]:
        """Yield sets of several jobs whose end might be enough: the smallest of each zone, then all of a zone."""
        grown = [(chosen, zone) for zone in self._zones_within_reach() if (chosen := self._grown(zone))]
        grown.sort(key=lambda each: len(each[0]))
        for chosen, zone in grown:
            yield self._choice(chosen, zone)
        for _, zone in grown:
            yield self._choice(self._in_turn(zone)[:_MOST_TOGETHER], zone)

    def _choice(self, chosen: Sequence[int], zone: int) -> Choice:
        return Choice(sorted((self._held.jobs[number] for number in chosen), key=_age), zone)

    @cached_property
    def _others(self) -> BoolArray:
        """Whether each pair belongs to another job, shape (K,)."""
        own = next((number for number, each in enumerate(self._held.jobs) if each is self._job), _NOWHERE)
        others: BoolArray = self._held.number != own
        return others

    @cached_property
    def _without_all(self) -> IntArray:
        """Places by node if all other jobs had ended, shape (N,)."""
        freed = np.zeros(self._room.shape[::-1], dtype=np.int64)
        np.add.at(freed, self._held.column[self._others], self._freed[:, self._others].T)
        return self.on(self._room + freed.T, self._helped)

    def _zones_within_reach(self) -> list[int]:
        """Return zones that would have enough if all other jobs had ended, first those that lack least."""
        now, then = (self._by_zone(self._by_cell(places)) for places in (self._now, self._without_all))
        able = np.flatnonzero(then >= self._layout.needed)
        ranked: list[int] = able[np.lexsort((able, -now[able]))].tolist()
        return ranked[:_MOST_ZONES]

    def _grown(self, zone: int) -> list[int]:
        """Take job after job until there is enough in a zone, and leave out again whose end is not needed.

        None where these would be too many.
        """
        ending = _Ending(self, zone)
        chosen: list[int] = []
        for number in self._in_turn(zone)[:_MOST_TOGETHER]:
            if ending.is_enough():
                break
            ending.end(number)
            chosen.append(number)
        return ending.thinned(chosen) if ending.is_enough() else []

    def _in_turn(self, zone: int) -> list[int]:
        """Return the jobs that take places of a zone: first those of cells that lack least, of nodes with few jobs."""
        held, layout = self._held, self._layout
        on_node = np.bincount(held.column, minlength=self._now.size)
        more = self._without_all - self._now
        columns = np.flatnonzero((more > 0) & (layout.zone == zone))
        cells = layout.cell[columns]
        lacking = -self._by_cell(self._now)[cells] if layout.size > 1 else np.zeros_like(cells)
        cells = cells if layout.size > 1 else np.zeros_like(cells)
        turn = np.full(self._now.size, columns.size, dtype=np.int64)
        turn[columns[np.lexsort((columns, -more[columns], on_node[columns], cells, lacking))]] = range(columns.size)
        pairs = np.flatnonzero(self._others & (turn[held.column] < columns.size))
        pairs = pairs[np.lexsort((held.number[pairs], turn[held.column[pairs]]))]
        numbers = list(dict.fromkeys(held.number[pairs].tolist()))
        if self._lacks_in_queue:
            numbers += np.setdiff1d(held.number[self._others], numbers).tolist()
            numbers.sort(key=lambda number: held.jobs[number].queue != self._job.queue)
        return numbers

    def ending(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return copies of what changes as jobs end: capacity, places by node, places by cell."""
        return self._room.copy(), self._now.copy(), self._by_cell(self._now)


class _Ending:
    """Units in one zone as jobs end, one after the other, and come back."""

    def __init__(self, places: Places, zone: int) -> None:
        self._places = places
        self._room, self._now, self._in_cells = places.ending()
        self._cells = places.cells_of(zone)
        self._in_queue: IntArray | int = 0

    def is_enough(self) -> bool:
        """Return whether there are as many units as the minimum lacks."""
        return self._places.is_enough(self._in_cells[self._cells], self._in_queue)

    def end(self, number: int, *, back: bool = False) -> None:
        """End a job on trial, by its position, or restore it."""
        columns, freed, cells, helped = self._places.of_job(number)
        self._room[:, columns] += -freed if back else freed
        after = self._places.on(self._room[:, columns], helped)
        np.add.at(self._in_cells, cells[helped], (after - self._now[columns])[helped])
        self._now[columns] = after
        in_queue = self._places.in_queue(number)
        self._in_queue = self._in_queue + (-in_queue if back else in_queue)

    def thinned(self, chosen: Sequence[int]) -> list[int]:
        """Leave out of jobs that have ended, and are enough, those whose end is not needed: the last first."""
        kept = set(chosen)
        for number in reversed(chosen):
            self.end(number, back=True)
            if self.is_enough():
                kept.discard(number)
            else:
                self.end(number)
        return [number for number in chosen if number in kept]


def _lacking_in_queue(session: Session, job: SessionJob, task: Task, layout: Layout) -> int:
    """Count the needed equal tasks that the queue lacks capacity for; 0 if no plugin counts that."""
    if not session.queues.judges_templates:
        return 0
    needed = layout.needed * layout.size
    return needed - session.queues.headroom(session.queues.by_name[job.queue], task, needed)


def on_nodes_here(session: Session, job: SessionJob) -> list[tuple[Task, NodeName]]:
    """Return a job's tasks on nodes of this session, with them: a node may have gone, or be another scheduler's now."""
    column = session.nodes.table.column
    return [
        (task, task.node) for task in job.in_status(*ACTIVE_STATUSES) if task.node is not None and task.node in column
    ]


def _on_nodes(session: Session) -> Iterator[SessionJob]:
    """Yield the first jobs, in the order of their ids, that hold capacity in the snapshot or were placed since."""
    table = session.snapshot.job_table
    mask = table.counts[list(ACTIVE_STATUSES)].sum(axis=0) > 0
    mask[[job.job.column for job in session.jobs.known().values() if job.allocated_count]] = True
    for job in table.select(mask)[:_MOST_ENDED]:
        found = session.jobs.get(job.id)
        if found is not None:
            yield found


def _age(job: SessionJob) -> tuple[float, JobId]:
    return job.created, job.id
