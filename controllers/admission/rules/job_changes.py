"""Job changes: only size, gang, priority, time to live and, while no pod runs, the queue of a Job may change."""

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.differences import differences
from pyroclast.controllers.admission.rules.job_size import size_faults
from pyroclast.controllers.admission.rules.partitions import partition_faults
from pyroclast.controllers.admission.rules.topology import topology_faults
from pyroclast.controllers.jobs.plugins.names import name_faults
from pyroclast.controllers.jobs.plugins.registry import plugins_of
from pyroclast.model.api.batch import Job, JobSpec, TaskSpec

__all__ = ["change_faults", "is_settled", "plugin_name_faults"]

_MOST_NAMED: Final = 5
"""Changed fields named in a message."""


def is_settled(old: Job, job: Job) -> bool:
    """Return whether validation is skipped, because the spec is unchanged or the Job is being deleted.

    The finalizers of a Job that is older than a rule must be removable.
    """
    return bool(job.metadata.deletion_timestamp) or old.spec == job.spec


def change_faults(old: Job, job: Job) -> Iterator[Fault]:
    """Find the faults of a change."""
    for number, task in enumerate(job.spec.tasks):
        yield from _size_faults(task, f"spec.tasks[{number}]")
        yield from partition_faults(task, f"spec.tasks[{number}]", job.metadata.name)
    yield from plugin_name_faults(job)
    yield from size_faults(job.spec.tasks)
    yield from _gang_faults(job.spec)
    yield from topology_faults(job.spec.network_topology, "spec.networkTopology")
    if len(old.spec.tasks) != len(job.spec.tasks):
        yield Fault(
            field="spec.tasks",
            value=f"{len(job.spec.tasks)} tasks",
            expected=f"{len(old.spec.tasks)} tasks",
            rule="job updates may not add or remove tasks",
        )
        return
    may_move = not old.status.running
    changed = list(differences(_fixed(old.spec, may_move=may_move), _fixed(job.spec, may_move=may_move), "spec"))
    if changed:
        yield Fault(
            field=changed[0],
            value=f"changes of {', '.join(changed[:_MOST_NAMED])}{', …' if len(changed) > _MOST_NAMED else ''}",
            expected="minAvailable, priorityClassName, ttlSecondsAfterFinished, tasks[*].replicas, "
            "tasks[*].minAvailable and, while no pod of the Job runs, queue to change alone",
            rule="job updates may not change fields other than `minAvailable`, `tasks[*].replicas under spec` "
            "and `PriorityClassName`",
        )


def plugin_name_faults(job: Job) -> Iterator[Fault]:
    """Find names that plugins cannot use. With more replicas, the last pod's name is longer."""
    for fault in name_faults(job, plugins_of(job)):
        yield Fault(field=fault.path, value=fault.value, expected=fault.expected, rule=fault.message)


def _size_faults(task: TaskSpec, field: str) -> Iterator[Fault]:
    if task.replicas < 0:
        yield Fault(
            field=f"{field}.replicas",
            value=task.replicas,
            expected="at least 0",
            rule=f"'replicas' must be >= 0 in task: {task.name}",
        )
    minimum = task.min_available
    if minimum is None:
        return
    if minimum < 0:
        yield Fault(
            field=f"{field}.minAvailable",
            value=minimum,
            expected="at least 0",
            rule=f"'minAvailable' must be >= 0 in task: {task.name}",
        )
    elif minimum > task.replicas:
        yield Fault(
            field=f"{field}.minAvailable",
            value=minimum,
            expected=f"at most {task.replicas}, its replicas",
            rule=f"'minAvailable' must be <= 'replicas' in task: {task.name}",
        )


def _gang_faults(spec: JobSpec) -> Iterator[Fault]:
    total = sum(task.replicas for task in spec.tasks)
    if spec.min_available > total:
        yield Fault(
            field="spec.minAvailable",
            value=spec.min_available,
            expected=f"at most {total}, the sum of all replicas",
            rule="job 'minAvailable' must not be greater than total replicas",
        )
    elif spec.min_available < 0:
        yield Fault(
            field="spec.minAvailable",
            value=spec.min_available,
            expected="at least 0",
            rule="job 'minAvailable' must be >= 0",
        )


def _fixed(spec: JobSpec, *, may_move: bool) -> dict[str, Any]:
    """Return the immutable fields of a spec, as JSON; the queue is one of them if the Job may not move.

    The controller sets the names of the claims that it creates.
    """
    plain: dict[str, Any] = msgspec.to_builtins(spec)
    for name in ("minAvailable", "priorityClassName", "ttlSecondsAfterFinished", *(("queue",) if may_move else ())):
        plain.pop(name, None)
    for task in plain.get("tasks", ()):
        for name in ("replicas", "minAvailable"):
            task.pop(name, None)
    for volume in plain.get("volumes", ()):
        if volume.get("volumeClaim") is not None:
            volume.pop("volumeClaimName", None)
    return plain
