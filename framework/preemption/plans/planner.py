"""Plans: places for the tasks of one job, with capacity made by evictions where it is needed.

First a plan is sought that leaves every victim's gang its minimum; only where there is none, one that takes gangs
whole. Tasks are placed in their order: on capacity that is free or being released where some node takes them, else on
the first node, in the rule's order, where evicting few enough makes a place. All is checked as if the victims were
gone: predicates, amounts, the queue's limits. What was found is then thinned out until no victim can be taken away.

Tasks that differ, or that bear on each other, may find no places in their order although there are some. They are
placed with the most constrained one first then, and last by an assignment to the nodes without any victim.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.placement.gangs.search import may_be_missed
from pyroclast.framework.placement.minimums import steps_to_minimum
from pyroclast.framework.preemption.harm import Found, Harm, HarmLimits, least_harmful
from pyroclast.framework.preemption.least_possible_harm import LeastPossibleHarm
from pyroclast.framework.preemption.plans.assignments import Assignments
from pyroclast.framework.preemption.plans.builder import PlanBuilder
from pyroclast.framework.preemption.plans.limit_plans import LimitPlans
from pyroclast.framework.preemption.plans.node_plans import NodePlans
from pyroclast.framework.preemption.plans.searches import Searches
from pyroclast.framework.preemption.plans.simple_bounds import SimpleBounds
from pyroclast.framework.preemption.plans.task_plans import TaskPlans
from pyroclast.framework.preemption.plans.trimming import Trimmer
from pyroclast.framework.preemption.plans.victims import VictimSelector
from pyroclast.framework.preemption.refusals import OUT_OF_TURN, TOO_FEW_TASKS, no_plan, search_ended, too_few_tasks
from pyroclast.framework.preemption.victim_gangs import is_stopped
from pyroclast.framework.preemption.victim_rules import Rule
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["PreemptionPlanner"]


class PreemptionPlanner:
    """Finds plans by one rule, in one session."""

    def __init__(self, session: Session, rule: Rule) -> None:
        self._session = session
        self._rule = rule
        self.searches = Searches(session, rule)
        self.victims = VictimSelector(session, rule, self.searches)
        self.trimmer = Trimmer(session, rule)
        self.bounds = SimpleBounds(session, rule, self.victims)
        self.on_node = NodePlans(
            session, rule, searches=self.searches, victims=self.victims, trimmer=self.trimmer, bounds=self.bounds
        )
        self.under_limit = LimitPlans(
            session, rule, searches=self.searches, victims=self.victims, trimmer=self.trimmer, on_node=self.on_node
        )
        self.tasks = TaskPlans(
            session,
            rule,
            searches=self.searches,
            victims=self.victims,
            trimmer=self.trimmer,
            on_node=self.on_node,
            under_limit=self.under_limit,
        )
        self.assignments = Assignments(
            session, rule, searches=self.searches, victims=self.victims, under_limit=self.under_limit, tasks=self.tasks
        )
        self._least_possible = LeastPossibleHarm(session, rule, self.victims.might_lose)

    def place(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        *,
        idle_only: Sequence[Task] = (),
        refused: Callable[[Task], Refusal | None] = lambda _: None,
        domains: Sequence[BoolArray | None] = (None,),
    ) -> Refusal | None:
        """Place what makes a job ready as one plan, and commit it.

        Args:
            job: The beneficiary.
            tasks: Its pending tasks for which pods can be evicted, first to be placed first.
            idle_only: Its other pending tasks. They are placed first, without evictions.
            refused: Why a task may cause no evictions at all; None if it may.
            domains: At least one set of nodes that may be used together, shape (N,), best first; all nodes if None.

        Returns:
            None if there is a plan, else why not, of the first domain. Where not, nothing has changed; nor where it
            needs no evictions and the action allocate is still to come, which binds what this could only hold.
        """
        why: list[Refusal] = []
        has_considered_all = False
        modest = {task.id for task in idle_only}

        def fill(attempt: PlanBuilder, order: Sequence[Task]) -> bool:
            nonlocal has_considered_all

            def place(task: Task) -> bool:
                if task.id in modest:
                    return self._session.candidates.pre_predicate(task) is None and self.tasks.place_without(
                        attempt, task
                    )
                if attempt.why is not None and attempt.fails_like(task, self._session):
                    return False
                refusal = refused(task) or self.tasks.place_by_evicting(attempt, task)
                attempt.why = attempt.why or refusal
                return refusal is None

            if self._reaches_minimum(attempt, [*idle_only, *order], place) and self.settles(attempt):
                return True
            # plans that spare all gangs come first, and do not consider pods that their gangs cannot spare
            is_first_of_all = attempt.takes_gangs and not has_considered_all
            why.insert(0 if is_first_of_all else len(why), attempt.why or self._too_few(attempt, order))
            has_considered_all |= attempt.takes_gangs
            return False

        if not self._rule.least_harm:
            is_placed = any(self._place_first(job, each, lambda attempt: fill(attempt, tasks)) for each in domains)
            return None if is_placed else why[0]
        ways = self.ways_to_fill(job, fill, tasks, refused=refused)
        return None if self.place_least_harmful(job, domains, *ways) else self.refusal_of(job, why[0])

    def ways_to_fill(
        self,
        job: SessionJob,
        fill: Callable[[PlanBuilder, Sequence[Task]], bool],
        tasks: Sequence[Task],
        *,
        refused: Callable[[Task], Refusal | None] = lambda _: None,
        domains: Callable[[PlanBuilder, SubJob], Sequence[int]] | None = None,
    ) -> list[Callable[[PlanBuilder], bool]]:
        """Return ways to make a plan: with tasks in their order, and where this may miss one by an assignment.

        Args:
            job: The beneficiary.
            fill: Makes a plan with tasks in some order, beside what the attempt has already.
            tasks: Its pending tasks, first to be placed first.
            refused: Why a task may cause no evictions at all; None if it may.
            domains: In which domains a sub-job may run, by number, best first; in the attempt's where None.
        """
        self.searches.gave_up.discard(job.id)

        def in_order(attempt: PlanBuilder) -> bool:
            return fill(attempt, tasks)

        def reordered(attempt: PlanBuilder) -> bool:
            return fill(attempt, self.assignments.most_constrained_first(attempt, tasks))

        def assigned(attempt: PlanBuilder) -> bool:
            parts = job.sub_jobs.values() if domains is not None and job.has_sub_group_policy else ()
            options = {part.id: domains(attempt, part) for part in parts} if domains is not None else {}
            places = self.assignments.assigned(attempt, [task for task in tasks if refused(task) is None], options)
            placed = {task.id for task, _ in places}
            return self.assignments.place_there(attempt, places) and fill(
                attempt, [task for task in tasks if task.id not in placed]
            )

        is_uniform = len({task.template.number for task in tasks}) <= 1
        if not may_be_missed(self._session, job, tasks, is_uniform=is_uniform):
            return [in_order]

        def otherwise(attempt: PlanBuilder) -> bool:
            for way in (assigned,) if is_uniform else (reordered, assigned):
                if way(attempt):
                    return True
                attempt.undo_to((0, 0, 0))
            return False

        return [in_order, otherwise]

    def refusal_of(self, job: SessionJob, why: Refusal) -> Refusal:
        """Return why a job has no plan: because there is none in order, or because the search for one gave up."""
        return search_ended(self._rule.action, why) if job.id in self.searches.gave_up else why

    def _place_first(self, job: SessionJob, domain: BoolArray | None, fill: Callable[[PlanBuilder], bool]) -> bool:
        """Commit the first plan; return whether there is one."""
        for takes_gangs in self._rule.modes:
            with self._session.statement() as statement:
                attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs), domain)
                if fill(attempt):
                    self.keep(attempt)
                    return True
        return False

    def place_least_harmful(
        self, job: SessionJob, domains: Sequence[BoolArray | None], *fills: Callable[[PlanBuilder], bool]
    ) -> bool:
        """Commit the least harmful plan in any of some domains; return whether there is one.

        Args:
            job: The beneficiary.
            domains: Domains that it may use, best first.
            fills: Ways to make a plan, each of which tries one and returns whether it succeeded.
        """
        effort = self.searches.effort(job)
        masks = [each for each in domains if each is not None]
        where = None if len(masks) < len(domains) else np.logical_or.reduce(masks)

        def search(limits: HarmLimits) -> Found | None:
            best: Found | None = None
            for domain in domains:
                for fill in fills:
                    found = self._try(PlanBuilder(job, self._session.statement(), limits, domain), fill)
                    if found is not None and found.is_committed:
                        return found
                    if found is None or (best is not None and found.rank >= best.rank):
                        continue
                    best = found
                    if meets_bound(best, limits):
                        return best if limits.repeats else replace(best, is_least=True)
            if best is not None and not limits.repeats:
                effort.search.goes_on()
            return best

        def bound(found: Found, limits: HarmLimits) -> Harm | None:
            return self._least_possible.of_plan(job, [task for task, _ in found.places], where, limits, effort)

        def meets_bound(found: Found, limits: HarmLimits) -> bool:
            if found.is_partial:
                return False  # a plan with more places may be more harmful
            within = HarmLimits(self._rule.modes[-1], protected=limits.protected, only=limits.only)
            least = bound(found, within)
            return least is not None and found.harm._replace(stopped=0) <= least

        cut_short = effort.cut_short
        best = least_harmful(self._rule.modes, search, bound, effort)
        if effort.cut_short > cut_short:
            self._note_cut_short()
        if best is None or best.is_committed:
            return best is not None
        with self._session.statement() as statement:
            attempt = PlanBuilder(
                job, statement, HarmLimits(takes_gangs=True), best.domain, list(best.units), list(best.places)
            )
            if not self.trimmer.replay(attempt, attempt.units):
                return False
            self.keep(attempt)
        return True

    def _note_cut_short(self) -> None:
        """Count a plan beside which less harmful ones may exist, since the search for them gave up."""
        self._session.report.sample("least_harm_searches_cut_short_total", 1, kind="counter", action=self._rule.action)

    def _try(self, attempt: PlanBuilder, fill: Callable[[PlanBuilder], bool]) -> Found | None:
        """Make a plan on trial; one that cannot be less harmful is committed, else nothing has changed afterwards."""
        with attempt.statement:
            if not fill(attempt):
                return None
            last = self._last_of_stopped(attempt)
            harm = self.victims.harm(attempt)._replace(stopped=len(last))
            # one with a protected victim is compared with the plan that has it
            is_least = not attempt.limits.repeats and not last and self.bounds.is_least(attempt, harm)
            if is_least:
                self.keep(attempt)
            return Found(
                harm,
                is_least=is_least,
                is_partial=attempt.why is not None and attempt.job.counts[TaskStatus.PENDING] > 0,
                is_committed=is_least,
                domain=attempt.domain,
                units=tuple(attempt.units),
                places=tuple(attempt.places),
                last=last,
            )

    def _last_of_stopped(self, attempt: PlanBuilder) -> tuple[TaskId, ...]:
        """Return one victim of each elastic job that an attempt stops. To be asked before it is undone."""
        lost = {task.job: task.id for unit in attempt.units for task in unit}
        jobs = ((self._session.jobs.get(job_id), task) for job_id, task in lost.items() if job_id is not None)
        return tuple(task for job, task in jobs if job is not None and job is not attempt.job and is_stopped(job))

    def place_unharmed(
        self,
        job: SessionJob,
        tasks: Sequence[Task],
        *,
        refused: Callable[[Task], Refusal | None],
        domain: BoolArray | None,
    ) -> bool:
        """Do the same if no eviction is needed. Return whether there is such a plan."""
        with self._session.statement() as statement:
            attempt = PlanBuilder(job, statement, HarmLimits(takes_gangs=False), domain)

            def place(task: Task) -> bool:
                is_free = refused(task) is None and self._session.candidates.pre_predicate(task) is None
                return is_free and self.tasks.place_without(attempt, task)

            if self._reaches_minimum(attempt, tasks, place):
                return self.finish(attempt)
        return False

    def exchange(self, job: SessionJob, task: Task) -> bool:
        """Place one task in the places of less important tasks of its own job. Return whether there is such a plan."""

        def fill(attempt: PlanBuilder) -> bool:
            return self.tasks.place_by_evicting(attempt, task) is None and self.settles(attempt)

        return (
            self.place_least_harmful(job, [None], fill) if self._rule.least_harm else self._place_first(job, None, fill)
        )

    def _reaches_minimum(self, attempt: PlanBuilder, tasks: Sequence[Task], place: Callable[[Task], bool]) -> bool:
        """Place what makes a job ready, and more as long as it starves. Return whether that is worth a plan."""
        session, job = self._session, attempt.job
        known: tuple[int, bool] = (-1, False)

        def goes_on() -> bool:  # asked before each task, but most find no place, which changes nothing
            nonlocal known
            moment = len(session.nodes.log)
            if known[0] != moment:
                known = moment, session.jobs.job_starving(job) or not session.jobs.job_pipelined(job)
            return known[1]

        self.fill(attempt, tasks, goes_on, place)
        return bool(attempt.places) and session.jobs.job_pipelined(job) and self.completes(attempt)

    def fill(
        self,
        attempt: PlanBuilder,
        tasks: Sequence[Task],
        goes_on: Callable[[], bool],
        place: Callable[[Task], bool],
        masks: Callable[[SubJob], Sequence[BoolArray | None]] | None = None,
    ) -> None:
        """Place the tasks that make a job ready, with substitutes for those that find no place; then further tasks.

        Args:
            attempt: The plan in the making.
            tasks: Pending tasks of the job, first to be placed first.
            goes_on: Whether more is to be placed.
            place: Places a task on the attempt's nodes, and returns whether it did.
            masks: The nodes on which a sub-job may run, best first; the attempt's where None.
        """
        job, domain, left = attempt.job, attempt.domain, {task.id: task for task in tasks}
        where = masks or (lambda _: [domain])
        is_chosen_anew = True
        while is_chosen_anew:
            is_chosen_anew = False
            for part, step in steps_to_minimum(self._session, job, left.values()):
                if not goes_on():
                    break
                if step[0].id not in left:
                    continue  # it was to go to a sub-job that could not be made up
                if self._is_made_up(part):
                    tried = _place_each(attempt, step, place, where(part))
                else:
                    members = {task.id: task for task in (*step, *left.values()) if part.holds(task.id)}
                    tried = self._make_up(attempt, part, list(members.values()), place, where(part))
                for task_id in tried:
                    del left[task_id]
                if not all(tried.values()):
                    is_chosen_anew = True
                    if any(tried.values()):  # what follows was chosen beside others than these
                        break
        for task in left.values():
            part_of = job.part_of(task)
            if part_of is not None and self._is_made_up(part_of) and goes_on():
                _place_each(attempt, [task], place, where(part_of))
        attempt.domain = domain

    def _make_up(
        self,
        attempt: PlanBuilder,
        part: SubJob,
        tasks: Sequence[Task],
        place: Callable[[Task], bool],
        where: Sequence[BoolArray | None],
    ) -> dict[TaskId, bool]:
        """Place tasks of a sub-job on the first nodes that complete it. Return whether each tried task has a place."""
        for attempt.domain in where:
            mark = attempt.mark()
            tried: dict[TaskId, bool] = {}
            for task in tasks:
                if not self._is_made_up(part):
                    tried[task.id] = place(task)
            if self._is_made_up(part):
                return tried
            attempt.undo_to(mark)
        return dict.fromkeys((task.id for task in tasks), False)

    def _is_made_up(self, part: SubJob) -> bool:
        """Return whether further tasks of a sub-job may be placed one by one."""
        return not part.job.has_sub_group_policy or self._session.jobs.sub_job_pipelined(part)

    def _too_few(self, attempt: PlanBuilder, tasks: Sequence[Task]) -> Refusal:
        """Return the reason that a job gets no plan with places for all its tasks."""
        if not attempt.job.waits_for_best_effort:
            return too_few_tasks(self._rule.action, len(tasks))
        message = "no node is suitable for a best-effort member, without which the minimum is not reached"
        return Refusal(plugin=self._rule.action, reason=TOO_FEW_TASKS, message=message)

    def completes(self, attempt: PlanBuilder) -> bool:
        """Place best-effort members if the minimum counts on them, and return whether all have a place."""
        job = attempt.job
        for task in self._session.jobs.pending_tasks(job) if job.waits_for_best_effort else ():
            if job.counts_as_placed(task) and not task.gated:
                self.tasks.place_without(attempt, task)
            if not job.waits_for_best_effort:
                break
        return not job.waits_for_best_effort

    def finish(self, attempt: PlanBuilder) -> bool:
        """Give back the victims that are not needed, and commit what is left as a plan. Return whether there is one."""
        if not self.settles(attempt):
            return False
        self.keep(attempt)
        return True

    def settles(self, attempt: PlanBuilder) -> bool:
        """Give back the victims that are not needed; return whether all tasks get their places then."""
        if not (self.trimmer.spare_unneeded(attempt) and self.trimmer.holds_in_turn(attempt)):
            count = {OUT_OF_TURN: len({column for _, column in attempt.places})}
            attempt.why = no_plan(self._session, self._rule.action, attempt.places[0][0], count, count)
            return False
        return True

    def keep(self, attempt: PlanBuilder) -> None:
        """Commit a plan that evicts, or hold one that does not."""
        statement = attempt.statement
        if not attempt.units:
            if not self._is_bound_later(attempt):
                statement.hold()
            return
        for operation in statement.operations:
            # also places on capacity that was free: one plan waits, and is kept capacity for, together
            operation.evicts_for = operation.change.verb is not Verb.EVICT
        statement.commit()

    def _is_bound_later(self, attempt: PlanBuilder) -> bool:
        """Return whether another action binds what needs no evictions: held now it would never be bound.

        Allocate does where it is still to come; what asks for nothing at all is for backfill alone.
        """
        allocate_follows = "allocate" in self._session.following_actions
        return allocate_follows or all(task.template.best_effort for task, _ in attempt.places)

    def measure(self) -> None:
        """Report on how many nodes victims were looked for, and how many were permitted on the last one."""
        if self.on_node.attempts:
            self._session.report.sample("pod_preemption_victims", self.on_node.last_victims)
            self._session.report.sample("total_preemption_attempts", self.on_node.attempts, kind="counter")


def _place_each(
    attempt: PlanBuilder, tasks: Sequence[Task], place: Callable[[Task], bool], where: Sequence[BoolArray | None]
) -> dict[TaskId, bool]:
    """Place tasks one by one, each on the first nodes that accept it. Return whether each tried task has a place."""
    tried = {}
    for task in tasks:
        for attempt.domain in where:
            tried[task.id] = place(task)
            if tried[task.id]:
                break
    return tried
