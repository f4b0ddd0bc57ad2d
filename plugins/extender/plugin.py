"""Extender: an HTTP service implements extension points.

Points: those with a configured verb; a ledger; a delegate for binds.  Arguments: `ExtenderArgs`.  Wire form, errors and
example: docs/plugins/extender.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.refusals import Refusal
from pyroclast.model.tasks import Task
from pyroclast.plugins.extender.arguments import ExtenderArgs
from pyroclast.plugins.extender.bodies import Bodies
from pyroclast.plugins.extender.events import Events
from pyroclast.plugins.extender.jobs import JobVerbs
from pyroclast.plugins.extender.nodes import NodeVerbs
from pyroclast.plugins.extender.requests import Asking, ExtenderError
from pyroclast.plugins.extender.victims import VictimVerbs

__all__ = ["Extender"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Extender(Plugin):
    """Delegate decisions to an HTTP service."""

    name = "extender"
    watches_clock = True
    """The service may decide differently although the cluster has not changed."""
    args: ExtenderArgs

    def on_session_open(self, session: Session) -> None:
        """Register the points with a configured verb."""
        instance = session.extensions.option.instance
        outside = session.outside.get(instance)
        if outside is None:
            session.extensions.note_failure(
                instance, ExtenderError(f"extenders are not called here, so {self.args.url_prefix} is ignored")
            )
            return
        asking = Asking(session, instance, self.args, outside)
        bodies = Bodies(session)
        if self.args.on_session_close_verb:
            session.extensions.on_close(self.name, lambda: _close(asking, self.args.on_session_close_verb))
        if self.args.on_session_open_verb:
            failure = asking.notify(self.args.on_session_open_verb, bodies.cluster())
            if failure and not self.args.ignorable:
                self._refuse_all(session, Refusal(plugin=instance, reason="ExtenderFailed", message=failure))
                return
        self._register_nodes(session, NodeVerbs(asking, bodies, self.args, instance))
        self._register_jobs(session, JobVerbs(asking, bodies, self.args, instance))
        self._register_victims(session, VictimVerbs(asking, bodies, self.args))
        if self.args.allocate_func_verb or self.args.deallocate_func_verb:
            session.extensions.register_ledger(self.name, Events(asking, bodies, self.args, instance))
        if self.args.bind_verb:
            session.extensions.register_delegate(self.name, lambda task, _: self.args.is_concerned(task))

    def _refuse_all(self, session: Session, refusal: Refusal) -> None:
        """Refuse all decisions of this cycle, because a required extender does not know the cluster."""

        def refuse(_: SessionJob) -> Refusal:
            return refusal

        def none(_: Sequence[Task]) -> Sequence[Task]:
            return ()

        session.extensions.register(contract.JOB_VALID, self.name, refuse)
        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, refuse)
        session.extensions.register(contract.MOVABLE, self.name, none)

    def _register_nodes(self, session: Session, nodes: NodeVerbs) -> None:
        if self.args.batch_predicate_verb:
            session.extensions.register(
                contract.PREDICATE, self.name, nodes.permits, many=nodes.permits_many, is_outside=True
            )
        elif self.args.predicate_verb:
            session.extensions.register(contract.PREDICATE, self.name, nodes.permits, is_outside=True)
        if self.args.prioritize_verb:
            session.extensions.register(contract.BATCH_NODE_ORDER, self.name, nodes.scores, is_outside=True)

    def _register_jobs(self, session: Session, jobs: JobVerbs) -> None:
        if self.args.queue_overused_verb:
            session.extensions.register(contract.OVERUSED, self.name, jobs.overused)
        if self.args.job_enqueueable_verb:
            session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, jobs.may_enqueue)
        if self.args.job_enqueued_verb:
            session.extensions.register(contract.JOB_ENQUEUED, self.name, jobs.enqueued)
        if self.args.job_ready_verb:
            session.extensions.register(contract.JOB_READY, self.name, jobs.is_ready)

    def _register_victims(self, session: Session, victims: VictimVerbs) -> None:
        if self.args.preemptable_verb:
            session.extensions.register(contract.PREEMPTABLE, self.name, victims.choosing(self.args.preemptable_verb))
        if self.args.reclaimable_verb:
            session.extensions.register(contract.RECLAIMABLE, self.name, victims.choosing(self.args.reclaimable_verb))


def _close(asking: Asking, verb: str) -> None:
    asking.notify(verb, {})
