"""Placing: put the tasks of a job on nodes, one after the other or in runs of equals.

Shared by the actions that place tasks. What is tried happens inside the caller's statement; why a task was not placed
is noted on its job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from pyroclast.framework.candidates.candidates import Choice
from pyroclast.framework.placement.topology.required import nodes_by_topology
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.statements.statement import Statement
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.ids import NodeName
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.resources import PODS
from pyroclast.model.tasks import Task, TaskStatus

__all__ = [
    "Worksheet",
    "best_effort_members_fit",
    "complete",
    "complete_deferred",
    "place_best_effort",
    "place_tasks",
]

_SAME_ROLE_FAILED: Final = "SameRoleFailed"


class Worksheet:
    """Tasks of one sub-job still to be placed, first to be placed first."""

    __slots__ = ("_position", "_tasks", "failed_roles", "is_required", "is_uniform", "needed", "sub_job")

    def __init__(
        self, sub_job: SubJob, tasks: Sequence[Task], *, is_required: bool = False, needed: int | None = None
    ) -> None:
        self.sub_job = sub_job
        self.is_required = is_required
        """Whether the minimum number of sub-jobs needed this one when the worksheet was made."""
        self.needed = needed
        """Number of the first tasks that the job's minimum needs; None if the tasks are in task order."""
        self._tasks = tasks
        self._position = 0
        self.failed_roles: dict[str, Refusal] = {}
        """Roles of which a task found no node, with its refusal. Tasks whose queue had no capacity do not count."""
        self.is_uniform = len({task.template.number for task in tasks}) <= 1
        """Whether all tasks are of one template, those taken included."""

    def __bool__(self) -> bool:
        """Return whether any task is left."""
        return self._position < len(self._tasks)

    @property
    def next_task(self) -> Task:
        """The first task that is left."""
        return self._tasks[self._position]

    @property
    def tasks(self) -> Sequence[Task]:
        """All its tasks, whether they were taken or not."""
        return self._tasks

    @property
    def has_several(self) -> bool:
        """Whether more than one task is left."""
        return self._position + 1 < len(self._tasks)

    @property
    def position(self) -> int:
        """Number of tasks that were taken."""
        return self._position

    def take(self, count: int = 1) -> Sequence[Task]:
        """Take the next tasks; a negative count gives the last ones back."""
        taken = self._tasks[self._position : self._position + count]
        self._position += count
        return taken

    def mark(self) -> tuple[int, dict[str, Refusal]]:
        """Note where it stands, for `return_to`."""
        return self._position, dict(self.failed_roles)

    def return_to(self, mark: tuple[int, dict[str, Refusal]]) -> None:
        """Stand again as when it was marked."""
        self._position, self.failed_roles = mark[0], dict(mark[1])

    def left(self) -> Sequence[Task]:
        """Return the tasks not yet taken."""
        return self._tasks[self._position :]

    def drop_rest(self) -> None:
        """Give up what is left."""
        self._position = len(self._tasks)

    def run_length(self, most: int, stands_alone: Callable[[Task], bool]) -> int:
        """Count the tasks that come next and can be placed like the first of them, at most `most`, at least 1.

        Args:
            most: Where to stop counting.
            stands_alone: Whether nothing is to be asked about a task but what is known of its template.
        """
        begin, template = self._position, self.next_task.template
        end = min(begin + most, len(self._tasks))
        position = begin + 1
        while position < end and self._tasks[position].template is template and stands_alone(self._tasks[position]):
            position += 1
        return position - begin


@dataclass(frozen=True, slots=True)
class _Site:
    """Job and nodes for which tasks are being placed."""

    session: Session
    statement: Statement
    job: SessionJob
    worksheet: Worksheet
    domain: BoolArray | None


def place_tasks(
    session: Session, statement: Statement, job: SessionJob, worksheet: Worksheet, domain: BoolArray | None = None
) -> bool:
    """Place tasks in order until the sub-job is ready, the worksheet is empty, or no further task can be placed.

    Args:
        session: The session.
        statement: Takes the placements.
        job: Job of the tasks.
        worksheet: The tasks of one sub-job.
        domain: Nodes that may be used, shape (N,); all if None.

    Returns:
        Whether the sub-job is ready.
    """
    site = _Site(session, statement, job, worksheet, domain)
    queue = session.queues.by_name[job.queue]
    while worksheet:
        task = worksheet.next_task
        refusal = session.queues.allocatable(queue, task)
        if refusal is not None:
            _note_full_queue(site, task)
            job.refuse_task(task, refusal)
            worksheet.take()
            continue
        if _role_has_failed(site, task):
            worksheet.take()
            continue
        if (worksheet.has_several and _place_run(site, queue, task)) or _place_one(site, task):
            if session.jobs.sub_job_ready(worksheet.sub_job):
                return True
        elif not _goes_on(site):
            break
    return session.jobs.sub_job_ready(worksheet.sub_job)


