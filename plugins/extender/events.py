"""Events: placements and evictions of the session, sent as they happen and taken back when they are undone.

Trials are not sent: a trial only asks whose end would make room, and decides nothing.

Nothing is counted here. What an extender counts comes out even: each `apply` is undone by telling the opposite of the
same tasks in reverse order.
"""

from collections.abc import Sequence

from pyroclast.framework.extension.contract import Change, Ledger, Verb
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.model.texts import shortened
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.asking import Asking, ExtenderError
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.replies import Placed

__all__ = ["Events"]


class Events(Ledger):
    """A ledger that is kept elsewhere."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs, name: str) -> None:
        self._asking, self._bodies, self._args, self._name = asking, bodies, args, name

    def apply(self, change: Change) -> Refusal | None:
        """Tell of each task; what one of them is refused for is the refusal of all, and those told are told back."""
        if change.is_trial:
            return None
        told: list[Task] = []
        for task in change.tasks:
            try:
                message = self._tell(task, is_placed=change.verb is not Verb.EVICT)
            except ExtenderError:
                self._take_back(told, change)
                raise
            if message:
                self._take_back(told, change)
                return Refusal(plugin=self._name, reason="EventRefused", message=message)
            told.append(task)
        return None

    def revert(self, change: Change) -> None:
        """Tell the opposite."""
        if not change.is_trial:
            self._take_back(change.tasks, change)

    def _take_back(self, tasks: Sequence[Task], change: Change) -> None:
        failure: ExtenderError | None = None
        for task in reversed(tasks):
            try:
                self._tell(task, is_placed=change.verb is Verb.EVICT)
            except ExtenderError as error:
                failure = failure or error  # the others must hear of theirs all the same
        if failure is not None:
            raise failure

    def _tell(self, task: Task, *, is_placed: bool) -> str:
        """Tell of one task; return why that is not agreed to, empty where it is."""
        verb = self._args.allocate_func_verb if is_placed else self._args.deallocate_func_verb
        if not verb or not self._args.is_concerned(task):
            return ""
        reply = self._asking.ask(verb, {"task": self._bodies.task(task)}, Placed, Placed())
        return shortened(reply.error_message or "")
