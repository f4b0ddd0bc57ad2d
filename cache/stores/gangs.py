"""Gangs: which pods are members, what their gangs say, and the jobs that they make.

    a member or a pod group changes ──▶ its gang is stale ──settle──▶ it is read, the jobs of its groups are made anew

Everything follows from the members and the pod groups that are there, but for one memory: once a member of a group was
bound, that stays known while one of its gangs is there. Nothing is kept while nobody asks for gangs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from pyroclast.cache.stores.gang_jobs import by_age, group_of_gangs, highest_priority, ready_counts
from pyroclast.cache.translation.translate import GroupFacts
from pyroclast.model import wire
from pyroclast.model.api.names import GROUP_NAME
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import Gang, GangGroup, GangRules
from pyroclast.model.gangs.groups import lacking, least
from pyroclast.model.gangs.identity import gang_of, group_id, job_of_group
from pyroclast.model.gangs.names import NON_STRICT, ONCE_SATISFIED, ONLY_WAITING
from pyroclast.model.gangs.reading import read_gang
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["GangKeeper", "MadeJob"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_NO_GROUPS: Final[Mapping[JobId, GangGroup]] = MappingProxyType({})

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
    main: JobId
    """The job of those who wait for each other."""
    free: JobId
    """The job of those who are for themselves while others must wait."""
    gangs: set[str] = field(default_factory=set)
    is_satisfied: bool = False
    """Whether a member was ever bound."""
    is_mixed: bool = False
    """Whether some of its gangs go by another policy than being satisfied once, or cannot be used."""
    jobs: dict[JobId, GangGroup] = field(default_factory=dict)
    """What it makes."""

    def frees(self, gang: Gang) -> bool:
        """Tell whether members of a gang wait for nobody any more."""
        return self.is_satisfied and gang.match_policy == ONCE_SATISFIED and not gang.fault

    def job_of(self, gang: Gang, *, has_node: bool) -> JobId:
        """Return the job of a member, by its gang and whether it is bound."""
        is_free = has_node if gang.match_policy == ONLY_WAITING else self.is_mixed and self.frees(gang)
        return self.free if is_free else self.main


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
        self._satisfied = self.satisfied() if rules is not None else set()
        self._forget()
        self.rules = rules
        if rules is not None:
            self._stale.update(self._pod_groups)

    def resume(self, rules: GangRules | None, satisfied: Iterable[GangIds]) -> None:
        """Begin with the rules and the memory of another, which has seen the same cluster."""
        self.follow(rules)
        self._satisfied = set(satisfied)

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
        return self._groups[gang.group].job_of(gang, has_node=bool(pod.spec.node_name))

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
        metadata = task.pod.metadata
        names_group = bool(metadata.annotations.get(GROUP_NAME))  # its role may be anything, also what a gang is called
        return task.job is not None and not names_group and task.role == gang_of(metadata) != ""

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
        stale, self._stale = sorted(self._stale), set()
        for gang_id in stale:
            changed |= self._reread(gang_id, gone)
        self._satisfied.clear()  # whoever is there has taken it over, and nobody else may find it
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
            self._shown = MappingProxyType({job: found[job] for job in sorted(found)})
        return self._shown

    def _reread(self, gang_id: str, gone: list[_Group]) -> set[GangIds]:
        """Read a gang; return the groups that list it, before and after."""
        assert self.rules is not None, "nothing is stale while nobody asks"
        pod_group, members = self._pod_groups.get(gang_id), self._members.get(gang_id, {})
        concerned = set(self._listing[gang_id])
        known, gang = self._gangs.get(gang_id), None
        if pod_group is not None or members:
            pods = [task.pod.metadata for task in by_age(members.values())]
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
            group = self._groups[gang.group] = _Group(
                gang.group,
                job_of_group(gang.group),
                job_of_group(gang.group, is_free=True),
                is_satisfied=gang.group in self._satisfied,
            )
            for each in gang.group:
                self._listing[each].add(gang.group)
        group.gangs.add(gang.id)

    def _leave(self, gang: Gang, gone: list[_Group]) -> None:
        group = self._groups[gang.group]
        group.gangs.discard(gang.id)
        if group.gangs:
            return
        del self._groups[gang.group]
        gone.append(group)
        for each in gang.group:
            self._listing[each].discard(gang.group)
            if not self._listing[each]:
                del self._listing[each]

    def _remake(self, group: _Group, move: Callable[[TaskId], None]) -> dict[JobId, GroupFacts | None]:
        """Count the members of a group, and make its jobs."""
        gangs = [self._gangs[each] for each in sorted(group.gangs)]
        members = {gang.id: list(self._members.get(gang.id, {}).values()) for gang in gangs}
        group.is_mixed = any(gang.match_policy != ONCE_SATISFIED or gang.fault for gang in gangs)
        group.is_satisfied = (
            group.is_satisfied
            or any(_has_node(task) for own in members.values() for task in own)
            or any(_had_bound_members(self._pod_groups.get(gang.id)) for gang in gangs)
        )
        by_job: dict[JobId, dict[str, list[Task]]] = {group.main: {gang.id: [] for gang in gangs}}
        for gang in gangs:
            for task in members[gang.id]:
                job = group.job_of(gang, has_node=_has_node(task))
                by_job.setdefault(job, {}).setdefault(gang.id, []).append(task)
        made: dict[JobId, GroupFacts | None] = dict.fromkeys(group.jobs)
        group.jobs = {}
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
        assert self.rules is not None, "nothing is made while nobody asks"
        is_main, ready = job == group.main, ready_counts(tasks)
        waits = is_main and not all(map(group.frees, gangs))
        minimums = {
            gang.id: least(gang, ready[gang.id], waits=is_main and not group.frees(gang))
            for gang in gangs
            if gang.id in tasks
        }
        sizes = {each: len(self._members.get(each, {})) for each in group.ids}
        shown = GangGroup(
            id=group_id(group.ids),
            gangs=tuple(gangs),
            refusal=lacking(group.ids, self._gangs, group.gangs, sizes) if waits else "",
            waits=waits,
            is_patient=waits and self.rules.keeps_places and all(gang.mode == NON_STRICT for gang in gangs),
        )
        facts = self._read_group(group_of_gangs(job, gangs, tasks, minimums))
        return shown, replace(facts, priority=highest_priority(task for own in tasks.values() for task in own))


def _has_node(task: Task) -> bool:
    return bool(task.pod.spec.node_name)


def _is_news(old: Task, new: Task) -> bool:
    """Tell whether a member changed in what its gang or its job is made of."""
    before, after = old.pod.metadata, new.pod.metadata
    return (old.status, bool(old.pod.spec.node_name), before.labels, before.annotations) != (
        new.status,
        bool(new.pod.spec.node_name),
        after.labels,
        after.annotations,
    )


def _had_bound_members(pod_group: wire.GangPodGroup | None) -> bool:
    """Return whether the status of a pod group counts members that were bound, also those that are gone by now."""
    if pod_group is None:
        return False
    status = pod_group.status
    return any((status.scheduled, status.running, status.succeeded, status.failed))
