"""Verbs about jobs and queues."""

from pyroclast.framework.extension.contract import Vote
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.replies import Nothing, OverusedReply, Ready, Voted
from pyroclast.plugins.extender.requests import Asking

__all__ = ["JobVerbs"]


class JobVerbs:
    """The verbs about jobs and queues. Managed resources do not affect them."""

    def __init__(self, asking: Asking, bodies: Bodies, args: ExtenderArgs, name: str) -> None:
        self._asking, self._bodies, self._args, self._name = asking, bodies, args, name

    def overused(self, queue: Queue) -> Refusal | None:
        """Return a refusal if the extender considers a queue overused."""
        body = {"queue": self._bodies.queue(queue)}
        reply = self._asking.ask(self._args.queue_overused_verb, body, OverusedReply, OverusedReply())
        if not reply.overused:
            return None
        return Refusal(
            plugin=self._name,
            reason="QueueOverused",
            message=f"{self._name} reports that queue {queue.name} is overused",
        )

    def may_enqueue(self, job: SessionJob) -> Vote:
        """Return the extender's vote on enqueueing a job; it abstains without a reply."""
        reply = self._asking.ask(self._args.job_enqueueable_verb, self._body(job), Voted, Voted())
        return vote_of(reply.status)

    def enqueued(self, job: SessionJob) -> None:
        """Notify the extender of an enqueued job."""
        self._asking.ask(self._args.job_enqueued_verb, self._body(job), Nothing, Nothing())

    def is_ready(self, job: SessionJob) -> bool:
        """Return whether the extender considers a job ready."""
        reply = self._asking.ask(self._args.job_ready_verb, self._body(job), Ready, Ready(status=True))
        return bool(reply.status)

    def _body(self, job: SessionJob) -> dict[str, object]:
        return {"job": self._bodies.job(job)}


def vote_of(status: int | None) -> Vote:
    """Convert a status to a vote; only its sign counts."""
    if not status:
        return Vote.ABSTAIN
    return Vote.PERMIT if status > 0 else Vote.REJECT
