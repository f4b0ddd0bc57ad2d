"""Restoring: reserved places are taken before any other job is served.

Between the opening of a session and its first action each beneficiary gets the nodes that are held for it: it is
bound where its minimum can run on them now, else its places are held, on free capacity as on capacity that is being
released, so that nothing else is placed there. They pass the queue's and the nodes' rules like any other place, but for
those that pods on their way out still break. A place that cannot be kept is given up, and the job gets the reason. It
is then a job like any other. Rules for giving up places: docs/decisions/0019-evictions-last.md.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

import msgspec
import numpy as np

from pyroclast.framework.placement.topology.required import nodes_by_topology, unserved_topology
from pyroclast.framework.reservations.giving_way import Claimant, claimants, columns_to_give
from pyroclast.framework.reservations.hold_times import HoldTimes
from pyroclast.framework.reservations.recording import read_from_objects, read_from_pods
from pyroclast.framework.reservations.waiting_gangs import why_never_together
from pyroclast.framework.session.held import HeldCapacities, HeldCapacity
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId, NodeName
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import NO_AMOUNTS
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task, TaskStatus

__all__ = ["hold_capacity"]

_HAVE_ROOM: Final = ALLOCATED_STATUSES | {TaskStatus.RELEASING}

_INSIDE_QUEUES: Final = frozenset({"preempt", "gangpreempt"})
"""Actions whose victims are of the beneficiary's queue."""

_PLAN_ACTION: Final = "allocate"
"""Action name of plans that bind beneficiaries. They evict no pods."""


def hold_capacity(session: Session, held: Sequence[HeldCapacity] | None) -> float | None:
    """Give jobs their places, or hold these for them; hold the amounts of other holders. Called when a session opens.

    Args:
        session: Its plugins registered, no action run.
        held: Capacity held since earlier cycles; where None it is read from the pods.

    Returns:
        The next time at which held capacity begins or ends, seconds since 1970; None if there is none.
    """
    if held is None:
        held = tuple(read_from_pods(session))
    session.held.replace(_alive(session, held))
    moments = list(_hold_amounts(session))
    holders = [each.job for each in session.held.standing if each.job and each.ends]
    priorities = [job.priority for each in holders if (job := session.jobs.get(each)) is not None]
    waiting = claimants(session, above=min(priorities)) if priorities else []
    for job, places in _in_order(session, session.held):
        if end := _Holding(session, job, waiting).hold(places):
            moments.append(end)
    return min(moments, default=None)


def _hold_amounts(session: Session) -> Iterator[float]:
    """Take the amounts of holders without tasks from their nodes. Yield the times at which any begins or ends."""
    for each in (*session.held.standing, *read_from_objects(session)):
        if each.job is not None:
            continue
        if each.is_due(session.now):
            columns = session.nodes.table.column
            for node, amounts in sorted(each.amounts.items()):
                if node in columns:
                    returning = session.resources.vector(each.returning.get(node, NO_AMOUNTS))
                    session.nodes.hold(columns[node], session.resources.vector(amounts), returning)
        else:
            yield each.begins
        if each.ends is not None:
            yield each.ends


def _alive(session: Session, held: Sequence[HeldCapacity]) -> Iterator[HeldCapacity]:
    """Remove losers without lost pods, and places of tasks that are gone or that no job could reclaim."""
    for one in held:
        each = msgspec.structs.replace(one, losers={}) if one.losers and _cost_nobody(session, one) else one
        if each.job is None:
            if not each.is_over(session.now):
                yield each
            continue
        job = session.snapshot.jobs.get(each.job)
        tasks = {} if job is None else job.tasks
        places = {
            task_id: node
            for task_id, node in each.places.items()
            if (task := tasks.get(task_id)) is not None and _is_of_use(task, node, each)
        }
        if places:
            loose = tuple(task for task in each.loose if task in places)
            yield msgspec.structs.replace(each, places=places, loose=loose)


def _cost_nobody(session: Session, held: HeldCapacity) -> bool:
    """Return whether all its victims stayed: the server refused, and the plan was dropped."""
    jobs = session.snapshot.jobs
    victims = [jobs[job].tasks.get(task) if job in jobs else None for task, job in held.victims.items()]
    return bool(victims) and all(victim is not None and victim.status in ALLOCATED_STATUSES for victim in victims)


def _is_of_use(task: Task, node: NodeName, held: HeldCapacity) -> bool:
    """Return whether a task waits for its place, or runs there while another job could still reclaim the capacity."""
    if task.status is TaskStatus.PENDING:
        return bool(held.losers) or task.id not in held.loose
    # a terminating pod still has it: the server may yet refuse the eviction
    return bool(held.losers) and task.node == node and task.status in _HAVE_ROOM


