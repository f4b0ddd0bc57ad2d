"""Skipped turns: cycles that decide only about other namespaces, because these have new work.

The turns of namespaces with more work than their share make a cycle several times as long, and what arrives meanwhile
waits. So a cycle skips all turns if namespaces that take no turns have more waiting work in its snapshot than the last
cycle left. Then the next cycle, with or without new work, begins sooner. A limited number of such cycles follow each
other, so that no namespace loses its turns. Rounds continue as if the cycle had not been.
"""

from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from pyroclast.framework.session.memory import Memory
from pyroclast.framework.session.namespace_windows import share_used, window_of
from pyroclast.framework.session.session import Session
from pyroclast.model.arrays import BoolArray, IntArray
from pyroclast.model.tasks import TaskStatus

__all__ = ["MOST_SKIPPED", "skip_turns", "waiting_beside_turns"]

MOST_SKIPPED: Final = 16
"""Maximum number of consecutive cycles that skip all turns."""


def skip_turns(session: Session, memory: Memory) -> bool:
    """Leave out all jobs of namespaces that take turns if others have new work. Return whether they are left out."""
    in_turns = memory.rounds.keys() | memory.admission_rounds.keys()
    if not in_turns or memory.skipped_turns >= MOST_SKIPPED:
        return False
    amounts, taking_turns = _waiting(session, in_turns)
    if amounts[~taking_turns].sum() <= memory.waiting_beside_turns:
        return False
    for each in session.held.standing:
        held = None if each.job is None else session.snapshot.jobs.get(each.job)
        if held is not None:
            taking_turns[held.column] = False
    table = session.snapshot.job_table
    left_out = dict(table.by_namespace(table.in_order((amounts > 0) & taking_turns)))
    reasons = {name: share_used("scheduler", "the scheduler's time", name) for name in left_out}
    session.jobs.leave_out(
        window_of(table, left_out, reasons, rounds=memory.rounds, admission_rounds=memory.admission_rounds)
    )
    session.jobs.skips_turns = True
    return True


def waiting_beside_turns(session: Session) -> int:
    """Count pods and jobs at admission of namespaces that take no turns and that this cycle leaves waiting."""
    window = session.jobs.window
    in_turns = window.rounds.keys() | window.admission_rounds.keys()
    if not in_turns:
        return 0
    amounts, taking_turns = _waiting(session, in_turns)
    amounts[taking_turns] = 0
    for job in session.jobs.known().values():
        if job.touched and amounts[job.job.column]:
            amounts[job.job.column] = job.counts[TaskStatus.PENDING] + job.is_pending
    return int(amounts.sum())


def _waiting(session: Session, in_turns: AbstractSet[str]) -> tuple[IntArray, BoolArray]:
    """Return how much of each job waits, in pods and admissions, and whether its namespace takes turns, shape (J,)."""
    table = session.snapshot.job_table
    amounts: IntArray = table.counts[TaskStatus.PENDING] + session.jobs.awaiting_admission()
    amounts[~session.jobs.own(amounts > 0)] = 0
    columns = np.flatnonzero(amounts)
    taking_turns = np.zeros(amounts.size, dtype=np.bool_)
    for namespace, own in table.by_namespace(columns).items():
        taking_turns[own] = namespace in in_turns
    return amounts, taking_turns
