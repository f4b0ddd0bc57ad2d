"""Events: placements and evictions of the session, sent as they happen and sent in reverse when they are undone.

Trials are not sent: a trial only searches for blocking jobs and decides nothing.

The extender keeps the counts. They stay balanced: undoing a change sends the opposite for the same tasks, in reverse
order.
"""

from collections.abc import Sequence

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.replies import Placed
from pyroclast.plugins.extender.requests import Asking, ExtenderError

__all__ = ["Events"]


class Events(Ledger):
    """A ledger that the extender keeps."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs, name: str) -> None:
        self._asking, self._bodies, self._args, self._name = asking, bodies, args, name

    def apply(self, change: Change) -> Refusal | None:
        """Send each task. If one is refused, the change is refused and the sent tasks are undone."""
        if change.is_trial:
            return None
        sent: list[Task] = []
        for task in change.tasks:
            try:
                message = self._send(task, is_placed=change.verb is not Verb.EVICT)
            except ExtenderError:
                self._undo(sent, change)
                raise
            if message:
                self._undo(sent, change)
                return Refusal(plugin=self._name, reason="EventRefused", message=message)
            sent.append(task)
        return None

    def revert(self, change: Change) -> None:
        """Send the opposite."""
        if not change.is_trial:
            self._undo(change.tasks, change)

    def _undo(self, tasks: Sequence[Task], change: Change) -> None:
        failure: ExtenderError | None = None
        for task in reversed(tasks):
            try:
                self._send(task, is_placed=change.verb is Verb.EVICT)
            except ExtenderError as error:
                failure = failure or error  # undo the other tasks all the same
        if failure is not None:
            raise failure

    def _send(self, task: Task, *, is_placed: bool) -> str:
        """Send one task. Return why the extender refuses; empty if it agrees."""
        verb = self._args.allocate_func_verb if is_placed else self._args.deallocate_func_verb
        if not verb or not self._args.is_concerned(task):
            return ""
        reply = self._asking.ask(verb, {"task": self._bodies.task(task)}, Placed, Placed())
        return shortened(reply.error_message or "")
