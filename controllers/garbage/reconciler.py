"""Deletes Jobs whose time to live is over. Its keys are Jobs."""

from collections.abc import Iterable
from typing import ClassVar, Final

from pyroclast.controllers.runtime.ages import Ages
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import COMMANDS, JOBS
from pyroclast.model.api.batch import Job, JobPhase
from pyroclast.model.api.bus import Command
from pyroclast.model.wire import unix_seconds

__all__ = ["GarbageCollector", "build", "finished_at"]

_FINISHED: Final = frozenset({JobPhase.COMPLETED.value, JobPhase.FAILED.value, JobPhase.TERMINATED.value})
"""An aborted Job may be resumed, so it never expires."""


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controllers with an operator."""
    GarbageCollector(operator, options)
    _CommandCollector(operator, options)


class GarbageCollector(Controller):
    """Deletes Jobs whose time to live is over."""

    name: ClassVar[str] = "garbage"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch Jobs."""
        self._jobs: Store[Job] = operator.store(JOBS)
        self._ages: Ages[Key] = Ages(operator.clock)
        super().__init__(operator, options, watches=[Watch(resource=JOBS, keys=_keys_of_job)])

    async def reconcile(self, key: Key) -> float | None:
        """Delete a Job, or return the seconds until the next check.

        Raises:
            ApiError: The server refused, or the Job changed in the last moment.
        """
        job = self._jobs.get(*key)
        wait = self._wait(job) if job is not None else None
        if wait is None:
            self._ages.forget(key)
        if wait is None or wait > 0:
            return wait
        # The store may be stale and a deletion is final. The user may have extended the time to live.
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
        """Return the seconds until a Job expires, None if it does not expire."""
        ended, ttl = finished_at(job), job.spec.ttl_seconds_after_finished
        return None if ended is None or ttl is None else ttl - self._ages.age(key_of(job), ended)


def _keys_of_job(old: Job | None, new: Job | None) -> Iterable[Key]:
    """Return the key of a Job that expires, or that expired before the change."""
    return {key_of(job) for job in (old, new) if job is not None and finished_at(job) is not None}


def finished_at(job: Job) -> float | None:
    """Return the end of a Job with a time to live, in seconds since 1970. None: the Job does not expire."""
    state = job.status.state
    is_finished = state.phase in _FINISHED and not job.metadata.deletion_timestamp
    if job.spec.ttl_seconds_after_finished is None or not is_finished:
        return None
    try:
        return unix_seconds(state.last_transition_time) or None
    except ValueError:
        return None


class _CommandCollector(Controller):
    """Deletes Commands without a target. Other controllers may execute Commands for other kinds."""

    name: ClassVar[str] = "command-garbage"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch Commands."""
        self._commands: Store[Command] = operator.store(COMMANDS)
        super().__init__(operator, options, watches=[Watch(resource=COMMANDS, keys=_keys_of_aimless)], workers=1)

    async def reconcile(self, key: Key) -> float | None:
        """Record an event with the reason why a Command has no effect, and delete it.

        Raises:
            ApiError: The server refused.
        """
        command = self._commands.get(*key)
        if command is not None and command.target is None:
            message = f"{command.action or 'no action'} is ignored: target is missing, expected a Job or a Queue"
            self._operator.record(COMMANDS, command, "Warning", "InvalidCommand", message)
            await self._operator.writer.delete(COMMANDS, command.metadata)
        return None


def _keys_of_aimless(_: Command | None, new: Command | None) -> Iterable[Key]:
    return () if new is None or new.target is not None else (key_of(new),)
