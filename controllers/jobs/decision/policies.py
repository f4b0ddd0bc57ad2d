"""Policies: the action for an event, and its time.

Policies of the task precede those of the Job, each list in its order. The first match counts, even if a later policy is
more specific. Without a match, the Job is synchronized with its spec.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pyroclast.controllers.jobs.decision.job_events import JobEvent, occurrences
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import Observed, PodPlace
from pyroclast.controllers.jobs.decision.targets import Target, partition_of
from pyroclast.controllers.jobs.durations import seconds_of
from pyroclast.model.api.batch import LifecyclePolicy
from pyroclast.model.api.bus import LifecycleAction, LifecycleEvent

__all__ = ["TARGETED", "WHOLE", "PolicyAction", "answers", "target_of"]

WHOLE: Final = frozenset(
    {
        LifecycleAction.ABORT_JOB,
        LifecycleAction.RESTART_JOB,
        LifecycleAction.TERMINATE_JOB,
        LifecycleAction.COMPLETE_JOB,
        LifecycleAction.RESUME_JOB,
    }
)
"""Actions on the Job as a whole."""
TARGETED: Final = frozenset(
    {LifecycleAction.RESTART_TASK, LifecycleAction.RESTART_POD, LifecycleAction.RESTART_PARTITION}
)
"""Actions on some of its pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAction:
    """Action that a policy requires for an event."""

    occurrence: JobEvent
    action: LifecycleAction
    due: float
    """Due time, in seconds since 1970."""
    delay: float = 0.0
    """Timeout of the policy, in seconds."""


def answers(seen: Observed, memory: JobMemory) -> tuple[PolicyAction, ...]:
    """Return the actions that policies require, in the order of their events. Events without a policy are left out."""
    happened = occurrences(seen, memory, _asked_for(seen))
    return tuple(answer for occurrence in happened if (answer := _answer(seen, occurrence)) is not None)


def target_of(seen: Observed, action: LifecycleAction, place: PodPlace) -> Target | None:
    """Return the target of an action on some pods for an event of a pod, None if there is none."""
    if action is LifecycleAction.RESTART_TASK:
        return Target("task", place.task)
    if action is LifecycleAction.RESTART_POD:
        return Target("pod", place.task, place.index)
    partition = partition_of(seen, place)
    return None if partition is None else Target("partition", place.task, partition)


def _asked_for(seen: Observed) -> frozenset[str]:
    """Return the events that policies of the Job name. Other events are not searched for."""
    policies = [*seen.job.spec.policies, *(policy for task in seen.job.spec.tasks for policy in task.policies)]
    events = {event for policy in policies for event in (policy.event, *policy.events) if event}
    if any(policy.exit_code for policy in policies):
        events.add(LifecycleEvent.POD_FAILED)
    return frozenset(LifecycleEvent) if LifecycleEvent.ANY in events else frozenset(events)


def _answer(seen: Observed, occurrence: JobEvent) -> PolicyAction | None:
    own = seen.tasks[occurrence.place.task].policies if occurrence.place else ()
    policy = _first(own, occurrence) or _first(seen.job.spec.policies, occurrence)
    if policy is None or policy.action not in WHOLE | TARGETED:
        return None
    action = LifecycleAction(policy.action)
    if action in TARGETED and (occurrence.place is None or target_of(seen, action, occurrence.place) is None):
        return None  # the event has no task, pod or partition: an Unknown pod group, or a task without partitions
    delay = (seconds_of(policy.timeout) or 0.0) if policy.timeout else 0.0
    since = seen.since((occurrence.event, occurrence.place), occurrence.at)
    return PolicyAction(occurrence=occurrence, action=action, due=since + delay, delay=delay)


def _first(policies: Iterable[LifecyclePolicy], occurrence: JobEvent) -> LifecyclePolicy | None:
    return next((policy for policy in policies if _matches(policy, occurrence)), None)


def _matches(policy: LifecyclePolicy, occurrence: JobEvent) -> bool:
    events = {policy.event, *policy.events} - {""}
    if occurrence.event in events or LifecycleEvent.ANY in events:
        # Every pod is pending for a moment. It is an event only after a timeout.
        return occurrence.event is not LifecycleEvent.POD_PENDING or seconds_of(policy.timeout) is not None
    return bool(policy.exit_code) and policy.exit_code in occurrence.exit_codes
