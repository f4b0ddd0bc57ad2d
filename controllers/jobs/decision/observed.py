"""Observed: all values that the next step of a Job depends on."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pyroclast.controllers.jobs.pods import pod_name, task_key
from pyroclast.controllers.jobs.reasons import INVALID
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, JobPhase, TaskSpec
from pyroclast.model.api.bus import Command
from pyroclast.model.api.scheduling import PodGroup, Queue
from pyroclast.model.wire import Pod

__all__ = ["ENDED", "Observed", "PodPlace", "is_given_up", "is_leaving", "is_new", "member_version", "members_of"]

_SAME_SECONDS: Final = 1.0
"""Smaller differences between times are ignored, so that messages do not change in each reconciliation."""
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
"""Suffix of the names of pods."""
ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of ended pods, which soft kills keep."""


@dataclass(frozen=True, slots=True, order=True)
class PodPlace:
    """Task and index of a pod in its Job."""

    task: str
    index: int


@dataclass(frozen=True, kw_only=True)
class Observed:
    """One Job and its objects at one moment."""

    job: Job
    """The Job with the defaults of admission."""
    now: float
    """Seconds since 1970."""
    age: Callable[[Hashable, float], float] | None = None
    """Returns the seconds since an event, from its recorded time. None: `now` minus that time."""
    pods: Mapping[str, Pod] = field(default_factory=dict)
    """Pods of this Job by name, of all versions."""
    vanished: frozenset[str] = frozenset()
    """Names of pods that succeeded and were deleted since the last decision."""
    reruns_succeeded: bool = False
    """Whether a succeeded pod that is deleted is created again and counts as evicted, as in Volcano."""
    pod_group: PodGroup | None = None
    queue: Queue | None = None
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    """Commands for this Job, the oldest first."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of priority classes by name."""
    claims: frozenset[str] = frozenset()
    """Existing volume claims that the Job names, by name."""
    refusal: str = ""
    """Reason why nothing may be created: a fault that admission would report, or a missing input of a plugin."""
    grace: float = 0.0
    """Seconds until a new Job is refused because of its queue. The store of queues may be stale."""
    cautions: tuple[tuple[str, str], ...] = ()
    """Warnings that do not block the Job: reason and message."""

    def since(self, thing: Hashable, at: float) -> float:
        """Return the time of an event by the clock of `now`, in seconds since 1970.

        The clock may have been set since.
        """
        since = at if self.age is None else self.now - self.age(thing, at)
        return at if abs(since - at) < _SAME_SECONDS else since

    @cached_property
    def tasks(self) -> Mapping[str, TaskSpec]:
        """Tasks by the name in the annotations of their pods."""
        return {task_key(task): task for task in self.job.spec.tasks}

    @cached_property
    def members(self) -> Mapping[PodPlace, Pod]:
        """Pods of existing places, in order of tasks and indexes.

        Iterates over pods, because the number of places is not limited.
        """
        job = self.job.metadata.name
        keys = {f"{job}-{task.name}": key for key, task in self.tasks.items()}
        found: dict[str, list[tuple[int, Pod]]] = {key: [] for key in self.tasks}
        for name, pod in self.pods.items():
            head, _, number = name.rpartition("-")
            key = keys.get(head)
            if key is not None and _INDEX.fullmatch(number) and int(number) < self.tasks[key].replicas:
                found[key].append((int(number), pod))
        return {
            PodPlace(key, index): pod
            for key, pods in found.items()
            for index, pod in sorted(pods, key=lambda one: one[0])
        }

    def name_of(self, place: PodPlace) -> str | None:
        """Return the name of the pod of a place, None if the Job has no such place."""
        task = self.tasks.get(place.task)
        if task is None or place.index >= task.replicas:
            return None
        return pod_name(self.job.metadata.name, task.name, place.index)

    @cached_property
    def surplus(self) -> tuple[Pod, ...]:
        """Pods without a place: of removed tasks, or with an index beyond the replicas."""
        placed = {pod.metadata.name for pod in self.members.values()}
        return tuple(pod for name, pod in sorted(self.pods.items()) if name not in placed)

    @property
    def replicas(self) -> int:
        """Number of replicas of all tasks."""
        return sum(task.replicas for task in self.tasks.values())


def members_of(job: Job, pods: Iterable[Pod]) -> dict[str, Pod]:
    """Return the pods that a Job created: controlled by it, with annotations of its name, a version and a task."""
    return {
        pod.metadata.name: pod
        for pod in pods
        if pod.metadata.is_controlled_by(job.metadata)
        and pod.metadata.annotations.get(names.JOB_NAME) == job.metadata.name
        and pod.metadata.annotations.get(names.TASK_SPEC)
        and member_version(pod) is not None
    }


def member_version(pod: Pod) -> int | None:
    """Return the version of the Job that created a pod, None without a number."""
    text = pod.metadata.annotations.get(names.JOB_VERSION, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else None


def is_given_up(pod: Pod) -> bool:
    """Return whether a pod is marked as restarted. Its later events are ignored."""
    return pod.metadata.annotations.get(names.OUT_OF_SYNC) == "true"


def is_leaving(pod: Pod) -> bool:
    """Return whether a pod is being deleted."""
    return bool(pod.metadata.deletion_timestamp)


def is_new(job: Job) -> bool:
    """Return whether a Job has not started: it is new, or a new Job that was refused."""
    state = job.status.state
    return not state.phase or (state.phase == JobPhase.PENDING and state.reason == INVALID)
