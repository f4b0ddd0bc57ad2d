"""Decide: the next step of a Job, as a pure function of the observed objects.

An action comes first, if a Command or a policy requires one. Otherwise the phase determines the step. The decision
depends only on the objects. So a process that has just started decides the same as the process that took the last step.
"""

from dataclasses import replace
from typing import Final

from pyroclast.controllers.jobs.decision.counts import count
from pyroclast.controllers.jobs.decision.decision import Decision, EventRecord
from pyroclast.controllers.jobs.decision.finished import done_places, is_missed_when_gone
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import (
    ENDED,
    Observed,
    is_given_up,
    is_leaving,
    is_new,
    member_version,
)
from pyroclast.controllers.jobs.decision.policies import PolicyAction, answers
from pyroclast.controllers.jobs.decision.states import RESTS, after_ending, after_restart
from pyroclast.controllers.jobs.decision.statuses import PLUGIN_RECORD, changed, entered, with_counts
from pyroclast.controllers.jobs.decision.sync import sync
from pyroclast.controllers.jobs.decision.targets import ALL, covers, is_whole
from pyroclast.controllers.jobs.decision.transitions import alive, apply_command, covered, phase_of, step_for, take
from pyroclast.controllers.jobs.reasons import EXECUTE_ACTION, INVALID
from pyroclast.model.api import names
from pyroclast.model.api.batch import JobPhase
from pyroclast.model.api.bus import LifecycleEvent
from pyroclast.model.wire.times import time_text

__all__ = ["decide", "step_of_deleted"]

_COLLECTORS: Final = frozenset({"foregroundDeletion", "orphan"})
"""Finalizers of the garbage collector."""


def decide(seen: Observed) -> Decision:
    """Return the next step of a Job that is not being deleted."""
    memory = JobMemory.read(seen.job.status.controlled_resources)
    memory = replace(memory, done=done_places(seen, memory))
    spent = next((command for command in seen.commands if command.metadata.uid == memory.command), None)
    if spent is not None:
        # The Command must be deleted before the next one is executed, because the status records only one.
        return Decision(command=spent)
    if seen.commands:
        return apply_command(seen, memory, seen.commands[0])
    if _is_to_be_forwarded(seen):
        return Decision(is_forwarded=True)
    called_for = answers(seen, memory)
    step = step_for(seen, [answer for answer in called_for if answer.due <= seen.now])
    if step is not None:
        event = EventRecord(reason=EXECUTE_ACTION, message=f"Executing {step.action}: {step.cause}")
        return replace(take(seen, memory, step), events=(event,))
    return _go_on(seen, memory, [answer for answer in called_for if answer.due > seen.now])


def step_of_deleted(seen: Observed) -> Decision:
    """Return the step of a Job that is being deleted and still has a finalizer of another controller.

    Nothing is created for it, and its counts are updated. After its last pod has ended its pod group is deleted,
    because the group would keep its place in the queue.
    """
    if set(seen.job.metadata.finalizers) <= _COLLECTORS:
        return Decision()  # the garbage collector deletes all dependents
    memory = JobMemory.read(seen.job.status.controlled_resources)
    memory = replace(memory, done=done_places(seen, memory))
    counts = count(seen, done=memory.done)
    new = entered(seen, with_counts(seen, counts), JobPhase(phase_of(seen)), memory)
    return Decision(status=changed(seen, new), group_delete=None if counts.alive else seen.pod_group)


def _is_to_be_forwarded(seen: Observed) -> bool:
    return (
        phase_of(seen) not in RESTS
        and seen.queue is not None
        and bool(seen.queue.spec.extend_clusters)
        and seen.job.metadata.annotations.get(names.JOB_FORWARDING) != "true"
    )


def _go_on(seen: Observed, memory: JobMemory, waiting: list[PolicyAction]) -> Decision:
    """Return the step for the current phase."""
    phase = phase_of(seen)
    if phase in RESTS:
        return _rest(seen, memory, phase)
    memory = _remember(seen, memory, waiting)
    if phase == JobPhase.RESTARTING:
        decision = _restart(seen, memory)
    elif seen.refusal and is_new(seen.job):
        decision = _refuse(seen, memory)
    else:
        decision = sync(seen, memory)
    return _until(decision, seen, waiting)