def _note_full_queue(site: _Site, task: Task) -> None:
    """Note that the queue has no capacity for any task of a job, if the first of equal tasks shows it."""
    sheet = site.worksheet
    session = site.session
    if sheet.position or not (sheet.is_uniform and session.queues.judges_templates):
        return
    if session.queues.tells_kinds and any(
        session.queues.kind(each) != session.queues.kind(task) for each in sheet.left()
    ):
        return
    if not any(each.lets_queue_decide for each in sheet.left()):  # for these the queue keeps capacity
        site.job.record_unschedulable(task.template, in_queue=True)


_MANY: Final = 1 << 30


def _place_run(site: _Site, queue: Queue, task: Task) -> bool:
    """Place several equal tasks at once; False if that cannot be or nothing was placed."""
    session = site.session
    most = min(session.jobs.missing(site.worksheet.sub_job), session.queues.headroom(queue, task, _MANY))
    if most <= 1 or not session.candidates.has_room(task):
        return False
    candidates = session.candidates.of(task)
    if not (_stands_alone(site, task) and candidates.can_look_ahead(task)):
        return False
    if not candidates.has_free_room(site.domain):
        return False  # where capacity is only being released tasks go one by one
    length = site.worksheet.run_length(most, _of_kind(site, task, partial(_joins_run, site)))
    columns = candidates.run(task, length, site.domain) if length > 1 else []
    if not columns:
        return False
    tasks = site.worksheet.take(len(columns))
    if site.statement.allocate(site.job, tasks, columns) is None:
        return True
    # a ledger refused the run as a whole: place its tasks one by one, so that each gets its own answer
    site.worksheet.take(-len(columns))
    return False


def _joins_run(site: _Site, task: Task) -> bool:
    """Whether a task joins a run of equal tasks. A task of a failed role does not: it is refused itself."""
    has_failed = bool(task.role) and task.role in site.worksheet.failed_roles and not _goes_on_with(site, task.role)
    return not has_failed and _stands_alone(site, task)


def _of_kind(site: _Site, first: Task, joins: Callable[[Task], bool]) -> Callable[[Task], bool]:
    """Restrict a run to tasks of the same template that are equal to the first one for allocatable."""
    session = site.session
    if not session.queues.tells_kinds:
        return joins
    kind = session.queues.kind(first)
    return lambda task: joins(task) and session.queues.kind(task) == kind


def _stands_alone(site: _Site, task: Task) -> bool:
    """Whether a task fits the same nodes as its template. Labels and claims are not part of the template."""
    session = site.session
    if task.pod.status.nominated_node_name:
        return False
    beyond = session.candidates.answers.beyond(task)
    return (beyond is None or beyond.grouped is not None) and session.candidates.pre_predicate(task) is None


def _place_one(site: _Site, task: Task) -> bool:
    """Place one task; False if no node takes it, which is noted."""
    refusal = site.session.candidates.pre_predicate(task)
    choice = None
    if refusal is None:
        has_room = site.session.candidates.has_room(task)
        if has_room:
            choice = _nominated(site, task) or site.session.candidates.of(task).choose(task, site.domain)
        if choice is None:
            refusal = site.session.candidates.explain(task, site.domain)
            if site.domain is None and (not has_room or site.session.candidates.of(task).is_hopeless(task)):
                _fail_alike(site, refusal)
    if choice is None:
        assert refusal is not None, "a task without a place was refused"
        _fail(site, site.worksheet.take(), refusal)
        return False
    site.worksheet.take()
    place = site.statement.allocate if choice.is_idle else site.statement.pipeline
    refusal = place(site.job, [task], [choice.column])
    if refusal is not None:
        site.job.refuse_task(task, refusal)
    # a placement that a ledger refused is no reason to stop: the next task may be counted elsewhere
    return True


def _fail_alike(site: _Site, refusal: Refusal) -> None:
    """Refuse what comes next and is equal to a task that no node has capacity for, but for one, with the same words."""
    if site.worksheet.is_uniform:
        site.job.record_unschedulable(site.worksheet.next_task.template)
    alike = site.worksheet.run_length(_MANY, _of_kind(site, site.worksheet.next_task, partial(_stands_alone, site)))
    _fail(site, site.worksheet.take(alike - 1), refusal)


def _fail(site: _Site, tasks: Sequence[Task], refusal: Refusal) -> None:
    """Note that no node takes tasks."""
    for task in tasks:
        site.worksheet.failed_roles.setdefault(task.role, refusal)
        site.job.refuse_task(task, refusal)


def _nominated(site: _Site, task: Task) -> Choice | None:
    """Return the node nominated for a pod, where it takes it."""
    name = task.pod.status.nominated_node_name
    if not name:
        return None
    column = site.session.nodes.table.column.get(NodeName(name))
    if column is None or (site.domain is not None and not site.domain[column]):
        return None
    only = np.zeros(len(site.session.nodes), dtype=np.bool_)
    only[column] = True
    return site.session.candidates.of(task).choose(task, only)


