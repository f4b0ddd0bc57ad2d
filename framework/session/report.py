"""Report of a session: events, conditions and metrics at its end, and the state for the next session."""

from collections.abc import Iterable, Mapping, Sequence

from pyroclast.framework.extension import uses
from pyroclast.framework.session.memory import Round, Settled, Turn
from pyroclast.framework.state.caller import Caller
from pyroclast.framework.state.jobs import SessionJob
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.ids import JobId, QueueName, TaskId
from pyroclast.model.report import EventNote, GroupCondition, JobShare, QuotaFigures, Sample
from pyroclast.model.resources import CPU, MEMORY, MILLI, PODS
from pyroclast.model.sealed import SealedDict, SealedList, SealedSet
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["SessionReport"]


class SessionReport:
    """Reports from plugins and actions of one session."""

    def __init__(self, snapshot: Snapshot, settled: Settled, caller: Caller, runs: Mapping[str, float]) -> None:
        self._resources = snapshot.resources
        self._queues = snapshot.queues
        self._settled = settled
        self._caller = caller
        self.conditions: SealedDict[JobId, tuple[GroupCondition, ...]] = SealedDict()
        """Conditions of PodGroups set at close."""
        self.events: SealedList[EventNote] = SealedList()
        self.samples: SealedList[Sample] = SealedList()
        self.shares: SealedDict[JobId, JobShare] = SealedDict()
        self.nominated: SealedSet[TaskId] = SealedSet()
        """Tasks whose pipelined place comes from evictions: their pods name the node they wait for."""
        self.gates_lifted: SealedList[Task] = SealedList()
        """Tasks that their queue has capacity for, so that its gate may be removed. Their capacity is reserved from
        then on."""
        self.runs: SealedDict[str, float] = SealedDict(runs)
        """Last time of each periodic plugin, by instance, seconds since 1970. Kept between cycles."""
        self.lacking_pods_since: Mapping[str, float] = SealedDict()
        """Since when admitted jobs lack pods, by UID of the PodGroup, seconds since 1970; kept between cycles."""
        self.rounds: SealedDict[str, Round] = SealedDict()
        """Progress of the last cycle with waiting jobs, by namespace, see `framework.session.namespace_windows`."""
        self.admission_rounds: SealedDict[str, Round] = SealedDict()
        """The same for jobs at admission, see `framework.queues.admission_turns`."""
        self.turns: SealedDict[str, Mapping[JobId, Turn]] = SealedDict()
        """Jobs of namespaces that used up their share, by action. Kept between cycles."""
        self.wakes: float | None = None
        """Time at which a cycle is due even if nothing changes, seconds since 1970; None for never."""
        self.quotas: SealedList[QuotaFigures] = SealedList()
        """Usage of elastic quotas."""
        self.differences: SealedDict[QueueName, SealedDict[str, int]] = SealedDict()
        """Amounts that queues hold beyond the requests of their tasks, thousandths by name, for their status."""

    def nominate(self, tasks: Iterable[TaskId]) -> None:
        """Nominate the nodes of waiting pods."""
        self._caller.for_actions("nominate")
        set.update(self.nominated, tasks)

    def lift_gate(self, task: Task) -> None:
        """Remove the queue's scheduling gate from a task that the queue has capacity for."""
        self._caller.for_actions("lift_gate")
        list.append(self.gates_lifted, task)

    def set_condition(self, job: SessionJob, condition: GroupCondition) -> None:
        """Set a condition of a PodGroup; the last of a type counts."""
        if self._caller.guard is not None:
            job = self._caller.guard.read("jobs", uses.read_job, job)
            condition = self._caller.guard.read("conditions", uses.read_condition, condition)
        others = (known for known in self.conditions.get(job.id, ()) if known.type != condition.type)
        dict.__setitem__(self.conditions, job.id, (*others, condition))

    def wake(self, moment: float) -> None:
        """Request a cycle just after a moment, seconds since 1970, even if nothing changes until then."""
        if self._caller.guard is not None:
            moment = self._caller.guard.read("wakes", uses.read_moment, moment)
        self.wakes = moment if self.wakes is None else min(moment, self.wakes)

    def sample(self, metric: str, value: float, kind: str = "gauge", **labels: str) -> None:
        """Note a value of a metric, named without the `volcano_` prefix."""
        if self._caller.guard is not None:
            metric, value, kind, labels = self._caller.guard.read(
                "samples", uses.read_sample, metric, value, kind, labels
            )
        list.append(self.samples, Sample(metric=metric, labels=tuple(labels.items()), value=value, kind=kind))

    def sample_amounts(self, metric: str, amounts: Sequence[int], **labels: str) -> None:
        """Note amounts by resource: `<metric>_milli_cpu`, `_memory_bytes`, and `_scalar_resources` by name."""
        if self._caller.guard is not None:
            amounts = self._caller.guard.read("samples", uses.read_sample_amounts, amounts, len(self._resources))
        for name, amount, scale in zip(self._resources.names, amounts, self._resources.scales, strict=True):
            if name == CPU:
                self.sample(f"{metric}_milli_cpu", amount, **labels)
            elif name == MEMORY:
                self.sample(f"{metric}_memory_bytes", amount, **labels)
            elif amount:
                # other resources count in thousandths there, but for pods
                thousandths = amount if name == PODS else amount * MILLI // scale
                self.sample(f"{metric}_scalar_resources", thousandths, resource=name, **labels)

    def count_otherwise(self, queue: QueueName, more: Mapping[str, int]) -> None:
        """Note an amount that a queue holds beyond its tasks' requests, thousandths by name; below 0 for less."""
        if self._caller.guard is not None:
            queue, more = self._caller.guard.read("notes", uses.read_difference, queue, more, self._queues)
        known: Mapping[str, int] = self.differences.get(queue, {})
        changed = {name: known.get(name, 0) + amount for name, amount in more.items()}
        dict.__setitem__(self.differences, queue, SealedDict({**known, **changed}))

    def group_event(self, job: SessionJob, type_: str, reason: str, message: str) -> None:
        """Record an event on a PodGroup."""
        if self._caller.guard is not None:
            job = self._caller.guard.read("jobs", uses.read_job, job)
        note = EventNote(
            kind="PodGroup",
            namespace=job.job.namespace,
            name=job.job.name,
            uid=job.job.uid,
            type=type_,
            reason=reason,
            message=message,
        )
        self.record_events(note)

    def record_events(self, *notes: EventNote) -> None:
        """Record events on any objects."""
        if self._caller.guard is not None:
            notes = tuple(self._caller.guard.read("events", uses.read_event, note) for note in notes)
        list.extend(self.events, notes)

    def note_run(self, key: str, moment: float | None) -> None:
        """Note when a plugin that acts from time to time did, by its instance; None forgets it."""
        if self._caller.guard is not None:
            key, moment = self._caller.guard.read("notes", uses.read_run, key, moment)
        if moment is None:
            dict.pop(self.runs, key, None)
        else:
            dict.__setitem__(self.runs, key, moment)

    def note_share(self, job: JobId, share: JobShare) -> None:
        """Note the dominant resource of a job."""
        if self._caller.guard is not None:
            share = self._caller.guard.read("notes", uses.read_share, share)
        dict.__setitem__(self.shares, job, share)

    def note_quota(self, figures: QuotaFigures) -> None:
        """Note how an elastic quota stands."""
        if self._caller.guard is not None:
            figures = self._caller.guard.read("notes", uses.read_quota_figures, figures)
        list.append(self.quotas, figures)

    def is_news(self, about: str, text: str, *, job: JobId | None = None) -> bool:
        """Return whether a text about an object, or a job, is new or has changed."""
        if self._caller.guard is not None:
            about, text = self._caller.guard.read("notes", uses.read_news, about, text)
        return self._settled.is_news(about, text, job=job)

    def warn_once(
        self, kind: str, metadata: ObjectMeta, reason: str, message: str, *, job: JobId | None = None
    ) -> None:
        """Record a warning event about an object unless the last one with its reason had the same message.

        Args:
            kind: Kind of the object.
            metadata: Its metadata.
            reason: Reason of the event.
            message: Message of the event.
            job: Job of a pod; what was recorded about a job is forgotten with it.
        """
        if self.is_news(f"{kind}/{metadata.key}/{reason}", message, job=job):
            note = EventNote(
                kind=kind,
                namespace=metadata.namespace,
                name=metadata.name,
                uid=metadata.uid,
                type="Warning",
                reason=reason,
                message=message,
            )
            self.record_events(note)
