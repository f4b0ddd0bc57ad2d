"""What must hold of every cycle, reckoned from what jobs asked for and where their pods are."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroclast.model.ids import JobId, NodeName, TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.plan import Eviction, Plan
from pyroclast.model.report import CycleReport
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import ALLOCATED_STATUSES, READY_STATUSES, Task, TaskStatus
from pyroclast.model.wire.times import unix_seconds
from pyroclast.testing.objects import GPU
from tests.laws.living.inspecting import WITHOUT_BENEFICIARY
from tests.laws.living.jobs import COOLDOWN_SECONDS, GIB, Wish
from tests.laws.living.world import DOMAINS, GIB_A_CPU, PARENTS, PODS, QUOTAS, World

__all__ = ["Laws", "Seen"]

BETWEEN_QUEUES: Final = frozenset({"reclaim", "gangreclaim"})
LIMITING: Final = frozenset({"capacity", "proportion"})
TAKES_ROOM: Final = ALLOCATED_STATUSES | {TaskStatus.RELEASING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One cycle: the cluster before it, and with its plans assumed."""

    before: Snapshot
    after: Snapshot
    report: CycleReport

    @property
    def plans(self) -> tuple[Plan, ...]:
        """What was decided."""
        return self.report.plans


@dataclass(slots=True)
class Laws:
    """Looks at one world after each cycle."""

    world: World
    figures: Counter[str] = field(default_factory=Counter)
    """Evictions by action, and other things that should have occurred in a run."""
    _won: dict[tuple[str, bool], frozenset[str]] = field(default_factory=dict)
    """The queues (true) or jobs (false) that lost room, at first or second hand, by UID of the pod that won it."""

    def forget(self) -> None:
        """Take note that losers may have their room back: terms changed, or the scheduler began anew."""
        self._won.clear()

    def broken(self, seen: Seen) -> list[str]:
        """Say what is broken."""
        for plan in seen.plans:
            self.figures["binds"] += len(plan.binds)
            self.figures[plan.action] += len(plan.evictions)
        return [
            *self._overcommitted(seen),
            *self._half_bound(seen),
            *self._half_gone(seen),
            *self._for_nobody(seen),
            *self._protected(seen),
            *self._taken_back(seen),
            *self._beyond_budget(seen),
            *self._across_topology(seen),
            *self._beyond_capability(seen),
            *self._beyond_quota(seen),
            *self._moved(seen),
            *self._cooling_down(seen),
        ]

    def _request(self, task: Task) -> Mapping[str, int]:
        name, _, number = task.name.rpartition("-")
        return self.world.jobs[name].request_of(int(number))

    # Placing ----------------------------------------------------------------------------------------------------------

    def _overcommitted(self, seen: Seen) -> Iterator[str]:
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for task in _tasks(seen.after):
            if task.node is not None and task.status in TAKES_ROOM:
                used[task.node].update({"pods": 1, **self._request(task)})
        for name, (cpu, gpu) in self.world.nodes.items():
            offered = {"pods": PODS, "cpu": cpu, GPU: gpu, "memory": cpu * GIB_A_CPU * GIB}
            yield from (
                f"{name} has {amount} {resource} of {offered[resource]} taken"
                for resource, amount in used[name].items()
                if amount > offered[resource]
            )

    def _half_bound(self, seen: Seen) -> Iterator[str]:
        for job_id in sorted({bind.job for plan in seen.plans for bind in plan.binds if bind.job is not None}):
            for lack in self._lacks(seen.after.jobs[job_id], {}):
                yield f"{job_id} is bound in part: {lack}"

    def _lacks(self, job: Job, places: Mapping[TaskId, NodeName]) -> Iterator[str]:
        """Say what a job lacks before it can run, with places on room that is being released."""
        placed = [task for task in job.tasks.values() if task.status in READY_STATUSES or task.id in places]
        if len(placed) < job.min_available:
            yield f"{len(placed)} of {job.min_available} have a place"
        roles = Counter(task.role for task in placed)
        yield from (
            f"{roles[role]} of {least} of role {role}" for role, least in job.min_by_role.items() if roles[role] < least
        )
        wish = self.world.jobs[job.name]
        light = [task for task in job.tasks.values() if _is_light(task) and task not in placed]
        sizes = Counter(task.pod.metadata.labels["part"] for task in (*placed, *light))
        parts = sum(size >= wish.part_size for size in sizes.values())
        if parts < wish.least_parts:
            yield f"{parts} of {wish.least_parts} sub-groups"

    def _across_topology(self, seen: Seen) -> Iterator[str]:
        held = {task: node for places in seen.report.pipelined.values() for task, node in places.items()}
        for job in seen.after.jobs.values():
            wish = self.world.jobs[job.name]
            if not wish.tier:
                continue
            nodes: dict[str, set[str]] = defaultdict(set)
            for task in job.tasks.values():
                node = task.node if task.status in ALLOCATED_STATUSES else held.get(task.id)
                if node is not None:
                    nodes[task.pod.metadata.labels["part"] if wish.part_size else ""].add(node)
            for part, within in sorted(nodes.items()):
                if not any(within <= members for tier, members in DOMAINS.values() if tier <= wish.tier):
                    yield f"{job.id} {part} lies on {sorted(within)}, across tier {wish.tier}"

    def _beyond_capability(self, seen: Seen) -> Iterator[str]:
        """Where something was bound, nothing that was asked for exceeds the limit of its queue, or of those above."""
        setting = self.world.setting
        if not setting.plugins & LIMITING:
            return
        used: dict[str, Counter[str]] = defaultdict(Counter)
        for job in seen.after.jobs.values():
            for task in job.tasks.values():
                if task.status in ALLOCATED_STATUSES:
                    for queue in self._line(job.queue):
                        used[queue].update(self._request(task))
        for plan in seen.plans:
            for bind in plan.binds:
                job = seen.after.jobs[JobId(str(bind.job))]
                for resource in self._request(job.tasks[bind.task]):
                    for queue in self._line(job.queue):
                        amount, limit = used[queue][resource], self.world.limits_of(queue).get(resource)
                        if limit is not None and amount > limit:
                            yield f"queue {queue} uses {amount} of {limit} {resource} after {bind.name} was bound"

    def _beyond_quota(self, seen: Seen) -> Iterator[str]:
        """Where something was bound, its elastic quota has no more than its maximum, and the one above it neither.

        Pods that must not be evicted for quotas stay, and a quota has at most its guarantee of such pods.
        """
        if not self.world.setting.keeps_quotas:
            return
        used: Counter[tuple[str, bool]] = Counter()
        for task in _tasks(seen.after):
            wish = self.world.jobs[task.name.rpartition("-")[0]]
            if task.status in ALLOCATED_STATUSES:
                for quota in _quotas_of(wish):
                    used[quota, True] += self._request(task).get("cpu", 0)
                    used[quota, False] += self._request(task).get("cpu", 0) if wish.is_kept else 0
        for bind in (bind for plan in seen.plans for bind in plan.binds):
            wish = self.world.jobs[bind.name.rpartition("-")[0]]
            for quota in _quotas_of(wish) if wish.cpu else ():
                least, most = QUOTAS[quota]
                if used[quota, True] > most:
                    yield f"quota {quota} uses {used[quota, True]} of {most} CPUs after {bind.name} was bound"
                if wish.is_kept and quota == wish.quota and used[quota, False] > least:
                    yield f"quota {quota} keeps {used[quota, False]} CPUs of {least} for good, with {bind.name}"
        if len(self.world.setting.tiers) > 1:
            return  # where the first tier spares everybody the next one decides
        evicted = (each for plan in seen.plans for each in plan.evictions)
        yield from (f"{each.name} was not to be evicted for quotas" for each in evicted if self._wish(each).is_kept)

    def _line(self, queue: str) -> list[str]:
        """Return a queue and, where limits hold along the tree, those above it."""
        line = [queue]
        while self.world.setting.is_hierarchical and line[-1] in PARENTS:
            line.append(PARENTS[line[-1]])
        return line

    # Evicting ---------------------------------------------------------------------------------------------------------

    def _half_gone(self, seen: Seen) -> Iterator[str]:
        """A job that lost tasks has its minimum still, or nothing."""
        lost = {
            each.job
            for plan in seen.plans
            for each in plan.evictions
            if each.job is not None and each.job != plan.job and plan.action != WITHOUT_BENEFICIARY
        }
        for job_id in sorted(lost):
            job = seen.after.jobs[job_id]
            ready, light = _count(job, READY_STATUSES), _light(job)
            if _count(job, ALLOCATED_STATUSES) and ready + light < job.min_available:
                yield f"{job_id} is left with {ready} of {job.min_available}"

    def _for_nobody(self, seen: Seen) -> Iterator[str]:
        """A plan that evicts places a whole gang, unless it rearranges a job's own tasks."""
        for plan in _evicting(seen):
            if plan.job is None or not plan.nominations:
                yield f"{plan.action} evicts {_names(plan)} for nobody"
                continue
            job = seen.after.jobs[plan.job]
            if all(each.job == plan.job for each in plan.evictions):
                continue
            for lack in self._lacks(job, seen.report.pipelined.get(plan.job, {})):
                yield f"{plan.action} evicts {_names(plan)}, and of {plan.job} {lack}"

    def _protected(self, seen: Seen) -> Iterator[str]:
        for plan in _evicting(seen):
            yield from (f"{each.name} was not to be evicted" for each in plan.evictions if self._wish(each).is_spared)
            if plan.job is not None and self.world.jobs[plan.job.rpartition("/")[2]].priority == "meek":
                yield f"{plan.action} evicts {_names(plan)} for {plan.job}, which does not want that"

    def _wish(self, eviction: Eviction) -> Wish:
        return self.world.jobs[eviction.name.rpartition("-")[0]]

    def _taken_back(self, seen: Seen) -> Iterator[str]:
        queues = {job.id: str(job.queue) for job in seen.before.jobs.values()}
        for plan in _evicting(seen):
            if plan.job is None:
                continue
            between = plan.action in BETWEEN_QUEUES
            gainer = queues[plan.job] if between else str(plan.job)
            for each in plan.evictions:
                if gainer in self._won.get((each.task, between), ()):
                    yield f"{gainer} takes back by {plan.action} the room of {each.name}, which it lost"
            names = [each.job for each in plan.evictions if each.job is not None and each.job != plan.job]
            for of_queues in (True, False):
                lost = {queues[name] if between else str(name) for name in names} if of_queues is between else set()
                lost.update(*(self._won.get((each.task, of_queues), ()) for each in plan.evictions))
                self._won.update(((place.task, of_queues), frozenset(lost)) for place in plan.nominations)

    def _beyond_budget(self, seen: Seen) -> Iterator[str]:
        """Victims by running job: a gang that is evicted whole counts as one."""
        if not self.world.setting.keeps_budgets:
            return
        lost = Counter(str(each.job) for plan in seen.plans for each in plan.evictions)
        for budget in seen.before.objects.disruption_budgets.values():
            job = seen.after.jobs[JobId(f"default/{budget.metadata.name}")]
            if lost[job.id] > budget.status.disruptions_allowed and _count(job, ALLOCATED_STATUSES):
                yield f"{job.id} may lose {budget.status.disruptions_allowed} and loses {lost[job.id]}"

    def _moved(self, seen: Seen) -> Iterator[str]:
        """A gang that tasks leave for a better place keeps its minimum; only a zone that closes breaks gangs."""
        for plan in seen.plans:
            for each in plan.evictions if plan.action == WITHOUT_BENEFICIARY else ():
                job = seen.after.jobs[JobId(str(each.job))]
                if "lowNodeUtilization" in each.reason and _count(job, READY_STATUSES) < job.min_available:
                    yield f"{each.name} moves, and {_count(job, READY_STATUSES)} of {job.min_available} are left"

    def _cooling_down(self, seen: Seen) -> Iterator[str]:
        if not self.world.setting.keeps_cooldown:
            return
        tasks = {task.id: task for task in _tasks(seen.before)}
        for each in (each for plan in _evicting(seen) for each in plan.evictions):
            times = [
                unix_seconds(condition.last_transition_time)
                for condition in tasks[each.task].pod.status.conditions
                if condition.type == "PodScheduled" and condition.status == "True"
            ]
            if self._wish(each).cools_down and times and times[0] + COOLDOWN_SECONDS > self.world.now:
                yield f"{each.name} was scheduled {self.world.now - times[0]} seconds ago and is evicted"


def _quotas_of(wish: Wish) -> tuple[str, ...]:
    return {"ant": ("ant", "ants"), "bee": ("bee",)}.get(wish.quota, ())


def _tasks(snapshot: Snapshot) -> Iterator[Task]:
    return (task for job in snapshot.jobs.values() for task in job.tasks.values())


def _count(job: Job, statuses: frozenset[TaskStatus]) -> int:
    return sum(task.status in statuses for task in job.tasks.values())


def _light(job: Job) -> int:
    return sum(map(_is_light, job.tasks.values()))


def _is_light(task: Task) -> bool:
    return task.template.best_effort and task.status is TaskStatus.PENDING


def _evicting(seen: Seen) -> Iterator[Plan]:
    return (plan for plan in seen.plans if plan.evictions and plan.action != WITHOUT_BENEFICIARY)


def _names(plan: Plan) -> list[str]:
    return [each.name for each in plan.evictions]