@dataclass(frozen=True, slots=True)
class _HeldPlace:
    """A place that a pending task waits for."""

    task: Task
    node: NodeName
    held: HeldCapacity


def _in_order(session: Session, held: HeldCapacities) -> list[tuple[SessionJob, list[_HeldPlace]]]:
    """Return the jobs that wait for their places, in job order, each with its tasks in task order.

    The order does not depend on the memory: that read anew from the pods gives the same.
    """
    waiting: dict[JobId, list[_HeldPlace]] = {}
    for each in held.standing:
        if each.job is None:
            continue
        tasks = session.snapshot.jobs[each.job].tasks
        for task_id, node in each.places.items():
            if task_id not in each.loose and tasks[task_id].status is TaskStatus.PENDING:
                waiting.setdefault(each.job, []).append(_HeldPlace(tasks[task_id], node, each))
    jobs = [job for job_id in waiting if (job := session.jobs.get(job_id)) is not None]
    jobs.sort(key=session.jobs.order_key)
    return [(job, sorted(waiting[job.id], key=lambda place: session.jobs.task_order_key(place.task))) for job in jobs]


class _Holding:
    """Holds the places of one job."""

    def __init__(self, session: Session, job: SessionJob, waiting: list[Claimant]) -> None:
        self._session = session
        self._job = job
        self._waiting = waiting
        """Jobs to which it gives way, where they are of higher priority."""
        self._is_lent = False
        """Whether a place is beyond the share of the queue."""
        self._times = HoldTimes(session)

    def hold(self, places: Sequence[_HeldPlace]) -> float | None:
        """Bind or hold; return the next time at which a place is given up, None if nothing is held."""
        refusal = self._unfit(places) or self._out_of_time(places)
        if refusal is not None:
            self._give_up(places, refusal)
            return None
        places = self._without_given(places)
        with self._session.statement() as statement:
            taken = [each for each in places if self._took(statement, each, waits=False)]
            if self._session.jobs.job_ready(self._job) and statement.operations:
                self._bind(statement)
                return self._next_end(taken) if self._job.waiting_count else None
            # all wait together: a part that counted as placed would let others of the job be bound without it
            statement.undo_to(0)
            taken = [each for each in self._in_time(taken) if self._took(statement, each, waits=True)]
            if not self._session.jobs.job_pipelined(self._job):
                taken = self._only_kept(statement, taken)
            if taken:
                statement.hold()
                self._session.report.nominate(each.task.id for each in taken if each.held.ends is None)
                return self._next_end(taken)
        return None

    def _without_given(self, places: Sequence[_HeldPlace]) -> Sequence[_HeldPlace]:
        """Give up the places that members keep without use, or that jobs of higher priority need."""
        own = [each for each in places if each.held.ends is not None]
        if not own:
            return places
        if why := why_never_together(self._session, self._job):
            self._give_up(own, _given_up(why))
            return _made(places)
        column = self._session.nodes.table.column
        kept = {column[each.node] for each in own if each.node in column}
        given = columns_to_give(self._session, self._job, kept, self._waiting)
        gone = [each for each in own if column.get(each.node) in given]
        for each in gone:
            higher = given[column[each.node]]
            self._give_up([each], _given_up(f"job {higher} has a higher priority and fits on no other nodes"))
        return [each for each in places if each not in gone]

    def _in_time(self, places: Sequence[_HeldPlace]) -> Sequence[_HeldPlace]:
        """Give up places that members keep whose own time is over, or whose gang keeps none by now."""
        group = self._session.snapshot.gangs.get(self._job.id)
        is_patient = group is not None and (group.is_patient or not group.waits)
        now = self._session.now
        late = [each for each in places if each.held.ends is not None and not (is_patient and now < each.held.ends)]
        if not late:
            return places
        why = "has not come together in time" if is_patient else "does not keep nodes for its members any more"
        self._give_up(late, _given_up(f"its gang {why}"))
        return [each for each in places if each not in late]

    def _only_kept(self, statement: Statement, taken: list[_HeldPlace]) -> list[_HeldPlace]:
        """Give up what evictions made where it is too little; what members found by themselves they keep."""
        made = _made(taken)
        if not made:
            return taken
        self._give_up(made, self._too_few(made))
        statement.undo_to(0)
        left = [each for each in taken if each.held.ends is not None]
        return [each for each in left if self._took(statement, each, waits=True)]

    def _unfit(self, places: Sequence[_HeldPlace]) -> Refusal | None:
        job, session = self._job, self._session
        if job.is_pending:
            if "enqueue" in session.extensions.profile.actions and not all(each.held.action for each in places):
                return _given_up("the job waits for admission to its queue")
            # its queue had admitted it when its places were won, but its object does not show that yet
            job.phase = PodGroupPhase.INQUEUE
        return session.jobs.job_valid(job) or unserved_topology(session, job)

    def _took(self, statement: Statement, place: _HeldPlace, *, waits: bool) -> bool:
        """Place one task, on capacity that is free unless it `waits`; where it cannot be, its place is given up."""
        task = place.task
        column = self._session.nodes.table.column.get(place.node)
        if column is None:
            self._give_up([place], _given_up(f"node {place.node} is gone"))
            return False
        domain = nodes_by_topology(self._session, self._job, task)
        if domain is not None and not domain[column]:
            self._give_up([place], _given_up(f"its network topology does not permit node {place.node} any more"))
            return False
        refusal = self._refused_by_queue(place)
        refusal = refusal or self._session.candidates.pre_predicate(task) or self._refused_by_node(place, column)
        if refusal is None:
            is_free = not waits and self._is_free(task, column)
            assign = statement.allocate if is_free else statement.pipeline
            refusal = assign(self._job, [task], [column])
        if refusal is not None:
            self._give_up([place], refusal)
        return refusal is None

    def _refused_by_queue(self, place: _HeldPlace) -> Refusal | None:
        """Query the queue. Ignore its share if the capacity comes from its own jobs: it was lent before."""
        session, queue = self._session, self._session.queues.by_name[self._job.queue]
        refusal = session.queues.allocatable(queue, place.task)
        if refusal is None or not refusal.lendable or place.held.action not in _INSIDE_QUEUES:
            return refusal
        self._is_lent = True
        with session.queues.lending():
            return session.queues.allocatable(queue, place.task)

    def _is_free(self, task: Task, column: int) -> bool:
        candidates = self._session.candidates.of(task)
        return bool(candidates.takes(task, column) and candidates.fits_idle[column])

    def _refused_by_node(self, place: _HeldPlace, column: int) -> Refusal | None:
        """Query the node. Ignore refusals that terminating pods may cause, except for resources."""
        candidates = self._session.candidates.of(place.task)
        if candidates.takes(place.task, column):
            return None
        domain = np.zeros(len(self._session.nodes), dtype=np.bool_)
        domain[column] = True
        refusal = self._session.candidates.explain(place.task, domain)
        is_passing = (
            refusal.resolvable and candidates.fits_future[column] and self._times.last_gone(place.node) is not None
        )
        return None if is_passing else refusal

    def _bind(self, statement: Statement) -> None:
        session, job = self._session, self._job
        waiting = {task.id for task in job.in_status(TaskStatus.PIPELINED)}
        session.report.nominate(waiting)
        if job.relies_on_best_effort:
            session.deferred.add(job, statement)
            return
        session.action = _PLAN_ACTION
        with session.queues.lending() if self._is_lent else nullcontext():
            statement.commit()
        session.action = ""

    # Times ------------------------------------------------------------------------------------------------------------

    def _next_end(self, places: Sequence[_HeldPlace]) -> float:
        """Return the first time at which one of some places is given up, seconds since 1970."""
        ends = [each.held.ends for each in places if each.held.ends is not None]
        after_evictions = self._end_after_evictions(places)
        return min(ends if after_evictions is None else [*ends, after_evictions])

    def _end_after_evictions(self, places: Sequence[_HeldPlace]) -> float | None:
        return self._times.end_after_evictions((each.node, each.held) for each in _made(places))

    def _out_of_time(self, places: Sequence[_HeldPlace]) -> Refusal | None:
        end = self._end_after_evictions(places)
        is_over = end is not None and self._session.now >= end
        return _given_up("the capacity has not become free in time") if is_over else None

    # Giving up --------------------------------------------------------------------------------------------------------

    def _too_few(self, kept: Sequence[_HeldPlace]) -> Refusal:
        return _given_up(f"{len(kept)} held places remain, fewer than the minimum of {self._job.min_available}")

    def _give_up(self, places: Sequence[_HeldPlace], refusal: Refusal) -> None:
        """Give up places and note the reason. Those read from pods may be older than the memory, and end silently."""
        for each in places:
            self._session.held.give_up(each.task.id)
            self._job.forget_place(each.task.id)
            if each.held.action:
                self._job.refuse_task(each.task, refusal)
        if any(each.held.action for each in places):
            self._job.refuse(_given_up(refusal.message))


def _made(places: Sequence[_HeldPlace]) -> list[_HeldPlace]:
    """Return the places that evictions made, apart from those that members of gangs keep."""
    return [each for each in places if each.held.ends is None]


def _given_up(why: str) -> Refusal:
    message = why if why.startswith("capacity that was held") else f"capacity that was held for it was released: {why}"
    return Refusal(plugin="scheduler", reason="HeldCapacityReleased", message=message)
