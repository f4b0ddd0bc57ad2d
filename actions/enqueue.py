"""Enqueue: admit pending jobs to their queue.

Queues take turns; the jobs of a queue are tried in order. A job without minimum resources is admitted; any other is
admitted if the plugins vote for it. A refused job waits for the next cycle and blocks no other job.
"""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from pyroclast.framework.configuration.arguments import argument
from pyroclast.framework.configuration.conversions import duration
from pyroclast.framework.extension.contract import Action
from pyroclast.framework.placement.work_order import WorkOrder
from pyroclast.framework.queues.admission import AdmissionRules, lacks_pods, set_rules
from pyroclast.framework.queues.admission_turns import MOST_REFUSED, AdmissionTurns
from pyroclast.framework.session.session import Session
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.sealed import SealedDict

__all__ = ["Enqueue", "EnqueueArgs"]

_GRACE_PERIOD: Final = Fraction(300)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueArgs:
    """Arguments of enqueue."""

    count_evictions: bool = argument("countEvictions", True)
    """Whether resources that the configured actions could evict for a job, and those promised to jobs of lower priority
    in its queue, do not count against it at admission; false restores Volcano's rule.
    """
    free_unusable_promises: bool = argument("freeUnusablePromises", True)
    """Whether admitted jobs that cannot use their promised resources block no other job; false restores Volcano's rule.
    """
    pods_grace_period: Fraction = argument("podsGracePeriod", _GRACE_PERIOD, parse=duration)
    """Time that an admitted job may lack pods for its minimum before it blocks no other job, a Go duration."""
    namespace_refusals: int = argument("namespaceRefusals", MOST_REFUSED, least=0)
    """Jobs of one namespace that may be refused in a cycle, before its other jobs wait for a later cycle; 0 for no
    limit.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueue(Action):
    """Admit pending jobs."""

    name = "enqueue"
    args: EnqueueArgs = field(default_factory=EnqueueArgs)

    def execute(self, session: Session) -> None:
        """Decide for each pending job whether it is admitted."""
        self._set_rules(session)
        turns = AdmissionTurns(session, self.args.namespace_refusals)
        order = WorkOrder(session, turns.jobs())
        while (queue := order.next_queue()) is not None:
            job = order.next_job(queue)
            if job is None:
                continue
            if turns.may_begin(job) and not admit(session, job):
                turns.count_refused(job)
            order.return_queue(queue)
        turns.close()

    def _set_rules(self, session: Session) -> None:
        rules = AdmissionRules(
            counts_evictions=self.args.count_evictions,
            frees_unusable=self.args.free_unusable_promises,
            grace_seconds=float(self.args.pods_grace_period),
        )
        set_rules(session, rules)
        note_lacking_pods(session, rules.grace_seconds)


def admit(session: Session, job: SessionJob) -> bool:
    """Admit a job unless plugins refuse it. Return whether it was admitted."""
    refusals = [] if job.job.min_resources is None else session.jobs.job_enqueueable(job)
    if not refusals:
        session.jobs.job_enqueued(job)
    for refusal in refusals:
        if job.refuse(refusal):
            session.report.group_event(job, "Normal", "Unschedulable", refusal.text)
    return not refusals


def note_lacking_pods(session: Session, grace_seconds: float) -> None:
    """Record since when admitted jobs lack pods, and request a cycle at the end of the first grace period.

    In its first cycle a scheduler does not know this time and uses the age of the group.
    """
    table = session.snapshot.job_table
    known, is_first = session.report.lacking_pods_since, session.cycle == 1
    since = {
        job.uid or job.id: known.get(job.uid or job.id, job.created if is_first else session.now)
        for job in table.select(session.jobs.own(lacks_pods(table)))
    }
    session.report.lacking_pods_since = SealedDict(since)
    ends = [moment + grace_seconds for moment in since.values() if moment + grace_seconds > session.now]
    if ends:
        session.report.wake(min(ends))
