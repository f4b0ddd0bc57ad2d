"""The state machine: what actions do in each phase, and what follows from the counts."""

import msgspec
import pytest

from pyroclast.controllers.jobs.decision.counts import Counts
from pyroclast.controllers.jobs.decision.states import after_restart, transition, while_pending, while_running
from pyroclast.model.api.batch import JobPhase, JobSpec, TaskState
from pyroclast.model.api.bus import LifecycleAction

P = JobPhase


def spec(*tasks: tuple[int, int | None], **fields: object) -> JobSpec:
    """Make a spec of tasks with replicas and minimum."""
    made = [
        {"name": f"t{number}", "replicas": replicas, **({} if least is None else {"minAvailable": least})}
        for number, (replicas, least) in enumerate(tasks)
    ]
    return msgspec.convert({"tasks": made, **fields}, JobSpec)


@pytest.mark.parametrize("phase", [P.PENDING, P.RUNNING])
@pytest.mark.parametrize(
    ("action", "target", "is_whole", "keeps_ended", "is_retry"),
    [
        (LifecycleAction.RESTART_JOB, P.RESTARTING, True, False, True),
        (LifecycleAction.RESTART_TASK, P.RESTARTING, False, True, True),
        (LifecycleAction.RESTART_POD, P.RESTARTING, False, True, True),
        (LifecycleAction.RESTART_PARTITION, P.RESTARTING, False, True, True),
        (LifecycleAction.ABORT_JOB, P.ABORTING, True, True, False),
        (LifecycleAction.TERMINATE_JOB, P.TERMINATING, True, True, False),
        (LifecycleAction.COMPLETE_JOB, P.COMPLETING, True, True, False),
    ],
)
def test_actions_while_pending_or_running(
    *, phase: JobPhase, action: LifecycleAction, target: JobPhase, is_whole: bool, keeps_ended: bool, is_retry: bool
) -> None:
    """Restarts count as retries; stops keep what ended."""
    effect = transition(phase, action, retry_count=0, max_retry=3)
    assert effect is not None
    assert (effect.phase, effect.is_whole, effect.keeps_ended, effect.is_retry) == (
        target,
        is_whole,
        keeps_ended,
        is_retry,
    )


@pytest.mark.parametrize("phase", [P.ABORTING, P.ABORTED])
def test_only_resume_leaves_an_abort(phase: JobPhase) -> None:
    """ResumeJob restarts what has not ended, and is no retry; nothing else has an effect."""
    effect = transition(phase, LifecycleAction.RESUME_JOB, retry_count=0, max_retry=3)
    assert effect is not None
    assert (effect.phase, effect.keeps_ended, effect.is_retry) == (P.RESTARTING, True, False)
    others = set(LifecycleAction) - {LifecycleAction.RESUME_JOB}
    assert all(transition(phase, action, retry_count=0, max_retry=3) is None for action in others)


@pytest.mark.parametrize("phase", [P.COMPLETING, P.TERMINATING, P.COMPLETED, P.TERMINATED, P.FAILED])
def test_nothing_moves_a_job_that_ends(phase: JobPhase) -> None:
    """No action has an effect on a Job that is over, or nearly."""
    assert all(transition(phase, action, retry_count=0, max_retry=3) is None for action in LifecycleAction)


def test_a_restart_while_restarting_does_not_count() -> None:
    """What fails while others are being killed belongs to the same retry."""
    for action in (LifecycleAction.RESTART_JOB, LifecycleAction.RESTART_POD):
        effect = transition(P.RESTARTING, action, retry_count=1, max_retry=3)
        assert effect is not None
        assert not effect.is_retry


def test_an_abort_while_restarting_is_obeyed() -> None:
    """Volcano forgets it."""
    effect = transition(P.RESTARTING, LifecycleAction.ABORT_JOB, retry_count=1, max_retry=3)
    assert effect is not None
    assert effect.phase == P.ABORTING


def test_the_last_retry_keeps_what_ended() -> None:
    """With one retry left, ended pods are kept for inspection."""
    effect = transition(P.RUNNING, LifecycleAction.RESTART_JOB, retry_count=2, max_retry=3)
    assert effect is not None
    assert effect.keeps_ended


@pytest.mark.parametrize(
    ("retry_count", "terminating", "phase"),
    [(3, 0, P.FAILED), (2, 0, P.PENDING), (2, 1, P.PENDING), (2, 2, P.RESTARTING)],
)
def test_after_a_restart(retry_count: int, terminating: int, phase: JobPhase) -> None:
    """Failed without retries left, Pending with room for the minimum, else it waits."""
    assert phase == after_restart(
        retry_count=retry_count, max_retry=3, replicas=4, terminating=terminating, min_available=3
    )


def test_pending_becomes_running_with_its_minimum() -> None:
    """Running, succeeded and failed pods count."""
    assert while_pending(spec((3, None), minAvailable=3), Counts(running=1, succeeded=1)) == P.PENDING
    assert while_pending(spec((3, None), minAvailable=3), Counts(running=1, succeeded=1, failed=1)) == P.RUNNING


def test_scaled_to_zero_it_stays() -> None:
    """A Job without replicas keeps its phase."""
    assert while_running(spec((0, None)), Counts()) == P.RUNNING


def test_enough_successes_complete_it() -> None:
    """One success is enough with minSuccess 1, though others run."""
    assert while_running(spec((3, None), minSuccess=1), Counts(succeeded=1, running=2)) == P.COMPLETED


def test_minimum_below_the_tasks_minimums_counts_successes_alone() -> None:
    """Three ended, two well: the tasks' minimums add up to more than the Job's, which is met."""
    counts = Counts(succeeded=2, failed=1, by_task={"t0": TaskState(phase={"Succeeded": 2, "Failed": 1})})
    assert while_running(spec((3, 3), minAvailable=2), counts) == P.COMPLETED


def test_a_task_below_its_minimum_fails_it() -> None:
    """The same with the Job's minimum as large as the task's."""
    counts = Counts(succeeded=2, failed=1, by_task={"t0": TaskState(phase={"Succeeded": 2, "Failed": 1})})
    assert while_running(spec((3, 3), minAvailable=3), counts) == P.FAILED


def test_too_few_successes_fail_it() -> None:
    """All ended, and minSuccess was not reached."""
    assert while_running(spec((2, None), minSuccess=2), Counts(succeeded=1, failed=1)) == P.FAILED


def test_too_many_pending_make_it_pending() -> None:
    """More pods wait than the minimum can spare."""
    assert while_running(spec((3, None), minAvailable=2), Counts(running=1, pending=2)) == P.PENDING
    assert while_running(spec((3, None), minAvailable=2), Counts(running=2, pending=1)) == P.RUNNING
