"""Gang search: an assignment for the members of a gang, used if placing them in order finds none.

The normal way takes tasks in their order and the best node for each. For members that differ, or that bear on each
other, this can fail although the gang fits. Then the members that make it ready are searched for places together, in
each region where the gang may run: first greedily by score, those that fewest nodes take before others; then by
`assignment`. Everything is placed inside a statement, so that all plugins are asked; what does not serve is undone
exactly.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pyroclast.framework.candidates.explaining import NO_NODE_FITS
from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.placement.gangs.assignment import BUDGET, assign
from pyroclast.framework.placement.gangs.choices import Surplus, choices_of_members, surplus_of
from pyroclast.framework.placement.gangs.members import (
    Masks,
    Members,
    is_plain,
    members_of,
    opens_later,
    problem_of,
    room_of,
)
from pyroclast.framework.placement.gangs.problem import AssignmentProblem
from pyroclast.framework.placement.gangs.refusals import gave_up, no_assignment, postponed
from pyroclast.framework.placement.gangs.regions import confined, regions_inside, regions_of
from pyroclast.framework.placement.gangs.tree_search import TreeSearch
from pyroclast.framework.placement.gangs.trial import GangTrial
from pyroclast.framework.placement.topology.placing import NO_DOMAIN_FITS
from pyroclast.framework.session.memory import Assignment
from pyroclast.framework.session.session import Session
from pyroclast.framework.session.session_values import ScratchKey
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.arrays import BoolArray, FloatArray, IntArray
from pyroclast.model.ids import SubJobId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task

__all__ = ["GangSearch", "Place", "Within", "may_be_missed"]

_EACH_CYCLE: Final = 40_000
"""Steps that all searches of one cycle may take together."""
_EACH_NAMESPACE: Final = 10_000
"""Steps of these that one namespace may take, if there are several."""
_SPENT: Final = ScratchKey("steps of gang searches by namespace")
_IN_REGIONS: Final = 10_000
"""Steps that one search may take on the way to regions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Assignment of a task to a node."""

    task: Task
    column: int
    is_idle: bool
    """Whether the capacity is free now; else it is being released."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """Nodes that a gang may use in a session from which victims are evicted on trial."""

    nodes: BoolArray
    """Shape (N,)."""
    scores: FloatArray
    """Score of each node, shape (N,); higher is better. Scores of plugins do not count."""
    domains: Mapping[SubJobId, Sequence[int]] = field(default_factory=dict)
    """Numbers of the domains in which each sub-job may run, best first, where some have domains of their own."""


class GangSearch:
    """The search for one job."""

    def __init__(
        self,
        session: Session,
        job: SessionJob,
        tasks: Sequence[Task],
        *,
        root: int = 0,
        within: Within | None = None,
    ) -> None:
        """Begin.

        Args:
            session: The session.
            job: The gang.
            tasks: Its pending tasks that may be placed, first to be placed first.
            root: Number of the domain in which to look, where the gang goes by domains.
            within: The nodes in which to look, where they are chosen already; the domain does not count then.
        """
        self._session = session
        self._spent: Counter[str] = session.scratch.setdefault(_SPENT, Counter())
        several = session.snapshot.job_table.has_several_namespaces
        self._share = _EACH_NAMESPACE if several else _EACH_CYCLE
        self._within = within
        self._statement = session.statement(trial=True)
        self._job = job
        self._tasks = [task for task in tasks if could_be_placed(session, job, task)]
        group = session.snapshot.gangs.get(job.id)
        self._is_elastic = group is None or all(group.goes_on(task.role) for task in tasks)
        """Whether members beyond the minimum may stay without a place; not in a strict gang of Koordinator's."""
        if not self._is_elastic and len(self._tasks) < len(tasks):
            self._tasks = []
        self._root = root
        self._phase = ""
        self._steps = 0
        self._steps_to_regions = 0
        self._is_exhaustive = True
        self._needed = 0
        self._by_queue: Refusal | None = None

    def run(self, *, on_idle: bool) -> list[Place]:
        """Find places for the members that make the job ready, in the order of placing; empty if there are none.

        Args:
            on_idle: Whether only capacity counts that is free now, else also capacity that is being released.
        """
        self._phase = "on idle" if on_idle else "in future"
        with self._session.statement(trial=True) as self._statement:
            return self._places() if self._search(on_idle=on_idle) else []

    @property
    def is_kept_by_queue(self) -> bool:
        """Whether the search ended because the queue does not take all members."""
        return self._by_queue is not None

    def _places(self) -> list[Place]:
        """Return what stands in the trial."""
        return [
            Place(task=task, column=column, is_idle=operation.change.verb is Verb.ALLOCATE)
            for operation in self._statement.operations
            for task, column in zip(operation.before, operation.change.columns, strict=True)
        ]

    def _search(self, *, on_idle: bool) -> bool:
        session, job = self._session, self._job
        room = room_of(session, self._tasks, on_idle=on_idle)
        self._is_exhaustive = True
        if not self._tasks:
            return False
        for chosen in choices_of_members(session, job, self._tasks) if self._is_elastic else [self._tasks]:
            self._needed = self._needed or len(chosen)
            if self._place_some(members_of(session, job, chosen), room, on_idle=on_idle):
                return True
            if len(chosen) == len(self._tasks) or not self._is_elastic:
                return False
        if job.has_sub_group_policy:
            self._is_exhaustive = False  # other sub-groups than those chosen might do
            return False
        # now every choice counts: what has failed above is part of it
        self._is_exhaustive, self._by_queue = True, None
        return self._needed > 0 and self._place_some(
            members_of(session, job, self._tasks), room, on_idle=on_idle, surplus=surplus_of(job, self._tasks)
        )

    def _place_some(self, members: Members, room: IntArray, *, on_idle: bool, surplus: Surplus | None = None) -> bool:
        """Place members in the first region that takes them."""
        session = self._session
        for masks in self._regions(members, room):
            if not self._goes_on():
                return False
            problem = self._inside(problem_of(session, members, room, masks, surplus))
            if self._place(members, problem, on_idle=on_idle):
                return True
            if self._by_queue is not None:
                return False  # these members are too much for the queue, wherever they are placed
        return False

    def _regions(self, members: Members, room: IntArray) -> Iterator[Masks]:
        count, within = self._goes_on_to_regions, self._within
        if within is not None:
            if not within.domains:
                return iter([{}])
            options = {part: within.domains[part] for part in members.parts if part is not None}
            problem = self._inside(problem_of(self._session, members, room, {}))
            return regions_inside(self._session, members, problem, options, count)
        return regions_of(self._session, self._job, members, room, root=self._root, phase=self._phase, count=count)

    def _inside(self, problem: AssignmentProblem) -> AssignmentProblem:
        if self._within is None:
            return problem
        scores = np.broadcast_to(self._within.scores, problem.scores.shape)
        return replace(problem, allowed=problem.allowed & self._within.nodes, scores=scores)

    def _goes_on(self) -> bool:
        """Return whether more steps may be taken."""
        if self._has_share and self._steps < 2 * BUDGET:
            return True
        self._is_exhaustive = False
        return False

    def _goes_on_to_regions(self, steps: int) -> bool:
        """Count steps of the way to a region; return whether more may be taken."""
        self._spend(steps)
        self._steps_to_regions += steps
        if self._has_share and self._steps_to_regions < _IN_REGIONS:
            return True
        self._is_exhaustive = False
        return False

    @property
    def _has_share(self) -> bool:
        """Whether the job's namespace, and the cycle, have steps left."""
        is_left = self._session.search_steps < _EACH_CYCLE
        return is_left and self._spent[self._job.job.namespace] < self._share

    def _spend(self, steps: int) -> None:
        self._session.search_steps += steps
        self._spent[self._job.job.namespace] += steps

    # One choice of members in one region ------------------------------------------------------------------------------

    def _place(self, members: Members, problem: AssignmentProblem, *, on_idle: bool) -> bool:
        if TreeSearch(problem).is_dead():
            return False
        problems = [problem]
        if not members.is_plain:
            inside, is_all = confined(self._session, members, problem)
            problems = inside if is_all else [problem, *inside]
        if not problem.spare_in_all and self._within is None:
            for each in problems:
                if not self._goes_on():
                    return False
                if self._place_by_score(members, each, on_idle=on_idle):
                    return True
                if self._by_queue is not None:
                    return False
        open_problems = []
        for each in problems:
            if not self._goes_on():
                return False
            found = self._assign(each, budget=BUDGET if len(problems) == 1 else BUDGET // 4)
            if found.places is not None and self._repeat(members, found.places, on_idle=on_idle):
                return True
            if self._by_queue is not None and not problem.spare_in_all:
                return False
            if found.places is None and members.is_plain:
                self._is_exhaustive &= found.is_exhaustive
            elif not found.is_exhaustive:
                open_problems.append(each)
        return self._place_on_trial(members, open_problems, on_idle=on_idle)

    def _place_on_trial(self, members: Members, problems: Sequence[AssignmentProblem], *, on_idle: bool) -> bool:
        """Search with every plugin asked about each step."""
        for each in problems:
            if not self._goes_on():
                return False
            trial = self._trial(members, on_idle=on_idle)
            found = self._assign(each, trial=trial, budget=BUDGET // 2 // len(problems))
            if found.places is None:
                self._is_exhaustive &= found.is_exhaustive
            elif self._is_ready(on_idle=on_idle):
                return True
            else:
                trial.undo_all()
        return False

    def _assign(self, problem: AssignmentProblem, *, trial: GangTrial | None = None, budget: int) -> Assignment:
        """Search, unless the same search has failed before; its steps count again, so that memory decides nothing.

        Answers of plugins in a trial depend on more than the problem: on anything in the snapshot.
        """
        session = self._session
        snapshot = b"" if trial is None else f"{session.snapshot.generation}/{session.generation}".encode()
        key = problem.key() + f"/{budget}/".encode() + snapshot
        # victims that are evicted on trial are no part of the snapshot
        is_known = trial is None or self._within is None
        found = session.jobs.failed_search(self._job, key) if is_known else None
        if found is None:
            found = assign(problem, trial=trial, budget=budget)
            if found.places is None and is_known:
                session.jobs.remember_search(self._job, key, found)
        self._count(found.steps)
        return found

    def _place_by_score(self, members: Members, problem: AssignmentProblem, *, on_idle: bool) -> bool:
        """Place all members, those that fewest nodes take first, each on the best node; undo it where one has none."""
        before = len(self._statement.operations)
        search = TreeSearch(problem)
        order = np.lexsort((-search.sizes, np.count_nonzero(search.slots, axis=1)))
        for kind in order.tolist():
            for task in members.kinds[kind]:
                self._count(1)
                if not self._place_best(task, problem.allowed[kind], on_idle=on_idle):
                    self._statement.undo_to(before)
                    return False
        if self._is_ready(on_idle=on_idle):
            return True
        self._statement.undo_to(before)
        return False

    def _place_best(self, task: Task, allowed: BoolArray, *, on_idle: bool) -> bool:
        session = self._session
        self._by_queue = session.queues.allocatable(session.queues.by_name[self._job.queue], task)
        if self._by_queue is not None:
            return False
        choice = session.candidates.of(task).choose(task, allowed)
        if choice is None or (on_idle and not choice.is_idle):
            return False
        place = self._statement.allocate if choice.is_idle else self._statement.pipeline
        return place(self._job, [task], [choice.column]) is None

    def _repeat(self, members: Members, places: Sequence[tuple[int, int]], *, on_idle: bool) -> bool:
        """Place what was found on paper; undo it where some plugin refuses."""
        trial = self._trial(members, on_idle=on_idle)
        if self._place_each(trial, members, places) and self._is_ready(on_idle=on_idle):
            return True
        self._by_queue = trial.by_queue
        trial.undo_all()
        return False

    def _place_each(self, trial: GangTrial, members: Members, places: Sequence[tuple[int, int]]) -> bool:
        """Place tasks, those that wait for others after these; return whether all are placed."""
        left = list(places)
        while left:
            refused = []
            for kind, column in left:
                if trial.place(kind, column):
                    continue
                if trial.by_queue is not None or not opens_later(members.kinds[kind][0]):
                    return False
                refused.append((kind, column))
            if len(refused) == len(left):
                return False
            self._count(len(refused))
            left = refused
        return True

    def _trial(self, members: Members, *, on_idle: bool) -> GangTrial:
        return GangTrial(self._session, self._statement, self._job, members.kinds, on_idle=on_idle)

    def _is_ready(self, *, on_idle: bool) -> bool:
        session, job = self._session, self._job
        return session.jobs.job_ready(job) or (not on_idle and session.jobs.job_pipelined(job))

    def _count(self, steps: int) -> None:
        self._steps += steps
        self._spend(steps)

    @property
    def steps(self) -> int:
        """Steps that the last search took."""
        return self._steps

    @property
    def is_exhaustive(self) -> bool:
        """Whether the last search checked all possibilities, so that without places there is no assignment."""
        return self._is_exhaustive

    # Saying why not ---------------------------------------------------------------------------------------------------

    def refuse(self, tasks: Sequence[Task]) -> None:
        """Refuse tasks with reasons for the current cluster, with none of them placed.

        A task that has no place of its own is refused with that, the others with what the search found.
        """
        job = self._job
        tried = next((each for each in job.reasons.task_refusals.values() if each.reason == NO_NODE_FITS), None)
        found = self._refusal(tried) if self._needed else None
        if any(each.reason == NO_DOMAIN_FITS for each in self._job.reasons.refusals):
            return  # that names the domains, and how many tasks they take
        for task in tasks:
            refusal = refused_alone(self._session, self._job, task) or found
            known = self._job.reasons.task_refusals.get(task.id)
            if refusal is not None:
                self._job.refuse_task(task, refusal)
            elif known is not None and known.reason == NO_NODE_FITS:
                self._job.forget_refusal(task.id)  # not true of the current cluster: a sibling was in the way
        if found is not None:
            self._job.refuse(found)

    def _refusal(self, tried: Refusal | None) -> Refusal:
        """Return the reason that the gang has no places, with the refusal of a task that found no node."""
        if self._by_queue is not None:
            return self._by_queue
        if self._is_exhaustive:
            return no_assignment(self._needed, tried)
        return gave_up(self._needed, self._steps, tried) if self._steps else postponed(self._needed)


def may_be_missed(session: Session, job: SessionJob, tasks: Sequence[Task], *, is_uniform: bool) -> bool:
    """Return whether placing tasks in order may miss an assignment.

    Not for equal tasks of which capacity alone is asked: for them the order does not matter.

    Args:
        session: The session.
        job: The gang.
        tasks: Its tasks.
        is_uniform: Whether all tasks are of one template.
    """
    if not is_uniform or (job.has_topology and session.topology.serves(job)):
        return True
    return session.candidates.has_room(tasks[0]) and not all(is_plain(session, task) for task in tasks)


def could_be_placed(session: Session, job: SessionJob, task: Task) -> bool:
    """Return whether some node could take a task, once the right others are placed."""
    if (
        session.queues.allocatable(session.queues.by_name[job.queue], task) is not None
        or session.candidates.pre_predicate(task) is not None
    ):
        return False
    if not session.candidates.has_room(task):
        return False
    candidates = session.candidates.of(task)
    if is_plain(session, task):
        # without a look at each touched node: the search asks about these once it places something there
        fits = session.nodes.needs(task.template).thresholds <= session.nodes.columns().future_idle
        return bool((candidates.permitted_by_facts & fits.all(axis=0)).any())
    candidates.refresh(task)
    permitted = candidates.allowed if opens_later(task) else candidates.nodes_for(task)
    return bool((permitted & candidates.fits_future).any())


def refused_alone(session: Session, job: SessionJob, task: Task) -> Refusal | None:
    """Return why a task has no place though nothing else is placed; None if it has one."""
    refusal = session.queues.allocatable(session.queues.by_name[job.queue], task)
    refusal = refusal or session.candidates.pre_predicate(task)
    if refusal is not None:
        return refusal
    if session.candidates.has_room(task):
        candidates = session.candidates.of(task)
        if (candidates.nodes_for(task) & candidates.fits_future).any():
            return None
    return session.candidates.explain(task)
