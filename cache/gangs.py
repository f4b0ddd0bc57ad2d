"""Gangs: which pods are members, what their gangs say, and the jobs that they make.

    a member or a pod group changes ──▶ its gang is stale ──settle──▶ it is read, the jobs of its groups are made anew

Everything follows from the members and the pod groups that are there, but for one memory: once a member of a group was
bound, that stays known while one of its gangs is there. Nothing is kept while nobody asks for gangs.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from cache.translate import GroupFacts
from model import wire
from model.api.names import POD_QUEUE_NAME
from model.errors import ObjectError
from model.gangs import Gang, GangGroup, GangRules
from model.gangs.groups import is_free, lacking, least
from model.gangs.identity import gang_of, group_id, job_of_group
from model.gangs.names import NON_STRICT, ONCE_SATISFIED
from model.gangs.reading import read_gang
from model.ids import JobId, TaskId
from model.jobs import JobPhase
from model.tasks import ALLOCATED_STATUSES, Task, TaskStatus

__all__ = ["GangKeeper", "MadeJob"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_NO_GROUPS: Final[Mapping[JobId, GangGroup]] = {}

GangIds = tuple[str, ...]
"""Ids of the gangs of a group, sorted."""


class MadeJob(NamedTuple):
    """A job as its members make it; without facts it is none any more."""

    id: JobId
    facts: GroupFacts | None


@dataclass(slots=True, eq=False)
class _Group:
    """Gangs that say that they are of one group."""

    ids: GangIds
    gangs: set[str] = field(default_factory=set)
    is_satisfied: bool = False
    """Whether a member was ever bound."""
    jobs: dict[JobId, GangGroup] = field(default_factory=dict)
    """What it makes."""


class GangKeeper:
    """All gangs, their members, and their jobs."""

    def __init__(
        self,
        pod_groups: Mapping[str, wire.GangPodGroup],
        read_group: Callable[[wire.PodGroup], GroupFacts],
        report: Callable[[ObjectError], None],
    ) -> None:
        """Keep no gangs yet.

        Args:
            pod_groups: The pod groups there are, by `namespace/name`; others change them.
            read_group: Reads the group that a job is given.
            report: Is told what of a gang cannot be read.
        """
        self.rules: GangRules | None = None
        """What holds for gangs that say nothing; None while nobody asks for gangs."""
        self._pod_groups, self._read_group, self._report = pod_groups, read_group, report
        self._satisfied: set[GangIds] = set()
        self._forget()

    def _forget(self) -> None:
        self._members: dict[str, dict[TaskId, Task]] = {}
        self._gang_by_task: dict[TaskId, str] = {}
        self._gangs: dict[str, Gang] = {}
        self._groups: dict[GangIds, _Group] = {}
        self._listing: defaultdict[str, set[GangIds]] = defaultdict(set)
        """By gang, the groups that list it."""
        self._stale: set[str] = set()
        self._shown: Mapping[JobId, GangGroup] | None = None

    def follow(self, rules: GangRules | None) -> None:
        """Keep gangs by these rules, or none; then let members be noted anew."""
        if rules is None:
            self._satisfied.clear()
        self._forget()
        self.rules = rules
        if rules is not None:
            self._stale.update(self._pod_groups)

    def resume(self, other: "GangKeeper") -> None:
        """Begin with the rules and the memory of another, which has seen the same cluster."""
        self.follow(other.rules)
        self._satisfied = other.satisfied()

    def satisfied(self) -> set[GangIds]:
        """Return the groups of which a member was ever bound."""
        return self._satisfied | {ids for ids, group in self._groups.items() if group.is_satisfied}

    # Members ----------------------------------------------------------------------------------------------------------

    def job_of(self, pod: wire.Pod, status: TaskStatus) -> JobId | None:
        """Return the job of a member, as far as its gang was read; None for one that has ended."""
        if status in _ENDED:
            return None
        gang_id = gang_of(pod.metadata)
        gang = self._gangs.get(gang_id)
        if gang is None:
            return job_of_group((gang_id,))
        return self._job_in(gang, self._groups[gang.group], has_node=bool(pod.spec.node_name))

    def _job_in(self, gang: Gang, group: _Group, *, has_node: bool) -> JobId:
        gangs = [self._gangs[each] for each in group.gangs]
        free = is_free(gang, gangs, has_node=has_node, is_satisfied=group.is_satisfied)
        return job_of_group(group.ids, is_free=free)

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Note a task in place of what it was; None stands for its absence."""
        if self.rules is None:
            return
        before = None if old is None else self._gang_by_task.get(old.id)
        after = gang_of(new.pod.metadata) if new is not None and self._is_member(new) else None
        if before is not None and old is not None and before != after:
            members = self._members[before]
            del members[old.id], self._gang_by_task[old.id]
            if not members:
                del self._members[before]
            self._stale.add(before)
        if after is not None and new is not None:
            self._members.setdefault(after, {})[new.id] = new
            self._gang_by_task[new.id] = after
            if before != after or old is None or _is_news(old, new):
                self._stale.add(after)

    @staticmethod
    def _is_member(task: Task) -> bool:
        return task.job is not None and task.status not in _ENDED and task.role == gang_of(task.pod.metadata) != ""

    def note_pod_group(self, key: str) -> None:
        """Note that a pod group came, changed or went, by `namespace/name`."""
        if self.rules is not None:
            self._stale.add(key)

    # Settling ---------------------------------------------------------------------------------------------------------

    def settle(self, move: Callable[[TaskId], None]) -> list[MadeJob]:
        """Read what is stale, and return the jobs that are others now.

        Args:
            move: Takes a member, whose job is another one, over into that.
        """
        changed: set[GangIds] = set()
        gone: list[_Group] = []
        while self._stale:
            stale, self._stale = sorted(self._stale), set()
            for gang_id in stale:
                changed |= self._reread(gang_id, gone)
        made: dict[JobId, GroupFacts | None] = {job: None for group in gone for job in group.jobs}
        if changed or gone:
            self._shown = None
        for ids in sorted(changed & self._groups.keys()):
            made.update(self._remake(self._groups[ids], move))
        return [MadeJob(job, facts) for job, facts in made.items()]

    def shown(self) -> Mapping[JobId, GangGroup]:
        """Return the groups by job, in the order of jobs; call it when all is settled."""
        if self.rules is None:
            return _NO_GROUPS
        if self._shown is None:
            found = {job: shown for group in self._groups.values() for job, shown in group.jobs.items()}
            self._shown = {job: found[job] for job in sorted(found)}
        return self._shown

    def _reread(self, gang_id: str, gone: list[_Group]) -> set[GangIds]:
        """Read a gang; return the groups that list it, before and after."""
        assert self.rules is not None, "nothing is stale while nobody asks"
        pod_group, members = self._pod_groups.get(gang_id), self._members.get(gang_id, {})
        concerned = set(self._listing[gang_id])
        known, gang = self._gangs.get(gang_id), None
        if pod_group is not None or members:
            pods = [task.pod.metadata for task in _by_age(members)]
            gang = read_gang(gang_id, pod_group, pods, self.rules)
        if known is not None and (gang is None or gang.group != known.group):
            self._leave(known, gone)
        if gang is None:
            self._gangs.pop(gang_id, None)
        else:
            self._gangs[gang_id] = gang
            self._join(gang)
            if known is None or [str(note) for note in known.notes] != [str(note) for note in gang.notes]:
                for note in gang.notes:
                    self._report(note)
        concerned |= self._listing[gang_id]
        if not self._listing[gang_id]:
            del self._listing[gang_id]
        return concerned

    def _join(self, gang: Gang) -> None:
        group = self._groups.get(gang.group)
        if group is None:
            group = self._groups[gang.group] = _Group(gang.group, is_satisfied=gang.group in self._satisfied)
            for each in gang.group:
                self._listing[each].add(gang.group)
        group.gangs.add(gang.id)

    def _leave(self, gang: Gang, gone: list[_Group]) -> None:
        group = self._groups[gang.group]
        group.gangs.discard(gang.id)
        if group.gangs:
            return
        del self._groups[gang.group]
        self._satisfied.discard(gang.group)
        gone.append(group)
        for each in gang.group:
            self._listing[each].discard(gang.group)

    def _remake(self, group: _Group, move: Callable[[TaskId], None]) -> dict[JobId, GroupFacts | None]:
        """Count the members of a group, and make its jobs."""
        gangs = [self._gangs[each] for each in sorted(group.gangs)]
        members = {gang.id: _by_age(self._members.get(gang.id, {})) for gang in gangs}
        if not group.is_satisfied:
            group.is_satisfied = any(task.pod.spec.node_name for each in members.values() for task in each)
        by_job: dict[JobId, dict[str, list[Task]]] = {job_of_group(group.ids): {gang.id: [] for gang in gangs}}
        for gang in gangs:
            for task in members[gang.id]:
                job = self._job_in(gang, group, has_node=bool(task.pod.spec.node_name))
                by_job.setdefault(job, {}).setdefault(gang.id, []).append(task)
        before, group.jobs = group.jobs, {}
        made: dict[JobId, GroupFacts | None] = dict.fromkeys(before)
        for job, tasks in by_job.items():
            if any(tasks.values()):
                group.jobs[job], made[job] = self._made(job, group, gangs, tasks)
                for task in [each for own in tasks.values() for each in own if each.job != job]:
                    move(task.id)
        return made

    def _made(
        self, job: JobId, group: _Group, gangs: list[Gang], tasks: Mapping[str, list[Task]]
    ) -> tuple[GangGroup, GroupFacts]:
        """Make one job of a group, of some or all of its members."""
        is_main = job == job_of_group(group.ids)
        is_each_for_itself = not is_main or all(_is_satisfied(gang, group) and not gang.fault for gang in gangs)
        ready = {gang_id: sum(task.status in ALLOCATED_STATUSES for task in own) for gang_id, own in tasks.items()}
        minimums = {
            gang.id: least(gang, ready[gang.id], waits=is_main and not _is_satisfied(gang, group))
            for gang in gangs
            if gang.id in tasks
        }
        trying = frozenset(gang.id for gang in gangs if gang.mode == NON_STRICT)
        shown = GangGroup(
            id=group_id(group.ids),
            refusal="" if is_each_for_itself else lacking(group.ids, self._gangs, self._sizes(group)),
            waits=not is_each_for_itself,
            trying=trying,
            patience=self._patience(gangs) if trying == tasks.keys() and not is_each_for_itself else {},
            notes=tuple((gang.id, note) for gang in gangs for note in gang.notes) if is_main else (),
        )
        first, *_ = _by_age({task.id: task for own in tasks.values() for task in own})
        priorities = [
            task.pod.spec.priority for own in tasks.values() for task in own if task.pod.spec.priority is not None
        ]
        is_running = 0 < sum(ready.values()) >= sum(minimums.values())
        facts = self._read_group(
            wire.PodGroup(
                metadata=wire.ObjectMeta(
                    namespace=job.partition("/")[0],
                    name=job.partition("/")[2],
                    creation_timestamp=min((gang.created for gang in gangs if gang.created), default=""),
                    labels=first.pod.metadata.labels,
                    annotations=first.pod.metadata.annotations,
                ),
                spec=wire.PodGroupSpec(
                    min_member=sum(minimums.values()),
                    min_task_member=minimums,
                    queue=first.pod.metadata.annotations.get(POD_QUEUE_NAME, ""),
                    priority_class_name=first.pod.spec.priority_class_name,
                ),
                status=wire.PodGroupStatus(phase=JobPhase.RUNNING if is_running else JobPhase.INQUEUE),
            )
        )
        return shown, replace(facts, priority=max(priorities, default=None))

    def _patience(self, gangs: list[Gang]) -> dict[str, float]:
        assert self.rules is not None, "nothing is made while nobody asks"
        return {gang.id: gang.waiting_seconds for gang in gangs} if self.rules.keeps_places else {}

    def _sizes(self, group: _Group) -> dict[str, int]:
        return {each: len(self._members.get(each, {})) for each in group.ids}


def _by_age(members: Mapping[TaskId, Task]) -> list[Task]:
    """Return tasks first made first, of these by namespace and name."""
    return sorted(
        members.values(), key=lambda task: (task.pod.metadata.creation_timestamp, task.namespace, task.name, task.id)
    )


def _is_satisfied(gang: Gang, group: _Group) -> bool:
    """Tell whether members of a gang wait for nobody any more."""
    return group.is_satisfied and gang.match_policy == ONCE_SATISFIED


def _is_news(old: Task, new: Task) -> bool:
    """Tell whether a member changed in what its gang or its job is made of."""
    before, after = old.pod.metadata, new.pod.metadata
    return (old.status, bool(old.pod.spec.node_name), before.labels, before.annotations) != (
        new.status,
        bool(new.pod.spec.node_name),
        after.labels,
        after.annotations,
    )
