"""Outcome: the decisions of cycles, under the names of a test."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyroclast.model.ids import JobId, TaskId
from pyroclast.model.refusals import Refusal
from pyroclast.model.report import CycleReport, EventNote, GroupCondition
from pyroclast.scheduler.simulation.rounds import SimulatedRound
from pyroclast.testing.objects import NAMESPACE

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of a scenario. Pods and jobs of the namespace `default` have their names, others `namespace/name`.

    Unless stated otherwise, bindings, evictions, events and conditions are those of all cycles together, and everything
    that describes a state is that of the last cycle.
    """

    rounds: tuple[SimulatedRound, ...]
    warnings: tuple[str, ...] = ()
    """Warnings about arguments and objects, refused plans, and failures of plugins."""

    @property
    def report(self) -> CycleReport:
        """The report of the last cycle."""
        return self.rounds[-1].report

    @property
    def bindings(self) -> dict[str, str]:
        """Node of each bound pod."""
        return {
            _short(f"{bind.namespace}/{bind.name}"): bind.node
            for each in self.rounds
            for plan in each.plans
            for bind in plan.binds
        }

    @property
    def evictions(self) -> list[str]:
        """Evicted pods, in the order of the decisions."""
        return [
            _short(f"{each.namespace}/{each.name}")
            for done in self.rounds
            for plan in done.plans
            for each in plan.evictions
        ]

    @property
    def pipelined(self) -> dict[str, str]:
        """Node of each pod that waits there for resources to be released."""
        names = self.rounds[-1].pod_names
        return {_short(names[task]): node for places in self.report.pipelined.values() for task, node in places.items()}

    @property
    def phases(self) -> dict[str, str]:
        """Phase of each job."""
        return {_short(job): phase.value for job, phase in self.report.phases.items()}

    @property
    def is_at_rest(self) -> bool:
        """Whether the last cycle decided nothing, and no pod was bound or evicted twice before."""
        bound = [bind.task for each in self.rounds for plan in each.plans for bind in plan.binds]
        evicted = self.evictions
        flips = len(set(bound)) < len(bound) or len(set(evicted)) < len(evicted)
        return not flips and not self.rounds[-1].plans

    @property
    def events(self) -> list[EventNote]:
        """Recorded events."""
        return [event for each in self.rounds for event in each.report.events]

    @property
    def failed_plugins(self) -> list[str]:
        """Plugins that raised an exception in some cycle."""
        samples = (sample for each in self.rounds for sample in each.report.samples)
        return sorted({dict(each.labels)["plugin"] for each in samples if each.metric == "plugin_failures_total"})

    def refusals(self, job: str) -> tuple[Refusal, ...]:
        """Return why a job waits, first binding rule first."""
        return self.report.refusals.get(JobId(_long(job)), ())

    def why(self, job: str) -> str:
        """Return why a job waits: its first refusal, else that of its first pod, then why no pod is evicted for it.

        Empty if it does not wait.
        """
        snapshot_job = self.rounds[-1].snapshot.jobs.get(JobId(_long(job)))
        tasks: Sequence[TaskId] = () if snapshot_job is None else tuple(snapshot_job.tasks)
        of_pods = [each for task in tasks for each in self.report.task_refusals.get(task, ())]
        of_job = self.refusals(job)
        first = next((_text_of(each) for each in (*of_job, *of_pods) if not each.action), "")
        evictions = [f"{each.action}: {each.message}" for each in of_job if each.action]
        return ". ".join(filter(None, (first.rstrip("."), *evictions))) if evictions else first

    def refusals_of_pod(self, pod: str) -> tuple[Refusal, ...]:
        """Return why a pod waits, apart from its job."""
        return self._of_pod(self.report.task_refusals, pod)

    def why_pod(self, pod: str) -> str:
        """Return why a pod waits; empty if there is no refusal of it."""
        return next((_text_of(each) for each in self._of_pod(self.report.task_refusals, pod)), "")

    def condition_message(self, pod: str) -> str:
        """Return the message of the condition that was written to a pending pod; empty if there was none."""
        name = _long(pod)
        written = (each for done in reversed(self.rounds) for each in done.report.pod_conditions)
        return next((each.message for each in written if f"{each.namespace}/{each.name}" == name), "")

    def conditions(self, job: str) -> dict[str, GroupCondition]:
        """Return the conditions written to a job's PodGroup, by type."""
        statuses = (status for each in self.rounds for status in each.report.group_statuses)
        return {each.type: each for status in statuses if status.job == _long(job) for each in status.conditions}

    def vetoes(self, pod: str) -> list[str]:
        """Return the plugins that protected a pod from eviction, as `plugin: reason`."""
        vetoes = self._of_pod(self.report.vetoes, pod)
        return list(dict.fromkeys(_text_of(refusal) for _, refusal in vetoes))

    def _of_pod(self, by_task: Mapping[TaskId, tuple[object, ...]], pod: str) -> tuple:  # type: ignore[type-arg]  # of whatever the mapping holds
        names = self.rounds[-1].pod_names
        return next((value for task, value in by_task.items() if names[task] == _long(pod)), ())


def _text_of(refusal: Refusal) -> str:
    return f"{refusal.plugin}: {refusal.message or refusal.reason}"


def _short(key: str) -> str:
    return key.removeprefix(f"{NAMESPACE}/")


def _long(name: str) -> str:
    return name if "/" in name else f"{NAMESPACE}/{name}"
