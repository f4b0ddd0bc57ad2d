"""Allocate: place pending jobs on idle resources, without evictions.

Queues take turns by share; an overused queue is skipped. The first job of a queue is tried: its tasks are placed in
order until it is ready. If this fails, the tasks that make it ready are tried first, and then places for all members
are searched together (`framework.placement`). The placements of a ready job are committed; a job with tasks left gets
its next turn after the others. A job that is only pipelined keeps its placements for this cycle. Any other attempt is
undone before the next job is tried, except for placements that patient gangs keep. A gang that is ready only if its
best-effort members count is committed when those are placed too: by backfill, or at the end of this action if backfill
is not configured or if an action could evict for the gang before.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroclast.actions.arguments import AllocateArgs
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.placing import Worksheet, best_effort_members_fit, complete_deferred
from pyroclast.framework.placement.placing_jobs import place_job, worksheets_of
from pyroclast.framework.placement.topology.required import unserved_topology
from pyroclast.framework.placement.topology.turns import begin_turns
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.reservations.waiting_gangs import keep_places
from pyroclast.framework.session.namespace_windows import window
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.ids import JobId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import TaskStatus

__all__ = ["Allocate"]

EVICTING: Final = frozenset({"preempt", "reclaim", "gangpreempt", "gangreclaim"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocate(Action):
    """Place pending tasks on idle resources."""

    name = "allocate"
    args: AllocateArgs = field(default_factory=AllocateArgs)

    def execute(self, session: Session) -> None:
        """Offer idle resources to each pending job in turn."""
        session.searches_gangs = self.args.gangSearch
        turns = begin_turns(session, self.args.namespaceTrials)
        order = WorkOrder(session, workable_jobs(session, self.args.namespaceTemplates))
        worksheets: dict[JobId, list[Worksheet]] = {}
        behind_gates: list[SessionJob] = []
        while (queue := order.next_queue()) is not None:
            overused = session.queues.overused(queue)
            if overused is not None:
                refuse_all(order.rest_of(queue), overused)
                continue
            job = order.next_job(queue)
            if job is None:
                continue
            sheets = worksheets.get(job.id)
            if sheets is None:
                sheets = worksheets[job.id] = worksheets_of(session, job)
                if not lift_gates(session, job):
                    behind_gates.append(job)
            if any(sheets) and offer(session, job, sheets):
                order.return_job(job)
            order.return_queue(queue)
        for job in behind_gates:
            # Its next turn may lift gates, even if no node fits its ungated tasks.
            job.reasons.unschedulable_template = None
        turns.close()
        if not backfill_follows(session.following_actions):
            complete_deferred(session)


def backfill_follows(following: Sequence[str]) -> bool:
    """Return whether backfill runs before any action that could evict for gangs that only wait for backfill."""
    return "backfill" in following and EVICTING.isdisjoint(following[: following.index("backfill")])


def workable_jobs(session: Session, most_templates: int) -> Iterator[SessionJob]:
    """Return the jobs to try. If enqueue is not configured, all jobs are admitted."""
    if "enqueue" not in session.extensions.profile.actions:
        for job in session.jobs.at_admission():  # also jobs without tasks: their controllers wait for the phase
            job.phase = PodGroupPhase.INQUEUE
            job.touched = True
    if most_templates:
        leave_out_unlike_jobs(session, most_templates)
    for job in session.jobs.with_pending_tasks():
        if job.is_pending:
            continue
        refusal = session.jobs.job_valid(job) or unserved_topology(session, job)
        if refusal is None:
            yield job
        else:
            job.refuse(refusal)


def leave_out_unlike_jobs(session: Session, most: int) -> None:
    """Skip jobs of a namespace in this cycle beyond a number of distinct templates."""
    table = session.snapshot.job_table
    waiting = session.jobs.own(table.counts[TaskStatus.PENDING] > 0)
    if session.jobs.skips_turns:
        waiting[session.jobs.left_out_columns()] = False
    if table.counts[TaskStatus.PENDING][waiting].sum() <= most:
        return
    excepted = session.jobs.awaiting_admission().copy()
    for job in session.jobs.known().values():
        excepted[job.job.column] &= job.is_pending
    for each in session.held.standing:
        held = None if each.job is None else session.snapshot.jobs.get(each.job)
        if held is not None:
            excepted[held.column] = True
    columns = table.in_order(waiting & ~excepted)
    found = window(table, columns, most, session.report.rounds, session.snapshot.generation, cycle=session.cycle)
    session.jobs.leave_out(found)
    for namespace, deferred in table.by_namespace(found.left_out(table)).items():
        labels = {"action": Allocate.name, "namespace": namespace}
        session.report.sample("deferred_jobs_total", deferred.size, kind="counter", **labels)


def refuse_all(jobs: list[SessionJob], refusal: Refusal) -> None:
    """Refuse jobs because their queue is not served any further."""
    for job in jobs:
        job.refuse(refusal)


def lift_gates(session: Session, job: SessionJob) -> bool:
    """Lift the queue's gate of tasks that the queue can hold, one by one. Return whether no gate is left."""
    if not session.snapshot.lifts_queue_gates:
        return True
    queue, is_done = session.queues.by_name[job.queue], True
    for task in session.jobs.pending_tasks(job):
        if task.gated and task.waits_for_queue_only and task.lets_queue_decide:
            refusal = session.queues.allocatable(queue, task)
            if refusal is None:
                session.report.lift_gate(task)
            else:
                job.refuse_task(task, refusal)
                is_done = False
    return is_done


def offer(session: Session, job: SessionJob, sheets: list[Worksheet]) -> bool:
    """Place tasks of a job and keep useful placements. Return whether the job should have another turn."""
    with session.statement() as statement:
        if not place_job(session, statement, job, sheets):
            if session.jobs.job_pipelined(job):
                statement.hold()
            keep_places(session, statement, job)
            return False
        if not job.relies_on_best_effort:
            commit(session, job, statement)
            return any(sheets)
        unplaceable = len(job.unplaceable)
        if best_effort_members_fit(session, statement, job):
            session.deferred.add(job, statement)
            return any(sheets)
    sheets[:] = worksheets_of(session, job)  # other members may make the job ready without those that no node accepts
    return len(job.unplaceable) > unplaceable and any(sheets)


def commit(session: Session, job: SessionJob, statement: Statement) -> None:
    """Commit placements of a ready job, together with deferred ones from when it relied on best-effort members."""
    deferred = session.deferred.take(job)
    if deferred is not None:
        deferred.merge(statement)
    (deferred or statement).commit()
