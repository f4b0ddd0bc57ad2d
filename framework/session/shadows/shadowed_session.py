"""Parts of a session with shadows: each asks the shadows whenever the session asks the other plugins."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyroclast.framework.candidates.candidate_nodes import CandidateNodes
from pyroclast.framework.candidates.node_answers import NodeAnswers
from pyroclast.framework.candidates.reserved import SessionReservations
from pyroclast.framework.candidates.resizes import SessionResizes
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Change, Move, Verb
from pyroclast.framework.extension.registration import Extensions
from pyroclast.framework.session.evictions import SessionEvictions
from pyroclast.framework.session.held import HeldCapacities
from pyroclast.framework.session.jobs import SessionJobs
from pyroclast.framework.session.memory import Settled
from pyroclast.framework.session.ownership import OwnJobs
from pyroclast.framework.session.queues import SessionQueues
from pyroclast.framework.session.shadows.shadows import Shadows
from pyroclast.framework.session.skipped_jobs import SkippedJobs
from pyroclast.framework.session.statements.statement import Commit, Operation, Statement
from pyroclast.framework.state.jobs import SessionJob, SubJob
from pyroclast.framework.state.nodes import SessionNodes
from pyroclast.model.ids import QueueName
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["ShadowedEvictions", "ShadowedJobs", "ShadowedNodes", "ShadowedQueues", "ShadowedStatement"]


class ShadowedQueues(SessionQueues):
    """Queues."""

    def __init__(self, by_name: Mapping[QueueName, Queue], extensions: Extensions, *, shadows: Shadows) -> None:
        super().__init__(by_name, extensions)
        self._shadows = shadows

    def overused(self, queue: Queue) -> Refusal | None:
        """Compare the answer."""
        return self._shadows.compared(contract.OVERUSED, super().overused(queue), queue)

    def allocatable(self, queue: Queue, task: Task) -> Refusal | None:
        """Compare the answer."""
        return self._shadows.compared(contract.ALLOCATABLE, super().allocatable(queue, task), queue, task)

    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> Refusal | None:
        """Compare the answer."""
        return self._shadows.compared(contract.PREEMPTIVE, super().preemptive(queue, tasks), queue, tasks)

    def order_key(self, queue: Queue) -> tuple[Any, ...]:
        """Compare the answer."""
        return self._shadows.compared(contract.QUEUE_ORDER, super().order_key(queue), queue)


class ShadowedJobs(SessionJobs):
    """Jobs."""

    def __init__(
        self,
        snapshot: Snapshot,
        settled: Settled,
        extensions: Extensions,
        skipped: SkippedJobs,
        ownership: OwnJobs | None,
        *,
        shadows: Shadows,
    ) -> None:
        super().__init__(snapshot, settled, extensions, skipped, ownership)
        self._shadows = shadows

    def order_key(self, job: SessionJob) -> tuple[Any, ...]:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_ORDER, super().order_key(job), job)

    def task_order_key(self, task: Task, *, across_jobs: bool = False) -> tuple[Any, ...]:
        """Compare the answer."""
        key = super().task_order_key(task, across_jobs=across_jobs)
        return self._shadows.compared(contract.TASK_ORDER, key, task, across_jobs=across_jobs)

    def sub_job_order_key(self, sub_job: SubJob) -> tuple[Any, ...]:
        """Compare the answer."""
        return self._shadows.compared(contract.SUB_JOB_ORDER, super().sub_job_order_key(sub_job), sub_job)

    def job_valid(self, job: SessionJob) -> Refusal | None:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_VALID, super().job_valid(job), job)

    def job_ready(self, job: SessionJob) -> bool:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_READY, super().job_ready(job), job)

    def sub_job_ready(self, sub_job: SubJob) -> bool:
        """Compare the answer."""
        return self._shadows.compared(contract.SUB_JOB_READY, super().sub_job_ready(sub_job), sub_job)

    def job_pipelined(self, job: SessionJob) -> bool:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_PIPELINED, super().job_pipelined(job), job)

    def sub_job_pipelined(self, sub_job: SubJob) -> bool:
        """Compare the answer."""
        return self._shadows.compared(contract.SUB_JOB_PIPELINED, super().sub_job_pipelined(sub_job), sub_job)

    def job_starving(self, job: SessionJob) -> bool:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_STARVING, super().job_starving(job), job)

    def job_enqueueable(self, job: SessionJob) -> list[Refusal]:
        """Compare the answer."""
        return self._shadows.compared(contract.JOB_ENQUEUEABLE, super().job_enqueueable(job), job)

    def job_enqueued(self, job: SessionJob) -> None:
        """Notify the shadows, too."""
        super().job_enqueued(job)
        self._shadows.compared(contract.JOB_ENQUEUED, None, job)


class ShadowedNodes(CandidateNodes):
    """Candidate nodes."""

    def __init__(self, answers: NodeAnswers, *, shadows: Shadows) -> None:
        super().__init__(answers)
        self._shadows = shadows

    def pre_predicate(self, task: Task) -> Refusal | None:
        """Compare the answer."""
        return self._shadows.compared(contract.PRE_PREDICATE, super().pre_predicate(task), task)


class ShadowedEvictions(SessionEvictions):
    """Victims of evictions."""

    def __init__(
        self,
        snapshot: Snapshot,
        extensions: Extensions,
        held: HeldCapacities,
        action: Callable[[], str],
        *,
        shadows: Shadows,
    ) -> None:
        super().__init__(snapshot, extensions, held, action)
        self._shadows = shadows

    def preemptable(self, preemptor: Task, candidates: Sequence[Task], *, gang: Sequence[Task] = ()) -> list[Task]:
        """Compare the answer."""
        victims = super().preemptable(preemptor, candidates, gang=gang)
        return self._shadows.compared(contract.PREEMPTABLE, victims, preemptor, candidates, gang=gang)

    def reclaimable(
        self,
        reclaimer: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        protects_deserved: bool = True,
        within_queue: bool = False,
    ) -> list[Task]:
        """Compare the answer."""
        victims = super().reclaimable(
            reclaimer, candidates, gang=gang, protects_deserved=protects_deserved, within_queue=within_queue
        )
        return self._shadows.compared(
            contract.RECLAIMABLE, victims, reclaimer, candidates, gang=gang, within_queue=within_queue
        )

    def evictable(
        self,
        context: Any,
        beneficiary: Task,
        candidates: Sequence[Task],
        *,
        gang: Sequence[Task] = (),
        first_tier: bool = False,
        protects_deserved: bool = True,
    ) -> list[Task]:
        """Compare the answer."""
        victims = super().evictable(
            context, beneficiary, candidates, gang=gang, first_tier=first_tier, protects_deserved=protects_deserved
        )
        return self._shadows.compared(
            contract.UNIFIED_EVICTABLE, victims, context, candidates, gang=gang, within_queue=context.within_queue
        )

    def moves(self, tasks: Sequence[Task]) -> list[Move]:
        """Compare the answer."""
        return self._shadows.compared(contract.VICTIM_TASKS, super().moves(tasks), tasks)


class ShadowedStatement(Statement):
    """A statement that shadows follow."""

    __slots__ = ("_shadows",)

    def __init__(
        self,
        nodes: SessionNodes,
        extensions: Extensions,
        reserved: SessionReservations,
        resizes: SessionResizes,
        commit: Commit,
        *,
        shadows: Shadows,
        is_trial: bool = False,
    ) -> None:
        super().__init__(nodes, extensions, reserved, resizes, commit, is_trial=is_trial)
        self._shadows = shadows

    def _do(self, operation: Operation) -> Refusal | None:
        if not (self.is_trial or operation.change.verb is Verb.EVICT):
            self._compare_places(operation)
        refusal = super()._do(operation)
        if refusal is None:
            self._shadows.apply(operation.change)
        return refusal

    def _revert(self, change: Change, applied: int) -> None:
        self._shadows.revert(change)
        super()._revert(change, applied)

    def _compare_places(self, operation: Operation) -> None:
        """Compare each placement after those before it."""
        change = operation.change
        with ShadowedStatement(
            self._nodes,
            self._extensions,
            self._reserved,
            self._resizes,
            self._commit,
            shadows=self._shadows,
            is_trial=True,
        ) as earlier:
            place = earlier.allocate if change.verb is Verb.ALLOCATE else earlier.pipeline
            for task, column in zip(operation.before, change.columns, strict=True):
                if not self._shadows.may_compare_place():
                    return
                self._shadows.compare_place(task, int(column), change.verb)
                if len(operation.before) > 1 and place(change.job, [task], [int(column)]) is not None:
                    return
