"""Job events: what happened to a Job, derived from the objects that exist.

| event | is there while | over when |
|---|---|---|
| PodFailed | a pod of this version is Failed, and is not being deleted | it was killed, or the version grew |
| PodPending | a pod of this version is Pending | it is anything else |
| PodEvicted | a pod that had not ended is deleted, or its policy has a timeout | handled, or the next pod of the place
runs |
| TaskCompleted | as many pods of a task as it has replicas succeeded | one was killed, or the version grew |
| TaskFailed | containers of a task were restarted as often as it may retry | its pods were killed |
| Unknown | the pod group is Unknown | it is not, or a restart of the whole Job has begun, which deletes it |

A deleted pod ends before it disappears (since Kubernetes 1.27 kubelets write how). It counts as evicted once it is
gone. Its end is neither a failure nor a completion.

Each response ends its event or is recorded in the status. Therefore no event gets two responses.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from pyroclast.controllers.jobs.decision.causes import exit_codes, why_failed, why_pending
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import (
    ENDED,
    Observed,
    PodPlace,
    is_given_up,
    is_leaving,
    member_version,
)
from pyroclast.controllers.jobs.decision.targets import covers, is_whole
from pyroclast.controllers.jobs.durations import duration_text
from pyroclast.model.api.batch import JobPhase
from pyroclast.model.api.bus import LifecycleEvent
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.wire import Pod
from pyroclast.model.wire.times import unix_seconds

__all__ = ["JobEvent", "occurrences"]

_DEFAULT_TASK_RETRIES: Final = 3
_NO_LIMIT: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEvent:
    """An event of a Job, without a response yet."""

    event: LifecycleEvent
    at: float
    """Time of the event in seconds since 1970."""
    place: PodPlace | None = None
    """Place of the pod, None for an event of the whole Job."""
    pod: str = ""
    exit_codes: tuple[int, ...] = ()
    """Exit codes of the failed containers: regular containers first, then init containers, each in their order."""
    detail: str = ""
    """Details from the pod's status."""

    def __str__(self) -> str:
        """Return a message for users."""
        code = f" with exit code {self.exit_codes[0]}" if self.exit_codes else ""
        return f"{self.event.value} of pod {self.pod}{code}" if self.pod else self.event.value

    def after(self, seconds: float) -> str:
        """Return a message with the known duration and cause."""
        lasted = f" for {duration_text(seconds)}" if seconds else ""
        return f"{self}{lasted}{f': {self.detail}' if self.detail else ''}"


def occurrences(
    seen: Observed, memory: JobMemory, events: Collection[str] = frozenset(LifecycleEvent)
) -> tuple[JobEvent, ...]:
    """Return the events of a Job without a response, the oldest first, of the given types."""
    found = [occurrence for event in _FINDERS if event in events for occurrence in _FINDERS[event](seen, memory)]
    order = {task: number for number, task in enumerate(seen.tasks)}
    return tuple(
        sorted(found, key=lambda one: (one.at, (order[one.place.task], one.place.index) if one.place else (-1, 0)))
    )


def _standing(seen: Observed, memory: JobMemory) -> Iterator[tuple[PodPlace, Pod]]:
    """Yield the pods that are not marked as restarted, not being deleted, and not covered by a restart."""
    for place, pod in seen.members.items():
        if is_leaving(pod) or is_given_up(pod):
            continue
        if not any(covers(seen, target, place) for target in memory.restarting):
            yield place, pod


def _counted(seen: Observed, memory: JobMemory) -> Iterator[tuple[PodPlace, Pod]]:
    """Yield the standing pods of the current version, whose events count."""
    for place, pod in _standing(seen, memory):
        if member_version(pod) == seen.job.status.version:
            yield place, pod


