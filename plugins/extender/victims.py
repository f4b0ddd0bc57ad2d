"""Verbs that select victims."""

from collections.abc import Callable, Sequence

from pyroclast.framework.extension.contract import Vote
from pyroclast.model.tasks import Task
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.jobs import vote_of
from pyroclast.plugins.extender.replies import Victims
from pyroclast.plugins.extender.requests import Asking

__all__ = ["VictimVerbs"]


class VictimVerbs:
    """The two verbs that select victims among candidates."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs) -> None:
        self._asking, self._bodies, self._args = asking, bodies, args

    def choosing(self, verb: str) -> Callable[[Task, Sequence[Task]], tuple[Sequence[Task], Vote]]:
        """Return the function that calls a verb."""
        return lambda beneficiary, candidates: self._choose(verb, beneficiary, candidates)

    def _choose(self, verb: str, beneficiary: Task, candidates: Sequence[Task]) -> tuple[Sequence[Task], Vote]:
        """Call the verb, and return the candidates with the UIDs in the reply; abstain without a reply."""
        if not self._args.is_concerned(beneficiary):
            return (), Vote.ABSTAIN
        body = {
            "evictor": self._bodies.task(beneficiary),
            "evictees": [self._bodies.task(task) for task in candidates],
        }
        reply = self._asking.ask(verb, body, Victims, Victims())
        vote = vote_of(reply.status)
        if vote is not Vote.PERMIT:
            return (), vote
        named = {victim.uid for victim in reply.victims or ()}
        chosen = [task for task in candidates if task.id in named]
        self._asking.complain(verb, "victims that were not offered", named - {task.id for task in chosen})
        return chosen, vote
