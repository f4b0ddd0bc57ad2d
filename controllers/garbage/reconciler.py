"""Deletes Jobs whose time to live is over. Its keys are Jobs."""

from collections.abc import Iterable
from typing import ClassVar

from pyroclast.controllers.garbage.commands import CommandCollector
from pyroclast.controllers.garbage.expiry import finished_at
from pyroclast.controllers.kinds import JOBS
from pyroclast.controllers.runtime.ages import Ages
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.errors import ApiError
from pyroclast.model.api.batch import Job

__all__ = ["GarbageCollector", "build"]


def build(operator: Operator, options: ControllerOptions) -> None:
    """Plug the controller in."""
    GarbageCollector(operator, options)
    CommandCollector(operator)


class GarbageCollector:
    """Deletes Jobs that have had their time."""

    name: ClassVar[str] = "garbage"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Follow Jobs."""
        self._operator = operator
        self._jobs: Store[Job] = operator.store(JOBS)
        self._ages: Ages[Key] = Ages(operator.clock)
        operator.reconciler(
            self, watches=[Watch(resource=JOBS, keys=_keys_of_job)], workers=options.workers_of(self.name)
        )

    async def reconcile(self, key: Key) -> float | None:
        """Delete a Job, or say when to look again.

        Raises:
            ApiError: The server refused, or the Job changed in the last moment.
        """
        job = self._jobs.get(*key)
        wait = self._wait(job) if job is not None else None
        if wait is None:
            self._ages.forget(key)
        if wait is None or wait > 0:
            return wait
        # What we know may be old, and a deletion cannot be taken back: somebody may have prolonged its life.
        try:
            fresh = JOBS.decoder.convert(await self._operator.writer.read(JOBS, *key))
        except ApiError as error:
            if error.is_not_found:
                return None
            raise
        wait = self._wait(fresh)
        if wait is None or wait > 0:
            return wait
        await self._operator.writer.delete(JOBS, fresh.metadata, propagation="Foreground", is_of_version=True)
        return None

    def _wait(self, job: Job) -> float | None:
        """Return the seconds until a Job expires, None where it does not."""
        ended, ttl = finished_at(job), job.spec.ttl_seconds_after_finished
        return None if ended is None or ttl is None else ttl - self._ages.age(key_of(job), ended)


def _keys_of_job(old: Job | None, new: Job | None) -> Iterable[Key]:
    """One that is to go, and one that was to: it is gone, or is to stay."""
    return {key_of(job) for job in (old, new) if job is not None and finished_at(job) is not None}
