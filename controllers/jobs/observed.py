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
"""Times that are nearer are the same: what is said of them must not change with every look."""
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
"""As names of pods end."""
ENDED = frozenset({"Succeeded", "Failed"})
"""Phases of pods that have ended; soft kills keep these."""


@dataclass(frozen=True, slots=True, order=True)
class PodPlace:
    """Task and index of a pod in its Job."""

    task: str
    index: int


@dataclass(frozen=True, kw_only=True)
class Observed:
    """One Job and what belongs to it, at one moment."""

    job: Job
    """With the defaults that admission would have filled in."""
    now: float
    """Seconds since 1970."""
    age: Callable[[Hashable, float], float] | None = None
    """Returns the seconds since an event, from its recorded time. None: `now` minus that time."""
    pods: Mapping[str, Pod] = field(default_factory=dict)
    """Pods of this Job by name, whatever their version."""
    vanished: frozenset[str] = frozenset()
    """Names of pods that succeeded and were deleted since the last decision."""
    reruns_succeeded: bool = False
    """Whether a pod that succeeded and is deleted is made again, and counts as evicted, as in Volcano."""
    pod_group: PodGroup | None = None
    queue: Queue | None = None
    namespace_annotations: Mapping[str, str] = field(default_factory=dict)
    commands: tuple[Command, ...] = ()
    """Requests by hand, the oldest first."""
    priorities: Mapping[str, int] = field(default_factory=dict)
    """Values of priority classes by name."""
    claims: frozenset[str] = frozenset()
    """Volume claims that are there, by name, among those that the Job names."""
    refusal: str = ""
    """Reason why nothing may be created: a fault that admission would report, or a missing input of a plugin."""
    grace: float = 0.0
    """Seconds until a new Job is refused for its queue, which may be on its way by another watch."""
    cautions: tuple[tuple[str, str], ...] = ()
    """Warnings that do not stop the Job: reason and message."""

    def since(self, thing: Hashable, at: float) -> float:
        """Return when something happened, seconds since 1970 on the clock that `now` is of, which may have been set."""
        since = at if self.age is None else self.now - self.age(thing, at)
        return at if abs(since - at) < _SAME_SECONDS else since

    @cached_property
    def tasks(self) -> Mapping[str, TaskSpec]:
        """Tasks by the name that their pods carry."""
        return {task_key(task): task for task in self.job.spec.tasks}

    @cached_property
    def members(self) -> Mapping[PodPlace, Pod]:
        """Pods that stand in a place of the Job, in order of tasks and indexes.

        Found by the pods: a Job may ask for any number of them.
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
        """Name the pod of a place; None where the Job has no such place."""
        task = self.tasks.get(place.task)
        if task is None or place.index >= task.replicas:
            return None
        return pod_name(self.job.metadata.name, task.name, place.index)

    @cached_property
    def surplus(self) -> tuple[Pod, ...]:
        """Pods without a place: of tasks that are gone, or with an index beyond the replicas."""
        placed = {pod.metadata.name for pod in self.members.values()}
        return tuple(pod for name, pod in sorted(self.pods.items()) if name not in placed)

    @property
    def replicas(self) -> int:
        """Pods that the Job asks for."""
        return sum(task.replicas for task in self.tasks.values())


def members_of(job: Job, pods: Iterable[Pod]) -> dict[str, Pod]:
    """Pick the pods that a Job made: controlled by it, and marked with its name, a version and a task."""
    return {
        pod.metadata.name: pod
        for pod in pods
        if pod.metadata.is_controlled_by(job.metadata)
        and pod.metadata.annotations.get(names.JOB_NAME) == job.metadata.name
        and pod.metadata.annotations.get(names.TASK_SPEC)
        and member_version(pod) is not None
    }


def member_version(pod: Pod) -> int | None:
    """Version of the Job when it made a pod; None for what carries no number."""
    text = pod.metadata.annotations.get(names.JOB_VERSION, "")
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 11 else None


def is_given_up(pod: Pod) -> bool:
    """Return whether the Job itself is restarting a pod. Later events of such a pod are ignored."""
    return pod.metadata.annotations.get(names.OUT_OF_SYNC) == "true"


def is_leaving(pod: Pod) -> bool:
    """Return whether a pod is being deleted."""
    return bool(pod.metadata.deletion_timestamp)


def is_new(job: Job) -> bool:
    """Return whether a Job has not started: it is new, or was refused when it was new."""
    state = job.status.state
    return not state.phase or (state.phase == JobPhase.PENDING and state.reason == INVALID)
