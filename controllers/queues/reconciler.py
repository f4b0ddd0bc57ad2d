"""Reconciler: writes the states of queues. Its keys are queues.

A command is deleted after its effect is written. If the process is killed in between, the effect is written again,
which changes nothing.

If a queue has several commands, the newest valid command counts. The oldest command is deleted first, so that an older
command never remains alone.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final

from msgspec.structs import replace

from pyroclast.controllers.admission.lookups import QUEUE_PARENT, parent_index
from pyroclast.controllers.queues.decide import COUNTED, PATIENCE_SECONDS, Decision, Situation, decide
from pyroclast.controllers.queues.metrics import GANGS
from pyroclast.controllers.queues.validation import QueueValidator
from pyroclast.controllers.runtime.ages import Ages
from pyroclast.controllers.runtime.controller import Controller
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.controllers.runtime.writer import means_another
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import COMMANDS, POD_GROUPS, QUEUES
from pyroclast.model.api import names
from pyroclast.model.api.bus import Command, LifecycleAction
from pyroclast.model.api.scheduling import PodGroup, PodGroupPhase, Queue
from pyroclast.model.wire import unix_seconds

__all__ = ["QueueController", "build"]

_BY_QUEUE: Final = "queues:queue"
_BY_PHASE: Final = "queues:phase"
_BY_TARGET: Final = "queues:target"
_VALID_ACTIONS: Final = frozenset({LifecycleAction.OPEN_QUEUE.value, LifecycleAction.CLOSE_QUEUE.value})
_COUNTS_SECONDS: Final = 1.0
"""Minimum time between two updates of a queue's counts, because thousands of gangs may change."""


def build(operator: Operator, options: ControllerOptions) -> None:
    """Register the controllers with an operator."""
    QueueController(operator, options)
    QueueValidator(operator, options)


