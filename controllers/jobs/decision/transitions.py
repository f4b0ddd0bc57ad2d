"""Transitions: the actions that Commands and policies trigger on a Job, recorded in its status first."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from pyroclast.controllers.jobs.decision.counts import count
from pyroclast.controllers.jobs.decision.decision import Decision, EventRecord
from pyroclast.controllers.jobs.decision.memory import JobMemory
from pyroclast.controllers.jobs.decision.observed import ENDED, Observed, PodPlace, is_leaving, is_new
from pyroclast.controllers.jobs.decision.policies import TARGETED, WHOLE, PolicyAction, target_of
from pyroclast.controllers.jobs.decision.states import Transition, transition
from pyroclast.controllers.jobs.decision.statuses import entered, with_counts
from pyroclast.controllers.jobs.decision.targets import ALL, UNFINISHED, Target, covers
from pyroclast.controllers.jobs.reasons import COMMAND_ISSUED
from pyroclast.model.api.batch import JobPhase
from pyroclast.model.api.bus import Command, LifecycleAction
from pyroclast.model.wire import Pod

__all__ = ["Step", "alive", "apply_command", "covered", "phase_of", "step_for", "take"]

_ENDS: Final = frozenset({JobPhase.COMPLETING, JobPhase.TERMINATING})
"""Phases that a refused Job may enter too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """An action to execute, and its effect."""

    action: LifecycleAction
    transition: Transition
    targets: tuple[Target, ...]
    cause: str


def apply_command(seen: Observed, memory: JobMemory, command: Command) -> Decision:
    """Execute a Command. Its effect is written to the status before the Command is deleted."""
    what = f"Command {command.metadata.name}: {command.action}"
    if command.target is not None and command.target.uid != seen.job.metadata.uid:
        return _ignore(command, f"{what} is ignored: it is for a Job of this name that is gone")
    if command.action not in WHOLE:
        known = command.action in TARGETED
        why = "it names no task or pod; delete the pods instead" if known else "there is no such action"
        return _ignore(command, f"{what} is ignored: {why}")
    action = LifecycleAction(command.action)
    effect = _transition(seen, action)
    if effect is None:
        return _ignore(command, f"{what} has no effect in phase {phase_of(seen)}", is_warning=False)
    if seen.refusal and is_new(seen.job) and effect.phase not in _ENDS:
        # Otherwise it would count as started, and started Jobs are not validated.
        return _ignore(command, f"{what} has no effect: the Job was refused and has not begun")
    step = Step(action=action, transition=effect, targets=(), cause=f"asked for by Command {command.metadata.name}")
    event = EventRecord(reason=COMMAND_ISSUED, message=f"{what} is carried out once, then deleted")
    memory = replace(memory, command=command.metadata.uid)
    return replace(take(seen, memory, step), events=(event,), command=command)


def _ignore(command: Command, message: str, *, is_warning: bool = True) -> Decision:
    event = EventRecord(reason=COMMAND_ISSUED, message=message, is_warning=is_warning)
    return Decision(command=command, events=(event,))


def step_for(seen: Observed, due: Iterable[PolicyAction]) -> Step | None:
    """Return the step for the oldest event. Restarts of single pods are combined."""
    first: Step | None = None
    for answer in due:
        effect = _transition(seen, answer.action)
        if effect is None or (effect.is_whole and first is not None):
            continue
        cause, place = answer.occurrence.after(answer.delay), answer.occurrence.place
        if effect.is_whole:
            return Step(action=answer.action, transition=effect, targets=(), cause=cause)
        target = target_of(seen, answer.action, place) if place is not None else None
        if target is None or _has_nothing_left(seen, target):
            continue
        if first is None:
            first = Step(action=answer.action, transition=effect, targets=(target,), cause=cause)
        elif target not in first.targets:
            first = replace(first, targets=(*first.targets, target))
    return first


def _has_nothing_left(seen: Observed, target: Target) -> bool:
    """Return whether a partition has no pods. Then there is nothing to restart, because its pods are created anyway."""
    return target.kind == "partition" and not covered(seen, (target,))


def _transition(seen: Observed, action: LifecycleAction) -> Transition | None:
    return transition(
        phase_of(seen), action, retry_count=seen.job.status.retry_count, max_retry=seen.job.spec.max_retry
    )


def phase_of(seen: Observed) -> str:
    """Return the phase of a Job. A new Job is Pending."""
    return seen.job.status.state.phase or JobPhase.PENDING


def take(seen: Observed, memory: JobMemory, step: Step) -> Decision:
    """Start an action. The status records the action before it is executed."""
    effect, status = step.transition, seen.job.status
    if effect.is_whole:
        victims = alive(seen) if effect.keeps_ended else tuple(p for p in seen.pods.values() if not is_leaving(p))
        restarts = (UNFINISHED if effect.keeps_ended else ALL,) if effect.phase == JobPhase.RESTARTING else ()
        done = frozenset[PodPlace]() if ALL in restarts else memory.done
        memory = replace(memory, known=frozenset(), done=done, evicted={}, restarting=restarts)
    else:
        targets = tuple(sorted({*memory.restarting, *step.targets}))
        victims = tuple(covered(seen, step.targets).values())
        memory = replace(_without(seen, memory, step.targets), restarting=targets)
    counts = count(seen, victims, memory.done)
    new = entered(
        seen,
        with_counts(seen, counts),
        effect.phase,
        memory,
        reason=step.action.value,
        message=step.cause,
        version=status.version + effect.is_whole,
        retry_count=status.retry_count + effect.is_retry,
    )
    return Decision(
        status=new,
        kills=victims,
        group_delete=seen.pod_group if effect.is_whole else None,
    )


def _without(seen: Observed, memory: JobMemory, targets: Iterable[Target]) -> JobMemory:
    """Remove the pods of a restart from the known pods, so that their deletion is not an eviction."""

    def stays(place: PodPlace) -> bool:
        return not any(covers(seen, target, place) for target in targets)

    return replace(
        memory,
        known=frozenset(filter(stays, memory.known)),
        done=frozenset(filter(stays, memory.done)),
        evicted={place: at for place, at in memory.evicted.items() if stays(place)},
    )


def covered(seen: Observed, targets: Iterable[Target]) -> dict[PodPlace, Pod]:
    """Return the pods that restarts cover."""
    return {place: pod for place, pod in seen.members.items() if any(covers(seen, target, place) for target in targets)}


def alive(seen: Observed) -> tuple[Pod, ...]:
    """Return the pods that have not ended and are not being deleted."""
    return tuple(pod for pod in seen.pods.values() if pod.status.phase not in ENDED and not is_leaving(pod))
