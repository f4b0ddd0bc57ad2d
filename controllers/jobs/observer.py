"""Observer: the state of one Job from the stores, with the defaults and the faults of admission."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypedDict

import msgspec

from pyroclast.controllers.admission.faults import faults_message
from pyroclast.controllers.admission.lookups import StoredQueues
from pyroclast.controllers.admission.rules.job_size import size_faults
from pyroclast.controllers.admission.rules.jobs import defaulted, faults_of
from pyroclast.controllers.admission.rules.pods import budget_faults
from pyroclast.controllers.admission.rules.shape import member
from pyroclast.controllers.admission.rules.templates import unreadable
from pyroclast.controllers.jobs.claims import without_made_names
from pyroclast.controllers.jobs.decision.observed import Observed, is_new, members_of
from pyroclast.controllers.jobs.defaults import filled_in
from pyroclast.controllers.jobs.plugins.registry import plugin_faults
from pyroclast.controllers.jobs.pods import pod_group_name
from pyroclast.controllers.jobs.reasons import INVALID, PLUGIN_ERROR
from pyroclast.controllers.jobs.stores import COMMAND_JOB, POD_OWNER, Stores, place_of
from pyroclast.controllers.runtime.ages import Ages
from pyroclast.controllers.runtime.invalid_condition import grace_left
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.kube.api.clock import Clock
from pyroclast.model.api.batch import Job, JobSpec
from pyroclast.model.api.meta import EMPTY
from pyroclast.model.api.scheduling import PodGroup

__all__ = ["JobObserver", "change_refusal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Read:
    """Values that depend only on the spec of a Job."""

    uid: str
    generation: int
    spec: JobSpec
    faults: str
    """Faults that admission would report for a new Job with this spec."""
    obstacle: str
    """Reason why pods cannot be created."""
    cautions: tuple[tuple[str, str], ...]


class _Objections(TypedDict):
    refusal: str
    grace: float
    cautions: tuple[tuple[str, str], ...]


class JobObserver:
    """Collects the objects of a Job. Values that depend only on its spec are cached."""

    def __init__(self, stores: Stores, *, clock: Clock, scheduler_name: str, reruns_succeeded: bool = False) -> None:
        """Create an observer.

        Args:
            stores: Stores of the objects.
            clock: Clock of `now`.
            scheduler_name: Scheduler of Jobs that name none.
            reruns_succeeded: Whether pods that succeeded are created again after their deletion.
        """
        self._stores, self._clock, self._scheduler_name = stores, clock, scheduler_name
        self._reruns_succeeded = reruns_succeeded
        self._read: dict[Key, _Read] = {}
        self._ages: dict[Key, Ages[Hashable]] = {}
        """Ages of the events of each Job."""

    def forget(self, key: Key) -> None:
        """Drop the stored values of a deleted Job."""
        self._read.pop(key, None)
        self._ages.pop(key, None)

    def observe(self, job: Job, vanished: frozenset[str] = frozenset()) -> Observed:
        """Return the current observations of a Job.

        Args:
            job: The Job.
            vanished: Names of its pods that succeeded and were deleted since the last decision.
        """
        read, now = self._known(job), self._clock.wall()
        whole = msgspec.structs.replace(job, spec=read.spec)
        namespace, stores = job.metadata.namespace, self._stores
        of_namespace = stores.namespaces.get("", namespace)
        claims = {volume.volume_claim_name for volume in read.spec.volumes if volume.volume_claim_name}
        return Observed(
            job=whole,
            now=now,
            age=self._ages.setdefault(key_of(job), Ages(self._clock)).age,
            pods=members_of(job, stores.pods.by(POD_OWNER, job.metadata.uid)),
            vanished=vanished,
            reruns_succeeded=self._reruns_succeeded,
            pod_group=self._group(job),
            queue=stores.queues.get("", read.spec.queue),
            namespace_annotations=of_namespace.metadata.annotations if of_namespace is not None else EMPTY,
            commands=tuple(
                sorted(
                    stores.commands.by(COMMAND_JOB, place_of(*key_of(job))),
                    key=lambda command: (command.metadata.creation_timestamp, command.metadata.name),
                )
            ),
            priorities=self._priorities(read.spec),
            claims=frozenset(name for name in claims if stores.claims.get(namespace, name) is not None),
            **self._objections(whole, read, now),
        )

    def _known(self, job: Job) -> _Read:
        key = key_of(job)
        read = self._read.get(key)
        if read is None or (read.uid, read.generation) != (job.metadata.uid, job.metadata.generation):
            read = self._read[key] = self._read_anew(job)
        return read

    def _read_anew(self, job: Job) -> _Read:
        plain = msgspec.json.decode(msgspec.json.encode(job))
        patches = defaulted(plain, scheduler_name=self._scheduler_name)
        # Nearly every Job has its defaults already. Then its own spec is used, without a copy.
        spec = msgspec.convert(filled_in(plain, patches)["spec"], JobSpec) if patches else job.spec
        whole = msgspec.structs.replace(job, spec=spec)
        faults = plugin_faults(whole)
        fields = ((task, f"spec.tasks[{number}].template") for number, task in enumerate(spec.tasks))
        unread = [str(fault) for task, field in fields if (fault := unreadable(task.template, field)) is not None]
        too_many = map(str, size_faults(spec.tasks))
        return _Read(
            uid=job.metadata.uid,
            generation=job.metadata.generation,
            spec=spec,
            faults=faults_message(faults_of(without_made_names(whole))),
            obstacle="; ".join([*unread, *(fault.message for fault in faults if fault.is_fatal), *too_many]),
            cautions=tuple((PLUGIN_ERROR, fault.message) for fault in faults if not fault.is_fatal),
        )

    def _objections(self, job: Job, read: _Read, now: float) -> _Objections:
        """Return the faults of a Job. A new Job is refused. A Job that has started continues with a warning."""
        # The webhook for pods would refuse each pod. Annotations are not part of the spec, and may change at any time.
        budget = faults_message(tuple(budget_faults(job.metadata.annotations)))
        cautions = (*read.cautions, *(((INVALID, budget),) if budget else ()))
        if not is_new(job):
            changes = ((INVALID, read.faults),) if read.faults else ()
            return {"refusal": read.obstacle, "grace": 0.0, "cautions": (*cautions, *changes)}
        refusal = self._queue_refusal(job) or read.obstacle
        waits_for_queue = refusal and not (read.faults or read.obstacle)
        grace = grace_left(job.metadata.creation_timestamp, now) if waits_for_queue else 0.0
        return {"refusal": refusal, "grace": grace, "cautions": cautions}

    def _queue_refusal(self, job: Job) -> str:
        """Return why a new Job is refused, because of its queue or its own faults."""
        return faults_message(faults_of(without_made_names(job), lookups=StoredQueues(self._stores.queues)))

    def _group(self, job: Job) -> PodGroup | None:
        """Return the pod group of a Job. Before Volcano 1.5 it had the name of the Job."""
        namespace = job.metadata.namespace
        group = self._stores.pod_groups.get(namespace, pod_group_name(job))
        if group is not None:
            return group
        legacy = self._stores.pod_groups.get(namespace, job.metadata.name)
        return legacy if legacy is not None and legacy.metadata.is_controlled_by(job.metadata) else None

    def _priorities(self, spec: JobSpec) -> dict[str, int]:
        class_names = {member(task.template, "spec", "priorityClassName") for task in spec.tasks}
        named = sorted(name for name in class_names if isinstance(name, str) and name)
        found = ((name, self._stores.priority_classes.get("", name)) for name in named)
        return {name: known.value for name, known in found if known is not None}


def change_refusal(old: Job, new: Job) -> str:
    """Return why admission would have refused a change of a started Job. Other Jobs are validated as new Jobs."""
    return "" if is_new(old) else faults_message(faults_of(without_made_names(new), without_made_names(old)))
