"""Gang store: the members of gangs, the rules of gangs, and the jobs that they form.

    a member or a pod group changes ──▶ its gang is stale ──settle──▶ the gang is read, its jobs are made again

The jobs follow from the current members and pod groups, with one exception: once a member of a gang group is bound, the
group stays satisfied while one of its gangs exists. The store is empty while no plugin uses gangs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Final, NamedTuple

from pyroclast.cache.stores.gangs.gang_jobs import by_age, group_of_gangs, highest_priority, ready_counts
from pyroclast.cache.translation.translate import GroupFacts
from pyroclast.model import wire
from pyroclast.model.api.names import GROUP_NAME
from pyroclast.model.errors import ObjectError
from pyroclast.model.gangs import Gang, GangGroup, GangRules
from pyroclast.model.gangs.groups import lacking, least
from pyroclast.model.gangs.identity import gang_of, group_id, job_of_group
from pyroclast.model.gangs.names import NON_STRICT, ONCE_SATISFIED, ONLY_WAITING
from pyroclast.model.gangs.parser import read_gang
from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.native.identity import is_native
from pyroclast.model.tasks import Task, TaskStatus

__all__ = ["GangStore", "MadeJob"]

_ENDED: Final = frozenset({TaskStatus.SUCCEEDED, TaskStatus.FAILED})
_NO_GROUPS: Final[Mapping[JobId, GangGroup]] = MappingProxyType({})

GangIds = tuple[str, ...]
"""Ids of the gangs of a gang group, sorted."""


class MadeJob(NamedTuple):
    """A job that members of gangs form; without facts the job is gone."""

    id: JobId
    facts: GroupFacts | None


@dataclass(slots=True, eq=False)
class _Group:
    """Gangs that name the same gang group."""

    ids: GangIds
    main: JobId
    """Job of the members that wait for each other."""
    free: JobId
    """Job of the members that do not wait while others do."""
    gangs: set[str] = field(default_factory=set)
    is_satisfied: bool = False
    """Whether a member was ever bound."""
    is_mixed: bool = False
    """Whether a gang has another match policy than once-satisfied, or a fault."""
    jobs: dict[JobId, GangGroup] = field(default_factory=dict)
    """The jobs that the group forms."""

    def frees(self, gang: Gang) -> bool:
        """Return whether the members of a gang no longer wait for other members."""
        return self.is_satisfied and gang.match_policy == ONCE_SATISFIED and not gang.fault

    def job_of(self, gang: Gang, *, has_node: bool) -> JobId:
        """Return the job of a member, by its gang and whether it is bound."""
        is_free = has_node if gang.match_policy == ONLY_WAITING else self.is_mixed and self.frees(gang)
        return self.free if is_free else self.main


class GangStore:
    """Gangs, their members, and their jobs."""

    def __init__(
        self,
        pod_groups: Mapping[str, wire.GangPodGroup],
        read_group: Callable[[wire.PodGroup], GroupFacts],
        report: Callable[[ObjectError], None],
    ) -> None:
        """Start without gangs.

        Args:
            pod_groups: The live pod groups of gangs, by `namespace/name`.
            read_group: Parses the made-up group of a job.
            report: Receives each broken field of a gang.
        """
        self.rules: GangRules | None = None
        """Default rules of gangs; None while no plugin uses gangs."""
        self._pod_groups, self._read_group, self._report = pod_groups, read_group, report
        self._satisfied: set[GangIds] = set()
        self._forget()

    def _forget(self) -> None:
        self._members: dict[str, dict[TaskId, Task]] = {}
        self._gang_by_task: dict[TaskId, str] = {}
        self._gangs: dict[str, Gang] = {}
        self._groups: dict[GangIds, _Group] = {}
        self._listing: defaultdict[str, set[GangIds]] = defaultdict(set)
        """The groups that list a gang, by gang."""
        self._stale: set[str] = set()
        self._shown: Mapping[JobId, GangGroup] | None = None

    def set_rules(self, rules: GangRules | None) -> None:
        """Change the rules; with None the store is empty. The caller must add the members again."""
        self._satisfied = self.satisfied() if rules is not None else set()
        self._forget()
        self.rules = rules
        if rules is not None:
            self._stale.update(self._pod_groups)

    def resume(self, rules: GangRules | None, satisfied: Iterable[GangIds]) -> None:
        """Take over the rules and the satisfied groups of an earlier state of the same cluster."""
        self.set_rules(rules)
        self._satisfied = set(satisfied)

    def satisfied(self) -> set[GangIds]:
        """Return the groups with a member that was ever bound."""
        return self._satisfied | {ids for ids, group in self._groups.items() if group.is_satisfied}

    # Members

    def job_of(self, pod: wire.Pod, status: TaskStatus) -> JobId | None:
        """Return the job of a member, by the last read state of its gang; None if the member has ended."""
        if status in _ENDED:
            return None
        gang_id = gang_of(pod.metadata)
        gang = self._gangs.get(gang_id)
        if gang is None:
            return job_of_group((gang_id,))
        return self._groups[gang.group].job_of(gang, has_node=bool(pod.spec.node_name))

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Replace an older state of a task by a newer one; None stands for its absence."""
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
            if before != after or old is None or _affects_gang(old, new):
                self._stale.add(after)

    @staticmethod
    def _is_member(task: Task) -> bool:
        metadata = task.pod.metadata
        if task.job is None or is_native(task.job):
            return False
        names_group = bool(metadata.annotations.get(GROUP_NAME))  # its role may be equal to the id of a gang
        return not names_group and task.role == gang_of(metadata) != ""

    def note_pod_group(self, key: str) -> None:
        """Mark the gang of a changed pod group, by `namespace/name`, as stale."""
        if self.rules is not None:
            self._stale.add(key)

    # Settling

    def settle(self, move: Callable[[TaskId], None]) -> list[MadeJob]:
        """Read the stale gangs, and return the jobs that changed.

        Args:
            move: Moves a member to its new job.
        """
        changed: set[GangIds] = set()
        gone: list[_Group] = []
        stale, self._stale = sorted(self._stale), set()
        for gang_id in stale:
            changed |= self._reread(gang_id, gone)
        self._satisfied.clear()  # existing groups have taken it over; later groups start unsatisfied
        made: dict[JobId, GroupFacts | None] = {job: None for group in gone for job in group.jobs}
        if changed or gone:
            self._shown = None
        for ids in sorted(changed & self._groups.keys()):
            made.update(self._remake(self._groups[ids], move))
        return [MadeJob(job, facts) for job, facts in made.items()]

    def shown(self) -> Mapping[JobId, GangGroup]:
        """Return the groups by job, in the order of job ids. Call `settle` first."""
        if self.rules is None:
            return _NO_GROUPS
        if self._shown is None:
            found = {job: shown for group in self._groups.values() for job, shown in group.jobs.items()}
            self._shown = MappingProxyType({job: found[job] for job in sorted(found)})
        return self._shown

    def _reread(self, gang_id: str, gone: list[_Group]) -> set[GangIds]:
        """Read a gang, and return the groups that list it before and after."""
        assert self.rules is not None, "no gang is stale without rules"
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
        """Count the members of a group, and return its jobs."""
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
        """Return one job of a group, with some or all of its members."""
        assert self.rules is not None, "no job is made without rules"
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


def _affects_gang(old: Task, new: Task) -> bool:
    """Return whether a change of a member affects its gang or its job."""
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