class QueueController(Controller):
    """Writes the state of queues."""

    name: ClassVar[str] = "queue"

    def __init__(self, operator: Operator, options: ControllerOptions) -> None:
        """Watch queues, groups, and commands if they are enabled."""
        self._queues: Store[Queue] = operator.store(QUEUES, {QUEUE_PARENT: parent_index})
        self._groups: Store[PodGroup] = operator.store(
            POD_GROUPS, {_BY_QUEUE: self._queue_of, _BY_PHASE: self._phase_of}
        )
        self._commands: Store[Command] | None = None
        self._ages: Ages[str] = Ages(operator.clock)
        """Ages of commands, by UID."""
        self._counted_at: dict[str, float] = {}
        self._refused: dict[str, int] = {}
        """Generations of queues for which the server refused the parent."""
        watches: list[Watch[Any]] = [
            Watch(resource=QUEUES, keys=self._keys_of_queue),
            Watch(resource=POD_GROUPS, keys=self._keys_of_group),
        ]
        if options.obeys_queue_commands:
            self._commands = operator.store(COMMANDS, {_BY_TARGET: _target_of})
            watches.append(Watch(resource=COMMANDS, keys=self._keys_of_command))
        super().__init__(operator, options, watches=watches)

    async def reconcile(self, key: Key) -> float | None:
        """Write the desired state of a queue.

        Raises:
            ApiError: The server refused.
        """
        queue = self._queues.get(*key)
        commands = self._commands_for(key[1])
        if queue is None:
            _forget_queue(key[1])
            self._counted_at.pop(key[1], None)
            self._refused.pop(key[1], None)
            return await self._drop_orphans(commands)
        queue = await self._with_parent(queue)
        own = [command for command in commands if _targets(command, queue)]
        newest = max(own, key=lambda command: (command.action in _VALID_ACTIONS, _moment(command)), default=None)
        decision = decide(
            Situation(
                queue=queue,
                parent=self._parent(queue),
                gangs=self._groups.count(_BY_QUEUE, key[1]),
                action=newest.action or "(none)" if newest is not None else "",
                command_age_seconds=self._age(newest) if newest is not None else 0.0,
            )
        )
        try:
            requeue_after = await self._carry_out(queue, decision)
            await self._delete(commands if decision.takes_command else [c for c in commands if c not in own])
        except ApiError as error:
            if not means_another(error):
                raise
            return None  # the queue was deleted; the store does not show it yet
        return PATIENCE_SECONDS if own and not decision.takes_command else requeue_after

    async def _carry_out(self, queue: Queue, decision: Decision) -> float | None:
        """Execute the decision. Return the seconds until changed counts may be written."""
        counts = {
            field: self._groups.count(_BY_PHASE, f"{queue.metadata.name}/{phase}") for field, phase in COUNTED.items()
        }
        _show_counts(queue.metadata.name, counts)
        if decision.annotates_first:
            await self._annotate(queue, decision.closed_by_parent)
        wait = await self._write_status(queue, decision.state, counts)
        if not decision.annotates_first:
            await self._annotate(queue, decision.closed_by_parent)
        for notice in decision.notices:
            self._operator.record(QUEUES, queue, notice.type, notice.reason, notice.message)
        return wait

    async def _write_status(self, queue: Queue, state: str, counts: Mapping[str, int]) -> float | None:
        """Write a changed state at once, and changed counts now or later. Return the seconds until later."""
        now, name = self._operator.clock.monotonic(), queue.metadata.name
        known = queue.status
        change: dict[str, Any] = {"state": state} if state != known.state else {}
        if any(getattr(known, field) != count for field, count in counts.items()):
            left = self._counted_at.get(name, float("-inf")) + _COUNTS_SECONDS - now
            if left > 0 and not change:
                return left
            change.update(counts)
            self._counted_at[name] = now
        if change:
            await self._operator.writer.merge(QUEUES, queue.metadata, {"status": change}, subresource="status")
        return None

    async def _annotate(self, queue: Queue, value: str) -> None:
        if value != queue.metadata.annotations.get(names.CLOSED_BY_PARENT, ""):
            change = {"metadata": {"annotations": {names.CLOSED_BY_PARENT: value}}}
            await self._operator.writer.merge(QUEUES, queue.metadata, change)

    async def _with_parent(self, queue: Queue) -> Queue:
        """Set the root as the parent of a queue without one. Return the resulting queue."""
        if queue.spec.parent or queue.metadata.name == names.ROOT_QUEUE:
            return queue
        change = {"spec": {"parent": names.ROOT_QUEUE}}
        if self._refused.get(queue.metadata.name) != queue.metadata.generation:
            try:
                answer = await self._operator.writer.merge(QUEUES, queue.metadata, change, is_of_version=True)
            except ApiError as error:
                if error.is_temporary or isinstance(error, ApiConflictError) or means_another(error):
                    raise
                self._record_refusal(queue, error)
            else:
                self._refused.pop(queue.metadata.name, None)
                return QUEUES.decoder.convert(answer)
        return replace(queue, spec=replace(queue.spec, parent=names.ROOT_QUEUE))

    def _record_refusal(self, queue: Queue, error: ApiError) -> None:
        """Report a queue without a parent that the server refuses to default. Its state is still maintained."""
        self._operator.record(QUEUES, queue, "Warning", "Invalid", error.message)
        self._refused[queue.metadata.name] = queue.metadata.generation

    def _parent(self, queue: Queue) -> Queue | None:
        if queue.metadata.name == names.ROOT_QUEUE:
            return None
        return self._queues.get("", queue.spec.parent)

    def _commands_for(self, queue: str) -> list[Command]:
        """Return the commands for a queue, the oldest first."""
        return sorted(self._commands.by(_BY_TARGET, queue), key=_moment) if self._commands is not None else []

    def _age(self, command: Command) -> float:
        return self._ages.age(command.metadata.uid, unix_seconds(command.metadata.creation_timestamp))

    async def _delete(self, commands: Iterable[Command]) -> None:
        for command in commands:
            await self._operator.writer.delete(COMMANDS, command.metadata)

    async def _drop_orphans(self, commands: Sequence[Command]) -> float | None:
        """Delete commands whose queue does not exist after a while. The store of queues may be stale."""
        late = [command for command in commands if self._age(command) >= PATIENCE_SECONDS]
        await self._delete(late)
        return PATIENCE_SECONDS if len(late) < len(commands) else None

    def _keys_of_command(self, old: Command | None, new: Command | None) -> Iterable[Key]:
        command = new or old
        assert command is not None
        if new is None:
            self._ages.forget(command.metadata.uid)
        return [("", queue) for queue in _target_of(command)]

    def _queue_of(self, group: PodGroup) -> tuple[str]:
        return (group.spec.queue or self._options.default_queue,)

    def _phase_of(self, group: PodGroup) -> tuple[str]:
        return (f"{self._queue_of(group)[0]}/{group.status.phase or PodGroupPhase.PENDING}",)

    def _keys_of_queue(self, old: Queue | None, new: Queue | None) -> Iterable[Key]:
        """Yield the keys of a changed queue and its children. Changes of the scheduler's counts yield none."""
        if old is not None and new is not None and _facts(old) == _facts(new):
            return
        queue = new or old
        assert queue is not None
        yield key_of(queue)
        if old is None or new is None or old.status.state != new.status.state:
            for child in self._queues.by(QUEUE_PARENT, queue.metadata.name):
                yield key_of(child)

    def _keys_of_group(self, old: PodGroup | None, new: PodGroup | None) -> Iterable[Key]:
        if old is not None and new is not None and self._phase_of(old) == self._phase_of(new):
            return
        for group in (old, new):
            if group is not None:
                yield ("", self._queue_of(group)[0])


def _facts(queue: Queue) -> object:
    """Return the fields that a queue's state depends on, and the fields that it is compared with."""
    status = queue.status
    return (
        queue.metadata.generation,
        status.state,
        [getattr(status, field) for field in COUNTED],
        queue.metadata.annotations.get(names.CLOSED_BY_PARENT, ""),
    )


def _target_of(command: Command) -> tuple[str, ...]:
    """Return the queue of a command, none if it is for another kind."""
    target = command.target
    if target is None or target.kind != QUEUES.kind or target.api_version != QUEUES.api_version:
        return ()
    return (target.name,)


def _targets(command: Command, queue: Queue) -> bool:
    """Return whether a command is for this queue, not for a deleted queue of the same name."""
    return command.target is not None and command.target.uid in {"", queue.metadata.uid}


def _moment(command: Command) -> tuple[str, int, str]:
    """Return the creation time of a command. The version orders commands of the same second."""
    metadata = command.metadata
    version = int(metadata.resource_version) if metadata.resource_version.isdecimal() else 0
    return metadata.creation_timestamp, version, metadata.name


def _show_counts(queue: str, counts: Mapping[str, int]) -> None:
    for name, gauge in GANGS.items():
        gauge.labels(queue).set(counts[name])


def _forget_queue(queue: str) -> None:
    """Remove the series of a deleted queue."""
    for gauge in GANGS.values():
        with suppress(KeyError):
            gauge.remove(queue)
