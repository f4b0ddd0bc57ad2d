"""Native groups: the jobs of pods that name a PodGroup of `scheduling.k8s.io`.

    a member or a group changes ──▶ its job is stale ──settle──▶ the group is read, its job has new facts

The facts of a job follow from its group and its current members. A job without its group, or whose group has a fault,
has no facts: its pods wait, with the reason.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from pyroclast.cache.stores.gangs.gang_jobs import by_age, highest_priority
from pyroclast.cache.stores.job_store import JobEntry
from pyroclast.cache.translation.translate import GroupFacts
from pyroclast.model import wire
from pyroclast.model.api.names import POD_QUEUE_NAME
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.errors import ObjectError
from pyroclast.model.ids import JobId
from pyroclast.model.native import NativeGroup
from pyroclast.model.native.identity import PREFIX, is_native, job_of_native, key_of_native
from pyroclast.model.native.reading import NativeFault, read_native
from pyroclast.model.tasks import Task
from pyroclast.model.topology.labels import INSIDE_ONE

__all__ = ["NativeGroupStore", "NativeJob"]


class NativeJob(NamedTuple):
    """The job of a native group; without facts its pods wait."""

    id: JobId
    facts: GroupFacts | None
    fault: ObjectError | None


class NativeGroupStore:
    """Which jobs of native groups must be read again."""

    def __init__(
        self,
        groups: Mapping[str, wire.NativePodGroup],
        read_group: Callable[[wire.PodGroup], GroupFacts],
        report: Callable[[ObjectError], None],
    ) -> None:
        """Start without jobs.

        Args:
            groups: The live groups, by `namespace/name`.
            read_group: Parses the made-up group of a job.
            report: Receives each fault of a group.
        """
        self._groups, self._read_group, self._report = groups, read_group, report
        self._stale: set[JobId] = set()
        self._reported: dict[JobId, str] = {}

    def note_group(self, key: str) -> None:
        """Mark the job of a changed group, by `namespace/name`, as stale."""
        namespace, _, name = key.partition("/")
        self._stale.add(job_of_native(namespace, name))

    def exchange(self, old: Task | None, new: Task | None) -> None:
        """Replace an older state of a task by a newer one; None stands for its absence."""
        if old is not None and new is not None and old.job == new.job and _facts(old) == _facts(new):
            return
        for task in (old, new):
            if task is not None and task.job is not None and is_native(task.job):
                self._stale.add(task.job)

    def is_complete(self, entry: JobEntry) -> bool:
        """Return whether a job has as many pods as its group requires."""
        group = self._groups.get(key_of_native(entry.id))
        read = None if group is None else read_native(group)
        return isinstance(read, NativeGroup) and len(entry.tasks) >= read.minimum

    def settle(self, entry_of: Callable[[JobId], JobEntry | None]) -> Iterator[NativeJob]:
        """Yield the stale jobs as they are now, in the order of their ids."""
        stale, self._stale = sorted(self._stale), set()
        for job in stale:
            entry = entry_of(job)
            if entry is None or not entry.tasks:
                self._reported.pop(job, None)
                yield NativeJob(job, None, None)
            else:
                yield self._read(job, entry)

    def _read(self, job: JobId, entry: JobEntry) -> NativeJob:
        group = self._groups.get(key_of_native(job))
        read = None if group is None else read_native(group)
        if group is None or read is None:
            return NativeJob(job, None, None)
        if isinstance(read, NativeFault):
            fault = ObjectError("PodGroup", group.metadata.key, read.path, read.message)
            if self._reported.get(job) != str(fault):
                self._reported[job] = str(fault)
                self._report(fault)
            return NativeJob(job, None, fault)
        self._reported.pop(job, None)
        facts = self._read_group(_made_up(read, entry))
        return NativeJob(job, replace(facts, native=read, priority=_priority(read, entry)), None)


def _made_up(group: NativeGroup, entry: JobEntry) -> wire.PodGroup:
    """Return the made-up group of a job. The oldest member names the queue if the native group does not."""
    metadata, spec = group.object.metadata, group.object.spec
    oldest = by_age(entry.tasks.values())[0].pod
    queue = metadata.annotations.get(POD_QUEUE_NAME) or oldest.metadata.annotations.get(POD_QUEUE_NAME, "")
    is_running = entry.ready_count() >= group.minimum
    return wire.PodGroup(
        metadata=wire.ObjectMeta(
            namespace=metadata.namespace,
            name=f"{PREFIX}{metadata.name}",
            uid=metadata.uid,
            creation_timestamp=metadata.creation_timestamp,
            labels=metadata.labels,
            annotations=metadata.annotations,
        ),
        spec=wire.PodGroupSpec(
            min_member=group.minimum,
            queue=queue,
            priority_class_name=spec.priority_class_name or oldest.spec.priority_class_name,
            network_topology=INSIDE_ONE if group.topology_key else None,
        ),
        status=wire.PodGroupStatus(phase=PodGroupPhase.RUNNING if is_running else PodGroupPhase.INQUEUE),
    )


def _priority(group: NativeGroup, entry: JobEntry) -> int | None:
    """Return the priority of a group: its own, else that of its class (None), else the highest of its pods."""
    spec = group.object.spec
    if spec.priority is not None or spec.priority_class_name:
        return spec.priority
    return highest_priority(entry.tasks.values())


def _facts(task: Task) -> object:
    """Return what of a member its job depends on."""
    pod = task.pod
    return task.status, pod.metadata.annotations.get(POD_QUEUE_NAME), pod.spec.priority