def _refuse(seen: Observed, memory: JobMemory) -> Decision:
    """Report the faults of a new Job that bypassed admission. The Job starts after they are fixed."""
    new = entered(seen, seen.job.status, JobPhase.PENDING, memory, reason=INVALID, message=seen.refusal)
    event = EventRecord(reason=INVALID, message=seen.refusal, is_warning=True)
    return Decision(status=changed(seen, new), events=(event,))


def _rest(seen: Observed, memory: JobMemory, phase: str) -> Decision:
    """Stop running pods, and keep the Job stopped."""
    victims = alive(seen)
    counts = count(seen, victims, memory.done)
    others = {key: value for key, value in memory.others.items() if not key.startswith(PLUGIN_RECORD)}
    has_objects = len(others) < len(memory.others)
    memory = replace(memory, known=frozenset(), evicted={}, restarting=(), others=others)
    new = entered(seen, with_counts(seen, counts), after_ending(phase, counts), memory)
    return Decision(
        status=changed(seen, new),
        kills=victims,
        group_delete=seen.pod_group,
        objects="gone" if has_objects else "as they are",
    )


def _restart(seen: Observed, memory: JobMemory) -> Decision:
    """Kill the pods of the restart. When all of them are terminating, continue."""
    targets = memory.restarting or (ALL,)
    version = seen.job.status.version
    older = [pod for pod in seen.pods.values() if (member_version(pod) or 0) < version]
    whole = is_whole(targets)
    victims = [
        *(pod for pod in older if whole and (ALL in targets or pod.status.phase not in ENDED)),
        *covered(seen, targets).values(),
    ]
    victims = [pod for pod in victims if not (is_leaving(pod) and (is_given_up(pod) or whole))]
    group = seen.pod_group if whole else None
    counts = count(seen, victims, memory.done)
    status = with_counts(seen, counts)
    if victims or group is not None:
        new = entered(seen, status, JobPhase.RESTARTING, memory)
        return Decision(status=changed(seen, new), kills=tuple(victims), group_delete=group)
    phase = after_restart(
        retry_count=status.retry_count,
        max_retry=seen.job.spec.max_retry,
        replicas=seen.replicas,
        terminating=counts.terminating,
        min_available=status.min_available,
    )
    if phase == JobPhase.RESTARTING:
        return Decision(status=changed(seen, entered(seen, status, phase, memory)))
    state = status.state
    if phase == JobPhase.FAILED:
        message = f"{status.retry_count} of {seen.job.spec.max_retry} retries are used up; {state.message}"
        return Decision(status=entered(seen, status, phase, replace(memory, restarting=()), message=message))
    return Decision(status=entered(seen, status, phase, replace(memory, restarting=())))


def _remember(seen: Observed, memory: JobMemory, waiting: list[PolicyAction]) -> JobMemory:
    """Record the pods that have not ended, and the evictions whose policy has a timeout."""
    evicted = {
        answer.occurrence.place: memory.evicted.get(answer.occurrence.place, seen.now)
        for answer in waiting
        if answer.occurrence.event is LifecycleEvent.POD_EVICTED and answer.occurrence.place is not None
    }
    known = frozenset(
        place
        for place, pod in seen.members.items()
        if member_version(pod) == seen.job.status.version
        and not is_given_up(pod)
        and is_missed_when_gone(seen, pod, was_known=place in memory.known)
        and not any(covers(seen, target, place) for target in memory.restarting)
    )
    return replace(memory, known=known, evicted=evicted)


def _until(decision: Decision, seen: Observed, waiting: list[PolicyAction]) -> Decision:
    """Requeue the Job for the next due policy."""
    if not waiting:
        return decision
    events = tuple(
        EventRecord(
            reason=EXECUTE_ACTION,
            message=f"{answer.action} is due at {time_text(answer.due)}, unless this ends: {answer.occurrence}",
        )
        for answer in waiting
        if answer.occurrence.event is not LifecycleEvent.POD_PENDING
    )
    due = min(answer.due for answer in waiting)
    return replace(decision, requeue_after=max(0.0, due - seen.now), events=(*decision.events, *events))
