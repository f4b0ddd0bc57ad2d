"""Reasons: why jobs and tasks are pending, as the report of a cycle lists them.

A job that was skipped because nothing changed keeps its reasons, with current amounts. The cause of a queue's refusal
is looked up once for equal tasks.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pyroclast.framework.candidates.explaining import NO_NODE_FITS
from pyroclast.framework.diagnosis.messages import behind_gates
from pyroclast.framework.extension import contract
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["reasons_of", "show_unplaced"]


def show_unplaced(session: Session) -> None:
    """Show plugins the jobs with tasks that no action placed, in the order of their ids."""
    functions = session.extensions.functions(contract.AFTER_POST_FILTER)
    for _, job in sorted(session.jobs.known().items()) if functions else ():
        waiting = {task.id for task in job.in_status(TaskStatus.PENDING) if not task.gated}
        refusals = {each: why for each, why in job.reasons.task_refusals.items() if each in waiting}
        if refusals or (waiting and job.reasons.refusals):
            for each in functions:
                session.extensions.ask_or(each, None, job, refusals)


def reasons_of(session: Session) -> tuple[dict[JobId, tuple[Refusal, ...]], dict[TaskId, tuple[Refusal, ...]]]:
    """Return why jobs and tasks wait, those included that were passed over because nothing changed for them."""
    left_out, tasks_left_out = session.jobs.reasons_of_left_out()
    refusals, of_tasks = dict(left_out), dict(tasks_left_out)
    of_tasks |= {
        outsider.task.id: (outsider.refusal,)
        for outsider in session.snapshot.orphan_pods
        if session.jobs.is_own_pod(outsider.task)
    }
    of_kind: dict[tuple[QueueName | None, int | None, tuple[Any, ...]], tuple[Refusal, ...]] = {}
    known, behind = session.jobs.known(), _nodes_behind_queues(session)
    for job in session.jobs.skipped.jobs:
        last_result, again = session.jobs.last_result(job), known.get(job.id)
        if last_result is None or (again is not None and again.touched):
            continue
        evictions = None if again is None else again.reasons.eviction_refusals
        refusals[job.id] = last_result.all_refusals if not evictions else last_result.refusals_with(evictions)
        for task_id, refusal in last_result.task_refusals.items():
            own = session.queues.kind(job.tasks[task_id]) if last_result.is_unschedulable_by_queue else ()
            kind = (
                job.queue if last_result.is_unschedulable_by_queue else None,
                last_result.unschedulable_template,
                own,
            )
            if kind not in of_kind:  # the first of a job is of that kind, or the job would have been tried again
                of_kind[kind] = behind(job.tasks[task_id], session.jobs.skipped.refreshed_reasons.get(kind, refusal))
            alike = of_kind[kind]
            is_same = len(last_result.task_refusals) == 1 or refusal == alike[0]
            of_tasks[task_id] = alike if is_same else behind(job.tasks[task_id], refusal)
    for job_id, each in sorted(known.items()):
        all_refusals = each.all_refusals
        if each.last_result is not None and not each.touched:  # tried again with the same result: its verdict stands
            all_refusals = each.last_result.refusals_with(each.reasons.eviction_refusals, tuple(each.reasons.refusals))
        if all_refusals:
            refusals.setdefault(job_id, all_refusals)
        for task_id, refusal in each.reasons.task_refusals.items():
            of_tasks[task_id] = behind(each.tasks[task_id], refusal)
    for task in _gated_tasks(session):
        of_tasks.setdefault(task.id, (behind_gates(task),))
    return {job_id: refusals[job_id] for job_id in sorted(refusals) if refusals[job_id]}, of_tasks


def _gated_tasks(session: Session) -> Iterator[Task]:
    """Iterate over tasks with scheduling gates, including those of jobs that were not tried."""
    known, table = session.jobs.known(), session.snapshot.job_table
    for job in known.values():
        yield from (task for task in job.in_status(TaskStatus.PENDING) if task.gated)
    some_are_gated: BoolArray = session.jobs.own(table.gated.sum(axis=0) > 0)
    for settled in table.select(some_are_gated):
        if settled.id not in known:
            yield from (each for each in settled.tasks.values() if each.gated and each.status is TaskStatus.PENDING)


def _nodes_behind_queues(session: Session) -> Callable[[Task, Refusal], tuple[Refusal, ...]]:
    """Return what puts behind a queue's refusal of a task that of the nodes, where none would take the task either."""
    known: dict[int, tuple[Refusal, ...]] = {}

    def refusals_of(task: Task, refusal: Refusal) -> tuple[Refusal, ...]:
        if not refusal.amounts or refusal.reason == NO_NODE_FITS:
            return (refusal,)
        number = session.candidates.number(task)
        if number not in known:
            of_nodes = session.candidates.refused_everywhere(task)
            known[number] = () if of_nodes is None else (of_nodes,)
        return (refusal, *known[number])

    return refusals_of
