"""Ownership: which jobs a profile decides about, where one process serves several profiles.

A job belongs to the profile that names the scheduler of its first pod, by name. A PodGroup without pods belongs to the
first profile that admits jobs to queues. Every other job of the cluster counts: it uses capacity and shares, and
its pods can be evicted.
"""

from collections.abc import Callable, Collection

import numpy as np

from pyroclast.framework.configuration import Configuration
from pyroclast.model.arrays import BoolArray
from pyroclast.model.ids import TaskId
from pyroclast.model.jobs import Job
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["OwnJobs", "owner_of", "tasks_of_profile"]


class OwnJobs:
    """The jobs and pods of the profile that decides, if there are several profiles."""

    def __init__(self, snapshot: Snapshot, configuration: Configuration) -> None:
        self._configuration = configuration
        self._mask = _owned(snapshot, configuration)

    def among(self, mask: BoolArray) -> BoolArray:
        """Return which jobs of a mask belong to the profile, shape (J,)."""
        return mask & self._mask

    def has(self, task: Task) -> bool:
        """Return whether a pod without a job belongs to the profile."""
        return _turn_of(self._configuration, task.pod.spec.scheduler_name) == self._configuration.turn


def owner_of(configuration: Configuration) -> Callable[[Job], int]:
    """Return a function that returns the position of a job's profile."""
    admitting = next((turn for turn, profile in enumerate(configuration.profiles) if "enqueue" in profile.actions), 0)

    def turn_of(job: Job) -> int:
        if not job.tasks:
            return admitting
        first = min(job.tasks.values(), key=lambda task: (task.name, task.id))
        return _turn_of(configuration, first.pod.spec.scheduler_name)

    return turn_of


def tasks_of_profile(snapshot: Snapshot, configuration: Configuration, tasks: Collection[TaskId]) -> frozenset[TaskId]:
    """Return those of some tasks of jobs that the deciding profile decides about: all, if it is the only one."""
    if len(configuration.profiles) == 1:
        return frozenset(tasks)
    turn_of = owner_of(configuration)
    jobs = (job for job in snapshot.jobs.values() if any(task in tasks for task in job.tasks))
    return frozenset(task for job in jobs if turn_of(job) == configuration.turn for task in job.tasks if task in tasks)


def _turn_of(configuration: Configuration, scheduler_name: str) -> int:
    """Return the position of the profile for a scheduler name; the first one for names of no profile."""
    profile = configuration.profile(scheduler_name)
    return next((turn for turn, each in enumerate(configuration.profiles) if each is profile), 0)


def _owned(snapshot: Snapshot, configuration: Configuration) -> BoolArray:
    mask = np.zeros(len(snapshot.job_table.jobs), dtype=np.bool_)
    turn_of = owner_of(configuration)
    mask[[job.column for job in snapshot.jobs.values() if turn_of(job) == configuration.turn]] = True
    return mask
