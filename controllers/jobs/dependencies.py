"""Dependencies: a task's pods are made when the tasks it waits for have started."""

from collections.abc import Collection

from pyroclast.controllers.jobs.observed import Observed, Place
from pyroclast.controllers.runtime.pods import Pod
from pyroclast.model.api.batch import Iteration, TaskSpec

__all__ = ["has_what_it_waits_for"]


def has_what_it_waits_for(seen: Observed, task: TaskSpec, done: Collection[Place] = ()) -> bool:
    """Tell whether the tasks that a task depends on have started: one of several with `any`, otherwise all."""
    if task.depends_on is None:
        return True
    started = [_has_started(seen, name, done) for name in task.depends_on.name]
    if len(started) > 1 and task.depends_on.iteration == Iteration.ANY:
        return any(started)
    return all(started)


def _has_started(seen: Observed, name: str, done: Collection[Place]) -> bool:
    """Tell whether as many pods of a task run and are ready, or succeeded, as it needs."""
    task = seen.tasks.get(name)
    if task is None:
        return False
    started = sum(_is_started(pod) for place, pod in seen.members.items() if place.task == name)
    started += sum(place.task == name and place not in seen.members for place in done)
    return task.min_available is None or started >= task.min_available


def _is_started(pod: Pod) -> bool:
    if pod.status.phase == "Running":
        return all(status.ready for status in pod.status.container_statuses)
    return pod.status.phase == "Succeeded"
