"""Deletes Commands that are for nothing: without a target nobody obeys them. Its keys are Commands."""

from collections.abc import Iterable
from typing import ClassVar

from pyroclast.controllers.kinds import COMMANDS
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.reconciler import Watch
from pyroclast.controllers.runtime.store import Key, Store, key_of
from pyroclast.model.api.bus import Command

__all__ = ["CommandCollector"]


class CommandCollector:
    """Deletes Commands without a target. Those for kinds that are not ours may be others' to obey."""

    name: ClassVar[str] = "command-garbage"

    def __init__(self, operator: Operator) -> None:
        """Follow Commands."""
        self._operator = operator
        self._commands: Store[Command] = operator.store(COMMANDS)
        operator.reconciler(self, watches=[Watch(resource=COMMANDS, keys=_keys_of_aimless)], workers=1)

    async def reconcile(self, key: Key) -> float | None:
        """Say why a Command has no effect, and delete it.

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
