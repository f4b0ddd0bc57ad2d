"""Jobs and queues: may they go on?"""

from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.asking import Asking
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.replies import Nothing, OverusedReply, Ready, Voted

__all__ = ["JobVerbs"]


class JobVerbs:
    """The verbs that are asked about jobs and queues; managed resources are nothing to them."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs, name: str) -> None:
        self._asking, self._bodies, self._args, self._name = asking, bodies, args, name

    def overused(self, queue: Queue) -> Refusal | None:
        """Ask whether a queue has had enough."""
        body = {"queue": self._bodies.queue(queue)}
        reply = self._asking.ask(self._args.queue_overused_verb, body, OverusedReply, OverusedReply())
        if not reply.overused:
            return None
        return Refusal(
            plugin=self._name, reason="QueueOverused", message=f"{self._name} says that queue {queue.name} is overused"
        )

    def may_enqueue(self, job: SessionJob) -> Vote:
        """Ask for a vote on a job at the gate; nobody's vote where nobody answers."""
        reply = self._asking.ask(self._args.job_enqueueable_verb, self._body(job), Voted, Voted())
        return vote_of(reply.status)

    def enqueued(self, job: SessionJob) -> None:
        """Tell that a job has passed the gate."""
        self._asking.ask(self._args.job_enqueued_verb, self._body(job), Nothing, Nothing())

    def is_ready(self, job: SessionJob) -> bool:
        """Ask whether a job is ready."""
        reply = self._asking.ask(self._args.job_ready_verb, self._body(job), Ready, Ready(status=True))
        return bool(reply.status)

    def _body(self, job: SessionJob) -> dict[str, object]:
        return {"job": self._bodies.job(job)}


def vote_of(status: int | None) -> Vote:
    """Read a vote: its sign counts."""
    if not status:
        return Vote.ABSTAIN
    return Vote.PERMIT if status > 0 else Vote.REJECT