def _role_has_failed(site: _Site, task: Task) -> bool:
    """Skip a task if another task of its role found no node, and note the reason."""
    first = site.worksheet.failed_roles.get(task.role) if task.role else None
    if first is None or _goes_on_with(site, task.role):
        return False
    refusal = Refusal(
        plugin=first.plugin,
        reason=_SAME_ROLE_FAILED,
        message=f"another task of role {task.role} was refused: {first.message}",
        counts=first.counts,
        resolvable=first.resolvable,
    )
    site.job.refuse_task(task, refusal)
    return True


def _goes_on(site: _Site) -> bool:
    """Return whether placing further tasks of the sub-job can still make the job ready after one found no node."""
    job, sub_job, failed_roles = site.job, site.worksheet.sub_job, site.worksheet.failed_roles
    if job.min_available == len(job.tasks) or sub_job.min_available >= sub_job.size:
        return False
    if job.has_sub_group_policy:
        return True
    minimums = job.job.min_by_role
    if job.min_available < sum(minimums.values()):
        left = sum(
            task.status is TaskStatus.PENDING and task.role not in failed_roles for task in sub_job.tasks.values()
        )
        return job.ready_count + left >= job.min_available
    return all(
        job.role_count(role) + _left_of(site, role) >= minimums[role]
        for role in failed_roles
        if minimums.get(role, 0) > 0
    )


def _left_of(site: _Site, role: str) -> int:
    """Count the tasks of a role that are tried though one of them found no node."""
    return sum(task.role == role for task in site.worksheet.left()) if _goes_on_with(site, role) else 0


def _goes_on_with(site: _Site, role: str) -> bool:
    """Return whether other tasks of a role are tried after one of them found no node: members of some gangs are."""
    group = site.session.snapshot.gangs.get(site.job.id)
    return group is not None and group.goes_on(role)


_LIES_NOWHERE: Final = Refusal(
    plugin="allocate", reason="NoDomainFits", message="no node is within its network topology", resolvable=False
)


def place_best_effort(session: Session, statement: Statement, job: SessionJob, task: Task) -> bool:
    """Place a task that asks for nothing on the best node that permits it; False if none does, which is noted."""
    refusal = session.candidates.pre_predicate(task)
    if refusal is None:
        candidates = session.candidates.of(task)
        places = np.where(candidates.nodes_for(task), _places_for_pods(session), 0)
        domain = nodes_by_topology(session, job, task, places)
        permitted = places > 0 if domain is None else (places > 0) & domain
        for group in session.candidates.answers.shard_groups(permitted):
            column = candidates.best_among(task, group)
            if column is not None:
                refusal = statement.allocate(job, [task], [column])
                break
        else:
            refusal = session.candidates.explain(task, domain) if domain is None or domain.any() else _LIES_NOWHERE
    if refusal is None:
        return True
    job.refuse_task(task, refusal)
    job.note_unplaceable(task.id)
    return False


def _places_for_pods(session: Session) -> IntArray:
    """Count the pods that each node takes more, shape (N,), whatever else it lacks: the task asks for nothing else."""
    places: IntArray = np.maximum(session.nodes.columns().idle[session.resources.rows[PODS]], 0)
    return places


def best_effort_members_fit(session: Session, statement: Statement, job: SessionJob) -> bool:
    """Return whether nodes accept the best-effort tasks that a job needs to be ready. None of them is placed.

    Otherwise the other members would hold their nodes and the share of their queue until backfill, in every cycle.
    """
    before = len(statement.operations)
    for task in session.jobs.pending_tasks(job):
        if job.relies_on_best_effort and job.counts_as_placed(task) and not task.gated:
            place_best_effort(session, statement, job, task)
    fit = session.jobs.job_ready(job) and not job.relies_on_best_effort
    statement.undo_to(before)
    return fit


def complete(session: Session, job: SessionJob) -> None:
    """Place a job's best-effort tasks, and commit once its minimum is placed, with what was deferred until then.

    From then on each task is bound for itself. Where the minimum is not reached everything is undone: members that ask
    for nothing count only when a node takes them.
    """
    with session.statement() as statement:
        deferred = session.deferred.take(job)
        if deferred is not None:
            statement.merge(deferred)
        for task in [each for each in session.jobs.pending_tasks(job) if job.counts_as_placed(each) and not each.gated]:
            place_best_effort(session, statement, job, task)
            if session.jobs.job_ready(job) and not job.relies_on_best_effort:
                statement.commit()


def complete_deferred(session: Session) -> None:
    """Complete or undo all that was deferred, in the order in which it was."""
    for job in session.deferred.jobs():
        complete(session, job)
