"""Watches: the Jobs that each change affects."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from pyroclast.controllers.jobs import metrics
from pyroclast.controllers.jobs.stores import JOB_CLAIM, JOB_QUEUE, Stores, job_of_command, place_of
from pyroclast.controllers.runtime.keys import keys_of_controller
from pyroclast.controllers.runtime.reconciler import AnyWatch, Watch
from pyroclast.controllers.runtime.store import Key, key_of
from pyroclast.kube.api.resources import COMMANDS, JOBS, PERSISTENT_VOLUME_CLAIMS, POD_GROUPS, PODS, QUEUES
from pyroclast.model import wire
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job
from pyroclast.model.api.bus import Command
from pyroclast.model.api.scheduling import Queue

__all__ = ["watches_of"]


def watches_of(stores: Stores) -> Sequence[AnyWatch]:
    """Return the watches of the Job controller."""
    return (
        Watch(resource=JOBS, keys=_of_job),
        Watch(resource=PODS, keys=keys_of_controller(JOBS)),
        Watch(resource=POD_GROUPS, keys=keys_of_controller(JOBS)),
        Watch(resource=COMMANDS, keys=_of_command),
        Watch(resource=QUEUES, keys=lambda old, new: _of_queue(stores, old, new)),
        Watch(resource=PERSISTENT_VOLUME_CLAIMS, keys=lambda old, new: _of_claim(stores, old, new)),
    )


def _of_job(old: Job | None, new: Job | None) -> Iterable[Key]:
    job = new or old
    if job is None:
        return ()
    if new is None:
        # Otherwise the series of deleted Jobs would accumulate.
        name, queue = f"{job.metadata.namespace}/{job.metadata.name}", job.spec.queue or names.DEFAULT_QUEUE
        for metric in (metrics.JOBS_COMPLETED, metrics.JOBS_FAILED):
            with suppress(KeyError):
                metric.remove(name, queue)  # with both labels, because with the name alone every series is searched
    return (key_of(job),)


def _of_command(old: Command | None, new: Command | None) -> Iterable[Key]:
    command = new or old
    name = job_of_command(command) if command is not None else None
    return ((command.metadata.namespace, name),) if command is not None and name is not None else ()


def _of_queue(stores: Stores, old: Queue | None, new: Queue | None) -> Iterable[Key]:
    """Return the Jobs of a queue and its parents after a change of state, parent or clusters.

    Jobs wait for an existing, open leaf queue.
    """
    queue = new or old
    is_same = (
        old is not None
        and new is not None
        and (old.status.state, old.spec.parent, old.spec.extend_clusters)
        == (new.status.state, new.spec.parent, new.spec.extend_clusters)
    )
    if queue is None or is_same:
        return
    parents = {one.spec.parent for one in (old, new) if one is not None and one.spec.parent}
    for name in (queue.metadata.name, *sorted(parents)):
        for job in stores.jobs.by(JOB_QUEUE, name):
            yield key_of(job)


def _of_claim(
    stores: Stores, old: wire.PersistentVolumeClaim | None, new: wire.PersistentVolumeClaim | None
) -> Iterable[Key]:
    """Return the Jobs that name a claim that was created or deleted."""
    if (old is None) == (new is None):
        return
    claim = new or old
    if claim is not None:
        for job in stores.jobs.by(JOB_CLAIM, place_of(claim.metadata.namespace, claim.metadata.name)):
            yield key_of(job)
