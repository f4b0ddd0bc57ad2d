"""Gathering: places a whole gang of Koordinator close together in the network, before its members are tried one by one.

Each node is asked how many of the gang's tasks it can take, in task order. A node that takes fewer than this, for a
reason beyond amounts, counts for that many in the next try.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

import numpy as np

from pyroclast.framework.placement.placing import Worksheet, place_tasks
from pyroclast.framework.placement.topology.attraction import attraction_of
from pyroclast.framework.placement.topology.capacity import most_per_node
from pyroclast.framework.placement.topology.distribution import Distribution
from pyroclast.framework.placement.topology.turns import domain_turns
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["gather", "has_multiples"]

_MOST_TRIES: Final = 32
"""Distributions that are tried for a gang in a cycle."""
_DOMAINS_PER_STEP: Final = 128
"""Domains that are ranked for a distribution in the time of one trial of a domain."""


def gather(session: Session, statement: Statement, job: SessionJob, sheet: Worksheet) -> bool:
    """Place the tasks of a gang that is gathered, all of them if possible, else as many as its minimum needs.

    Nothing is done for other jobs, and for gangs with members on nodes: the others stay near these.

    Returns:
        Whether nothing else is to be tried: the job is ready, or its numbers of tasks by layer cannot be had.
    """
    gathering = session.topology.gathering_of(job)
    if gathering is None:
        return False
    domains = session.topology.domains_of(job)
    if domains.held_by_job(job) >= 0:
        return False
    tiers = domains.topology.tier_by_name
    multiples = {tiers[name]: count for name, count in gathering.multiples.items() if name in tiers}
    tasks, mark = sheet.left(), sheet.mark()
    needed = max(session.jobs.missing_of_job(job), 1)
    turn = domain_turns(session).of(job)
    turn.begin("gathered")
    counts = () if turn.has_tried("") else dict.fromkeys((len(tasks), min(needed, len(tasks))))
    open_tries = 0
    for count in counts:
        trial = _Trial(session, statement, job, tasks[:count], multiples)
        if trial.place():
            sheet.take(count)
            turn.end()
            return True
        if not trial.is_exhaustive:
            open_tries = max(open_tries, trial.tries)
        sheet.return_to(mark)
    turn.note("")  # the turn goes on with single domains
    if multiples:
        _refuse(job, sheet, gathering.multiples, open_tries=open_tries)
    return bool(multiples)


def has_multiples(session: Session, job: SessionJob) -> bool:
    """Return whether the number of a gang's tasks in some domains must be a multiple, which only `gather` ensures."""
    gathering = session.topology.gathering_of(job)
    return gathering is not None and bool(gathering.multiples)


class _Trial:
    """Tries to place some tasks together."""

    def __init__(
        self,
        session: Session,
        statement: Statement,
        job: SessionJob,
        tasks: Sequence[Task],
        multiples: Mapping[int, int],
    ) -> None:
        self._session, self._statement, self._job = session, statement, job
        self._tasks, self._multiples = tasks, multiples
        self.is_exhaustive = False
        """Whether no other distribution could be tried."""
        self.tries = 0
        """Number of distributions that were tried."""

    def place(self) -> bool:
        """Place all tasks, and return whether the job is ready; else nothing is placed."""
        session, job = self._session, self._job
        domains = session.topology.domains_of(job)
        tree, limit = domains.topology, domains.limit_of_job(job)
        assert limit is not None, "a gathered job has a limit"
        allowed = domains.allowed(limit=limit, held=-1, root=tree.root)
        offers, scores = _offers(session, self._tasks), _scores(session, self._tasks[0])
        attraction = attraction_of(session, self._tasks[0])
        before, reasons = len(self._statement.operations), job.reasons.copy()
        turn = domain_turns(session).of(job)
        while self.tries < _MOST_TRIES and turn.has_share:
            self.tries += 1
            turn.count(len(self._tasks) + len(allowed) // _DOMAINS_PER_STEP)
            found = Distribution(tree, offers, multiples=self._multiples, scores=scores, attraction=attraction)
            places = found.places(len(self._tasks), allowed)
            if places is None:
                self.is_exhaustive = True
                break
            if self._take(places, offers) and session.jobs.job_ready(job):
                return True
            self._statement.undo_to(before)
            job.reasons = reasons.copy()
        return False

    def _take(self, places: Sequence[tuple[int, int]], offers: IntArray) -> bool:
        """Place tasks on their nodes; where a node takes fewer, lower what it offers. Return whether all are placed."""
        part = next(iter(self._job.sub_jobs.values()))
        begin, is_whole = 0, True
        for column, count in places:
            sheet = Worksheet(part, self._tasks[begin : begin + count])
            only: BoolArray = np.zeros(len(self._session.nodes), dtype=np.bool_)
            only[column] = True
            while sheet:
                position = sheet.position
                place_tasks(self._session, self._statement, self._job, sheet, only)
                if sheet.position == position:
                    break
            placed = sum(self._job.tasks[task.id].node is not None for task in sheet.tasks)
            if placed < count:
                offers[column], is_whole = placed, False
            begin += count
        return is_whole


def _offers(session: Session, tasks: Sequence[Task]) -> IntArray:
    """Count how many tasks, in their order, each node can take now, shape (N,)."""
    # what Reservations keep for one task counts for all: places that are refused are corrected later
    idle = session.reserved.room_of_any(tasks, session.nodes.columns().idle, in_future=False).copy()
    offers = np.zeros(len(session.nodes), dtype=np.int64)
    takes_all = np.ones(len(session.nodes), dtype=np.bool_)
    for _, alike in groupby(tasks, key=session.candidates.number):
        run = list(alike)
        task = run[0]
        if not session.candidates.has_room(task):
            return offers
        candidates = session.candidates.of(task)
        candidates.refresh(task)
        request = session.nodes.needs(task.template).request
        asked = np.flatnonzero(request > 0)
        fits = most_per_node(session, run)
        if asked.size:
            fits = np.clip((idle[asked] // request[asked, None]).min(axis=0), 0, fits)
        fits = np.where(candidates.nodes_for(task) & takes_all, fits, 0)
        offers += fits
        idle -= request[:, None] * fits
        takes_all &= fits == len(run)
        if not takes_all.any():
            return offers
    return offers


def _scores(session: Session, task: Task) -> FloatArray:
    """Return the score of each node for a task, shape (N,); zeros for nodes that do not take it."""
    scores: FloatArray = np.zeros(len(session.nodes))
    if session.candidates.has_room(task):
        candidates = session.candidates.of(task)
        candidates.refresh(task)
        scores[:] = np.where(np.isfinite(candidates.scores), candidates.scores, 0.0)
    return scores


def _refuse(job: SessionJob, sheet: Worksheet, multiples: Mapping[str, int], *, open_tries: int) -> None:
    """Refuse the tasks of a gang whose numbers of tasks by layer cannot be had, or were not found in some tries."""
    numbers = ", ".join(f"{count} in each domain of {name}" for name, count in sorted(multiples.items()))
    message = f"no domain of the network takes {len(sheet.left())} tasks in multiples of {numbers}"
    if open_tries:
        message = f"{message}, as far as {open_tries} tries show"
    refusal = Refusal(plugin="coscheduling", reason="NoDomainFits", message=message)
    job.refuse(refusal)
    for task in sheet.left():
        job.refuse_task(task, refusal)
    sheet.drop_rest()
