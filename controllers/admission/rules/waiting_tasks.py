"""Dependencies of tasks in a gang: a pod that the gang needs before any pod runs must not depend on a running pod."""

from collections.abc import Iterator, Mapping, Sequence

from pyroclast.model.api.batch import Iteration, JobSpec, TaskSpec

__all__ = ["waiting_warnings"]


def waiting_warnings(spec: JobSpec) -> Iterator[str]:
    """Find a gang that never starts, because the scheduler waits for pods of tasks that wait for running pods.

    Args:
        spec: Spec of the Job, with its defaults.
    """
    least = {task.name: _least(task) for task in spec.tasks}
    waiting = [task for task in spec.tasks if _waits(task, least)]
    if not waiting:
        return
    most = sum(task.replicas for task in spec.tasks) - sum(task.replicas for task in waiting)
    if any(map(_least, waiting)):
        # If the gang needs at least the sum of the minimums, the scheduler requires the minimum of each task.
        most = min(most, sum(least.values()) - 1)
    if spec.min_available > most:
        names = ", ".join(task.name for task in waiting)
        yield (
            f"spec.minAvailable: pods of {names} are made when others run (dependsOn), and none runs before the gang "
            f"has its pods: the Job will never start (got {spec.min_available}, expected at most {most})"
        )


def _least(task: TaskSpec) -> int:
    return task.replicas if task.min_available is None else task.min_available


def _waits(task: TaskSpec, least: Mapping[str, int]) -> bool:
    """Return whether a task has no pods until others run. A task whose minimum is 0 blocks no other task."""
    if task.depends_on is None:
        return False
    unmet: Sequence[bool] = [least.get(name, 1) > 0 for name in task.depends_on.name]
    if len(unmet) > 1 and task.depends_on.iteration == Iteration.ANY:
        return all(unmet)
    return any(unmet)
