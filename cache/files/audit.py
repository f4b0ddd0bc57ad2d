"""Audit: the differences between two snapshots of one cluster, the running state and a rebuild from its objects."""

from collections.abc import Hashable, Iterator, Mapping

import numpy as np

from pyroclast.model.arrays import IntArray
from pyroclast.model.gangs import Gang
from pyroclast.model.jobs import NO_QUEUE, Job
from pyroclast.model.nodes import NodeTable
from pyroclast.model.snapshot import Snapshot
from pyroclast.model.tasks import Task

__all__ = ["differences"]

_JOB_BLOCKS = ("allocated", "uncounted", "pending", "total", "gated", "min_resources")
_JOB_NUMBERS = ("pending_best_effort", "has_min_resources", "min_available", "phase_inqueue", "phase_running")
_NODE_BLOCKS = ("used", "releasing", "pipelined", "viewed")


def differences(running: Snapshot, fresh: Snapshot) -> list[str]:
    """Return every difference that could change a decision, as `kind key: running, fresh`.

    Column numbers and rows may differ: one resource space may be larger than the other.
    """
    return [
        *_between("queues", dict(enumerate(running.queue_names)), dict(enumerate(fresh.queue_names))),
        *_between("jobs", _jobs(running), _jobs(fresh)),
        *_between("nodes", _nodes(running), _nodes(fresh)),
        *_between("orphan_pods", _orphan_pods(running), _orphan_pods(fresh)),
        *_between("affinity", _by_id(running.tasks_with_affinity), _by_id(fresh.tasks_with_affinity)),
        *_between("claims", _by_id(running.tasks_with_claims), _by_id(fresh.tasks_with_claims)),
        *_between("lookups", _lookups(running), _lookups(fresh)),
        *_between("quotas", _quota_uses(running), _quota_uses(fresh)),
        *_between("gang groups", _gang_groups(running), _gang_groups(fresh)),
        *_between("gangs", {"broken": running.broken_gangs}, {"broken": fresh.broken_gangs}),
        *_between("reservations", _reservations(running), _reservations(fresh)),
        *_between("departed", _departed(running), _departed(fresh)),
    ]


def _between(kind: str, running: Mapping[Hashable, object], fresh: Mapping[Hashable, object]) -> Iterator[str]:
    for key in sorted(running.keys() | fresh.keys(), key=str):
        one, other = running.get(key), fresh.get(key)
        if one != other:
            yield f"{kind} {key}: {one}, {other}"


def _jobs(snapshot: Snapshot) -> dict[Hashable, object]:
    return {job.id: (_job_fields(job), _job_numbers(snapshot, job)) for job in snapshot.jobs.values()}


def _job_fields(job: Job) -> object:
    """Return the fields of a job, with its tasks in order."""
    return (
        job.uid,
        job.queue,
        job.priority,
        job.min_available,
        dict(job.min_by_role),
        job.phase,
        job.waiting_seconds,
        job.preemptable,
        job.revocable_zone,
        [_task_fields(task) for task in job.tasks.values()],
    )


def _task_fields(task: Task) -> tuple[Hashable, ...]:
    template = task.template
    return (
        task.id,
        task.key,
        task.job,
        task.role,
        task.status.label,
        task.node,
        task.priority,
        task.preemptable,
        task.gated,
        tuple(sorted(template.request.items())),
        template.reservations,
        template.scored_cpu_millis,
        template.scored_memory_bytes,
        task.pod.metadata.resource_version,
        tuple(sorted(task.pod.metadata.annotations.items())),
    )


def _job_numbers(snapshot: Snapshot, job: Job) -> object:
    """Return the queue and the numbers of a job in the job table."""
    table = snapshot.job_table
    number = int(table.queue[job.column])
    queue = None if number == NO_QUEUE else snapshot.queue_names[number]
    counts = [int(count) for count in table.counts[:, job.column]]
    numbers = [int(getattr(table, name)[job.column]) for name in _JOB_NUMBERS]
    blocks = [snapshot.resources.amounts(getattr(table, name)[:, job.column]) for name in _JOB_BLOCKS]
    return (queue, counts, numbers, blocks)


def _nodes(snapshot: Snapshot) -> dict[Hashable, object]:
    table = snapshot.nodes
    return {name: _node(snapshot, table, column) for column, name in enumerate(table.names)}


def _node(snapshot: Snapshot, table: NodeTable, column: int) -> object:
    def amounts(array: IntArray) -> dict[str, int]:
        return snapshot.resources.amounts(array[:, column])

    node = table.facts.nodes[column]
    return (
        [amounts(table.state[getattr(table.rows, block)]) for block in _NODE_BLOCKS],
        np.asarray(table.state[table.rows.scored, column]).tolist(),
        amounts(table.allocatable),
        amounts(table.reported),
        [_task_fields(task) for task in table.tasks[column].values()],
        bool(table.in_shard[column]),
        (node.labels, node.annotations, node.taints, node.unschedulable, node.images, node.revocable_zone),
        None if node.device is None else (node.device.metadata.labels, node.device.spec),
    )


def _orphan_pods(snapshot: Snapshot) -> dict[Hashable, object]:
    return {each.task.id: (each.refusal.reason, each.refusal.message) for each in snapshot.orphan_pods}


def _quota_uses(snapshot: Snapshot) -> dict[Hashable, object]:
    """Return the counted amounts by claim, and the names of the quotas."""
    uses = snapshot.quota_uses
    counted: dict[Hashable, object] = {"known": list(snapshot.elastic_quotas)}
    for column, claim in enumerate(() if uses is None else uses.claims):
        both = (uses.requested, uses.used)  # type: ignore[union-attr]  # there are no claims without them
        counted[claim] = [snapshot.resources.amounts(array[:, column]) for array in both]
    return counted


def _gang_groups(snapshot: Snapshot) -> dict[Hashable, object]:
    return {
        job: (group.id, group.refusal, group.waits, group.is_patient, list(map(_gang_fields, group.gangs)))
        for job, group in snapshot.gangs.items()
    }


def _gang_fields(gang: Gang) -> object:
    return (
        gang.id,
        gang.minimum,
        gang.mode,
        gang.match_policy,
        gang.waiting_seconds,
        [str(note) for note in gang.notes],
    )


def _by_id(tasks: tuple[Task, ...]) -> dict[Hashable, object]:
    return {task.id: task.node for task in tasks}


def _lookups(snapshot: Snapshot) -> dict[Hashable, object]:
    objects = snapshot.objects
    by_field = {name: getattr(objects, name) for name in objects.__dataclass_fields__ if name != "watched"}
    return {
        (name, key): each.metadata.resource_version
        for name, found in {**by_field, **objects.watched}.items()
        for key, each in found.items()
    }


def _departed(snapshot: Snapshot) -> dict[Hashable, object]:
    return {job: departed for job, departed in snapshot.departed.items()}  # noqa: C416  keys of another type


def _reservations(snapshot: Snapshot) -> dict[Hashable, object]:
    """Return what each Reservation keeps, and the tasks that stand for Reservations."""
    kept: dict[Hashable, object] = {
        task: (each.name, each.node, dict(each.amounts), {user: dict(used) for user, used in each.users.items()})
        for task, each in snapshot.reservations.items()
    }
    return {**kept, "names": dict(snapshot.reserve_tasks)}
