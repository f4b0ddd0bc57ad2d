"""Counts: number of pods of a Job by phase, in total and by task."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyroclast.controllers.jobs.decision.observed import Observed, PodPlace, is_leaving
from pyroclast.model.api import names
from pyroclast.model.api.batch import TaskState
from pyroclast.model.wire import Pod

__all__ = ["Counts", "count"]

_PHASES = ("Pending", "Running", "Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Numbers of a Job's pods by state."""

    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    unknown: int = 0
    terminating: int = 0
    by_task: dict[str, TaskState] = field(default_factory=dict)

    @property
    def alive(self) -> int:
        """Pods that have not ended."""
        return self.pending + self.running + self.terminating

    def succeeded_of(self, task: str) -> int | None:
        """Return the number of succeeded pods of a task, None if the task has no counted pod."""
        state = self.by_task.get(task)
        return None if state is None else state.phase.get("Succeeded", 0)


def count(seen: Observed, killed: Iterable[Pod] = (), done: Iterable[PodPlace] = ()) -> Counts:
    """Count the pods of a Job.

    Args:
        seen: The Job.
        killed: Pods that count as terminating, because this step deletes them.
        done: Places whose pods have succeeded. They count even if the pods are deleted.
    """
    going = {pod.metadata.uid for pod in killed}
    totals: Counter[str] = Counter()
    tasks: dict[str, Counter[str]] = {}
    for pod in seen.pods.values():
        if is_leaving(pod) or pod.metadata.uid in going:
            totals["Terminating"] += 1
            continue
        phase = pod.status.phase if pod.status.phase in _PHASES else "Unknown"
        totals[phase] += 1
        tasks.setdefault(pod.metadata.annotations[names.TASK_SPEC], Counter())[phase] += 1
    for place in done:
        name = seen.name_of(place)
        if name is not None and name not in seen.pods:
            totals["Succeeded"] += 1
            tasks.setdefault(place.task, Counter())["Succeeded"] += 1
    return Counts(
        pending=totals["Pending"],
        running=totals["Running"],
        succeeded=totals["Succeeded"],
        failed=totals["Failed"],
        unknown=totals["Unknown"],
        terminating=totals["Terminating"],
        by_task={task: TaskState(phase=dict(sorted(phases.items()))) for task, phases in sorted(tasks.items())},
    )
