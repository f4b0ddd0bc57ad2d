"""Reasons of a job: what a trial saves is all there is, and the trial does not reach it."""

import pytest

from pyroclast.framework.state.last_result import BlockingJobs
from pyroclast.framework.state.reasons import Reasons
from pyroclast.model.refusals import Refusal
from pyroclast.testing import Scenario, open_session

FULL = Refusal(plugin="test", reason="Full", message="it is full")


def written() -> Reasons:
    """Return reasons of which every part is written, as a job writes them."""
    (job,) = open_session(Scenario().node("n1").job("a"), plugins=("gang",)).jobs.all()
    (task,) = job.tasks.values()
    job.refuse(FULL)
    job.refuse_task(task, FULL)
    job.refuse_eviction("preempt", FULL)
    job.note_places([task])
    job.note_cause(FULL)
    job.reasons.unschedulable_template, job.reasons.is_unschedulable_by_queue = 1, True
    job.reasons.verdict, job.reasons.blocking_jobs = FULL, BlockingJobs(jobs=(), nodes=(), free=b"")
    return job.reasons


@pytest.mark.parametrize("part", Reasons.__slots__)
def test_a_copy_has_every_part(part: str) -> None:
    """A part that is added is copied too."""
    reasons = written()

    assert getattr(reasons.copy(), part) == getattr(reasons, part) != getattr(Reasons(), part)


def test_what_is_written_later_does_not_reach_the_copy() -> None:
    """Lists and mappings are copied."""
    session = open_session(Scenario().node("n1").job("a"), plugins=("gang",))
    (job,) = session.jobs.all()
    (task,) = job.tasks.values()
    before = job.reasons.copy()

    job.refuse(FULL)
    job.refuse_task(task, FULL)
    job.refuse_eviction("preempt", FULL)
    job.note_places([task])

    parts = (before.refusals, before.task_refusals, before.eviction_refusals, before.last_places)
    assert not any(parts)
