"""The gate of a queue: what jobs that have passed it keep reserved (Volcano's inqueue accounting).

Shared by the plugins that vote on admission.
"""

from typing import Final

import numpy as np

from framework.jobs import SessionJob
from framework.session import Session
from model.arrays import BoolArray, IntArray
from model.jobs import JobTable
from model.tasks import TaskStatus

__all__ = ["holds_reservation", "reserved", "ungated"]

_SOME_ARE_GATED: Final = "some tasks are gated"
"""Key of the session's scratch: in most clusters nobody is, and then nothing need be subtracted."""


def reserved(table: JobTable) -> IntArray:
    """Return what each job keeps reserved beyond what it uses, base units, shape (R, J).

    Jobs in phase `Inqueue`, and running ones that reach their minimum, reserve the part of their minimum resources that
    is not allocated yet, less the requests of tasks that are held back by scheduling gates.
    """
    missing = np.maximum(table.min_resources - table.allocated, 0)
    return np.where(holds_reservation(table), np.maximum(missing - table.gated, 0), 0)


def holds_reservation(table: JobTable) -> BoolArray:
    """Tell which jobs keep their minimum resources reserved, shape (J,)."""
    rows = [TaskStatus.BOUND, TaskStatus.BINDING, TaskStatus.RUNNING, TaskStatus.ALLOCATED]
    reaches_minimum = table.counts[rows].sum(axis=0) >= table.min_available
    held: BoolArray = table.has_min_resources & (table.phase_inqueue | (table.phase_running & reaches_minimum))
    return held


def ungated(session: Session, job: SessionJob, amounts: IntArray) -> IntArray:
    """Return amounts less the requests of a job's gated tasks, not below 0, shape (R,)."""
    some_are_gated = session.scratch.get(_SOME_ARE_GATED)
    if some_are_gated is None:
        some_are_gated = session.scratch[_SOME_ARE_GATED] = bool(session.snapshot.job_table.gated.any())
    if not some_are_gated:
        return amounts
    lessened: IntArray = np.maximum(amounts - session.snapshot.job_table.gated[:, job.job.column], 0)
    return lessened
