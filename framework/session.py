"""Session: one cycle's view of the cluster, to which plugins attach and on which actions work.

Opened from a snapshot; plugins register their functions and ledgers in the order of the configuration; from then on
only statements change it. Nothing of it outlives the cycle but its report, its plans and its memory.

`registering` holds what plugins registered, `node_questions` and `job_questions` what is asked of them; here stand the
cycle's own data, what changes it, and what it has to say.
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import NAMESPACE_OID, uuid5

from framework.committing import begin_binding, plan_of
from framework.configuration import Profile
from framework.job_questions import JobQuestions
from framework.jobs import SessionJob
from framework.ledgers import Verb
from framework.memory import Round, Settled, Turn
from framework.nodes import Needs
from framework.outside import Outside
from framework.registering import BindingRefused
from framework.statement import Operation, Statement
from model.arrays import IntArray
from model.ids import JobId, NodeName, QueueName, TaskId
from model.plan import Plan
from model.refusals import Refusal
from model.report import Condition, EventNote, JobShare, QuotaFigures, Sample
from model.resources import CPU, MEMORY, MILLI, PODS
from model.snapshot import Snapshot
from model.tasks import Task

__all__ = ["Session"]


class Session(JobQuestions):
    """One scheduling cycle in progress."""

    def __init__(
        self,
        snapshot: Snapshot,
        profile: Profile,
        *,
        cycle: int,
        generation: int,
        now: float,
        seed: int,
        outside: Mapping[str, Outside],
        committed: Callable[[Plan], None],
        settled: Settled,
    ) -> None:
        super().__init__(snapshot, profile, settled)
        self.cycle = cycle
        """Number of the cycle; the id that conditions carry."""
        self.generation = generation
        """Generation of the configuration."""
        self.now = now
        """The moment of the cycle, seconds since 1970."""
        self.seed = seed
        self.uid = str(uuid5(NAMESPACE_OID, f"{seed}/{cycle}/{now}"))
        """Id of the session, as PodGroup conditions carry it; equal inputs give equal ids."""
        self.outside = outside
        """Who answers what plugins ask beyond the snapshot, by instance; empty where nobody does."""
        self.total: IntArray = snapshot.nodes.allocatable.sum(axis=1)
        self.total.flags.writeable = False
        """What all nodes offer together, base units, shape (R,)."""
        self.plans: list[Plan] = []
        self.conditions: dict[JobId, list[Condition]] = {}
        """Conditions of PodGroups set at close."""
        self.events: list[EventNote] = []
        self.samples: list[Sample] = []
        self.shares: dict[JobId, JobShare] = {}
        self.nominated: set[TaskId] = set()
        """Tasks whose pipelined place comes from evictions: their pods name the node they wait for."""
        self.kept: dict[tuple[JobId, float], dict[TaskId, NodeName]] = {}
        """Nodes that members keep which wait for others of their gang, by job and the end of their patience, seconds
        since 1970."""
        self.gates_lifted: list[Task] = []
        """Tasks that their queue has room for, so that its gate may go off them; their room is theirs from then on."""
        self.runs: dict[str, float] = {}
        """When plugins that act from time to time last did, by instance, seconds since 1970; kept between cycles."""
        self.lacking_pods_since: dict[str, float] = {}
        """Since when admitted jobs lack pods, by UID of the PodGroup, seconds since 1970; kept between cycles."""
        self.rounds: Mapping[str, Round] = {}
        """By namespace how far the last cycle came with its waiting jobs, see `framework.windows`."""
        self.turns: dict[str, Mapping[JobId, Turn]] = {}
        """By action the jobs of namespaces that used up their share; kept between cycles."""
        self.wakes: float | None = None
        """When a cycle is due though nothing changes, seconds since 1970; None for never."""
        self.quotas: list[QuotaFigures] = []
        """How elastic quotas stand."""
        self.differences: dict[QueueName, dict[str, int]] = {}
        """What queues hold more than the requests of their tasks say, thousandths by name; for their status."""
        self.searches_gangs = True
        """Whether members of a gang are searched for places together where placing them in order finds none."""
        self.search_steps = 0
        """Steps that searches for assignments of gangs took in this cycle."""
        self._committed = committed
        self._deferred: dict[JobId, Statement] = {}

    # Changing ---------------------------------------------------------------------------------------------------------

    def statement(self, *, trial: bool = False) -> Statement:
        """Begin a transaction; a trial is always undone, and no ledger sends anything of it to the outside."""
        return Statement(self, is_trial=trial)

    def defer(self, job: SessionJob, statement: Statement) -> None:
        """Keep a statement open until the rest of its gang is placed; see `framework.placing.complete`.

        What the same job had deferred before goes with it: promised places that it took, then those of allocate.
        """
        earlier = self._deferred.setdefault(job.id, statement)
        if earlier is not statement:
            earlier.merge(statement)
        statement.hold()

    def take_deferred(self, job: SessionJob) -> Statement | None:
        """Take back a job's deferred statement; None where there is none."""
        return self._deferred.pop(job.id, None)

    def deferred_jobs(self) -> list[SessionJob]:
        """Return the jobs with deferred statements, first deferred first."""
        return [job for job_id in self._deferred if (job := self.job(job_id)) is not None]

    def transact(self, operation: Operation) -> None:
        """Carry out an operation on jobs and nodes; for statements alone."""
        change = operation.change
        change.job.move(change.tasks, operation.before[0].status, change.verb.status, change.amounts)
        self.nodes.add(change.columns, _delta(change.needs, change.verb), change.tasks)

    def retract(self, operation: Operation) -> None:
        """Undo `transact`; for statements alone."""
        change = operation.change
        change.job.move(operation.before, change.verb.status, operation.before[0].status, change.amounts)
        delta = _delta(change.needs, change.verb)
        if change.verb is Verb.EVICT:
            self.nodes.add(change.columns, -delta, operation.before)
        else:
            self.nodes.remove(change.columns, delta, change.tasks)

    def commit(self, operations: Sequence[Operation]) -> Refusal | None:
        """Make a plan of operations and hand it on; for statements alone.

        Returns:
            Why there is no plan and nothing has changed: a plugin failed that prepares bindings. Else None.
        """
        try:
            plan = plan_of(self, operations)
        except BindingRefused as failure:
            return failure.refusal
        begin_binding(operations)
        self.nominated.update(nomination.task for nomination in plan.nominations)
        if plan.binds or plan.evictions or plan.nominations:
            self.plans.append(plan)
            self._committed(plan)
        return None

    # Saying -----------------------------------------------------------------------------------------------------------

    def set_condition(self, job: SessionJob, condition: Condition) -> None:
        """Set a condition of a PodGroup; the last of a type counts."""
        conditions = self.conditions.setdefault(job.id, [])
        conditions[:] = [known for known in conditions if known.type != condition.type]
        conditions.append(condition)

    def wake(self, moment: float) -> None:
        """Ask for a cycle just after a moment, seconds since 1970, though nothing changes until then."""
        self.wakes = moment if self.wakes is None else min(moment, self.wakes)

    def sample(self, metric: str, value: float, kind: str = "gauge", **labels: str) -> None:
        """Note a value of a metric, named without the `volcano_` prefix."""
        self.samples.append(Sample(metric=metric, labels=tuple(labels.items()), value=value, kind=kind))

    def sample_amounts(self, metric: str, amounts: Sequence[int], **labels: str) -> None:
        """Note amounts by resource: `<metric>_milli_cpu`, `_memory_bytes`, and `_scalar_resources` by name."""
        for name, amount, scale in zip(self.resources.names, amounts, self.resources.scales, strict=True):
            if name == CPU:
                self.sample(f"{metric}_milli_cpu", amount, **labels)
            elif name == MEMORY:
                self.sample(f"{metric}_memory_bytes", amount, **labels)
            elif amount:
                # other resources count in thousandths there, but for pods
                thousandths = amount if name == PODS else amount * MILLI // scale
                self.sample(f"{metric}_scalar_resources", thousandths, resource=name, **labels)

    def count_otherwise(self, queue: QueueName, more: Mapping[str, int]) -> None:
        """Note what a queue holds more than the requests of its tasks say, thousandths by name, below 0 for less."""
        known = self.differences.setdefault(queue, {})
        for name, amount in more.items():
            known[name] = known.get(name, 0) + amount

    def group_event(self, job: SessionJob, type_: str, reason: str, message: str) -> None:
        """Record an event on a PodGroup."""
        self.events.append(
            EventNote(
                kind="PodGroup",
                namespace=job.job.namespace,
                name=job.job.name,
                uid=job.job.uid,
                type=type_,
                reason=reason,
                message=message,
            )
        )


def _delta(needs: Needs, verb: Verb) -> IntArray:
    if verb is Verb.ALLOCATE:
        return needs.allocate
    return needs.pipeline if verb is Verb.PIPELINE else needs.evict