def _evictions(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    for place in {*memory.known, *memory.evicted}:
        name = seen.name_of(place)
        if name is None or place in memory.done:
            continue
        if place in memory.known and name not in seen.pods:
            yield JobEvent(event=LifecycleEvent.POD_EVICTED, at=seen.now, place=place, pod=name)
        elif place in memory.evicted:
            successor = seen.pods.get(name)
            if successor is None or successor.status.phase not in {"Running", *ENDED}:
                yield JobEvent(event=LifecycleEvent.POD_EVICTED, at=memory.evicted[place], place=place, pod=name)


def _failures(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    for place, pod in _counted(seen, memory):
        if pod.status.phase == "Failed":
            yield JobEvent(
                event=LifecycleEvent.POD_FAILED,
                at=_ended_at(pod),
                place=place,
                pod=pod.metadata.name,
                exit_codes=exit_codes(pod),
                detail=why_failed(pod),
            )


def _waits(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    for place, pod in _counted(seen, memory):
        if pod.status.phase == "Pending":
            yield JobEvent(
                event=LifecycleEvent.POD_PENDING,
                at=_moment(pod.metadata.creation_timestamp, otherwise=seen.now),
                place=place,
                pod=pod.metadata.name,
                detail=why_pending(pod),
            )


def _completed_tasks(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    """Yield the event of a completed task, with the pod that ended last."""
    succeeded: dict[str, int] = {}
    for place, pod in _standing(seen, memory):
        succeeded[place.task] = succeeded.get(place.task, 0) + (pod.status.phase == "Succeeded")
    for place in memory.done - seen.members.keys():
        succeeded[place.task] = succeeded.get(place.task, 0) + 1
    last: dict[str, tuple[float, PodPlace, Pod]] = {}
    for place, pod in _counted(seen, memory):
        if pod.status.phase == "Succeeded":
            last[place.task] = max(
                last.get(place.task, (-1.0, place, pod)), (_ended_at(pod), place, pod), key=lambda one: one[:2]
            )
    for name, (at, place, pod) in last.items():
        if succeeded[name] >= seen.tasks[name].replicas:
            yield JobEvent(event=LifecycleEvent.TASK_COMPLETED, at=at, place=place, pod=pod.metadata.name)


def _failed_tasks(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    """Yield the event of a failed task, with the pod that restarted most often."""
    restarts: dict[str, int] = {}
    for place, pod in _standing(seen, memory):
        if pod.status.phase in {"Running", "Pending"}:
            restarts[place.task] = restarts.get(place.task, 0) + _restarts(pod)
    worst: dict[str, tuple[int, PodPlace, Pod]] = {}
    for place, pod in _counted(seen, memory):
        if pod.status.phase in {"Running", "Pending"} and _restarts(pod) > worst.get(place.task, (0,))[0]:
            worst[place.task] = (_restarts(pod), place, pod)
    for name, (_, place, pod) in worst.items():
        limit = seen.tasks[name].max_retry or _DEFAULT_TASK_RETRIES
        if limit != _NO_LIMIT and restarts[name] >= limit:
            yield JobEvent(event=LifecycleEvent.TASK_FAILED, at=_ended_at(pod), place=place, pod=pod.metadata.name)


def _unknown_group(seen: Observed, memory: JobMemory) -> Iterator[JobEvent]:
    group, state = seen.pod_group, seen.job.status.state
    if group is None or group.status.phase != PodGroupPhase.UNKNOWN:
        return
    if state.phase == JobPhase.RESTARTING and is_whole(memory.restarting):
        return
    moments = [
        unix_seconds(condition.last_transition_time)
        for condition in group.status.conditions
        if condition.type == "Unschedulable"
    ]
    yield JobEvent(event=LifecycleEvent.UNKNOWN, at=max([*moments, _moment(state.last_transition_time, otherwise=0.0)]))


_FINDERS: Final = {
    LifecycleEvent.POD_EVICTED: _evictions,
    LifecycleEvent.POD_FAILED: _failures,
    LifecycleEvent.POD_PENDING: _waits,
    LifecycleEvent.TASK_COMPLETED: _completed_tasks,
    LifecycleEvent.TASK_FAILED: _failed_tasks,
    LifecycleEvent.UNKNOWN: _unknown_group,
}


def _restarts(pod: Pod) -> int:
    return sum(one.restart_count for one in (*pod.status.init_container_statuses, *pod.status.container_statuses))


def _ended_at(pod: Pod) -> float:
    """Return the time at which the last container ended. Without one, return the latest time in the pod's status."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    ends = [
        state.terminated.finished_at for one in statuses for state in (one.state, one.last_state) if state.terminated
    ]
    changes = [condition.last_transition_time for condition in pod.status.conditions]
    times = [text for text in (ends or changes) if text] or [pod.status.start_time or pod.metadata.creation_timestamp]
    return max(_moment(text, otherwise=0.0) for text in times)


def _moment(text: str, *, otherwise: float) -> float:
    """Parse a time. Return `otherwise` for an invalid or absent time."""
    try:
        return unix_seconds(text) or otherwise
    except ValueError:
        return otherwise
