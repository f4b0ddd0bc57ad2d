"""Gang jobs: the made-up PodGroup of a job whose members are pods of gangs."""

from collections.abc import Iterable, Mapping, Sequence

from pyroclast.model import wire
from pyroclast.model.api.names import POD_QUEUE_NAME
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.gangs import Gang
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task

__all__ = ["by_age", "group_of_gangs", "highest_priority", "ready_counts"]


def by_age(members: Iterable[Task]) -> list[Task]:
    """Return tasks in the order of creation, then of namespace and name."""
    return sorted(members, key=lambda task: (task.pod.metadata.creation_timestamp, task.namespace, task.name, task.id))


def ready_counts(members: Mapping[str, Sequence[Task]]) -> dict[str, int]:
    """Return the number of allocated members by gang."""
    return {gang: sum(task.status in ALLOCATED_STATUSES for task in own) for gang, own in members.items()}


def highest_priority(members: Iterable[Task]) -> int | None:
    """Return the highest priority of the members; None if no pod has a priority."""
    return max((task.pod.spec.priority for task in members if task.pod.spec.priority is not None), default=None)


def group_of_gangs(
    job: JobId, gangs: Sequence[Gang], members: Mapping[str, Sequence[Task]], minimums: Mapping[str, int]
) -> wire.PodGroup:
    """Return the made-up group of a job of gangs. Labels, annotations, queue and class are those of the oldest member.

    Args:
        job: The id of the job, which is the key of the group.
        gangs: All gangs of the gang group.
        members: The members of the job by gang, at least one.
        minimums: The minimum of the job by gang.
    """
    namespace, _, name = job.partition("/")
    oldest = by_age(task for own in members.values() for task in own)[0].pod
    is_running = 0 < sum(ready_counts(members).values()) >= sum(minimums.values())
    return wire.PodGroup(
        metadata=wire.ObjectMeta(
            namespace=namespace,
            name=name,
            creation_timestamp=min((gang.created for gang in gangs if gang.created), default=""),
            labels=oldest.metadata.labels,
            annotations=oldest.metadata.annotations,
        ),
        spec=wire.PodGroupSpec(
            min_member=sum(minimums.values()),
            min_task_member=minimums,
            queue=oldest.metadata.annotations.get(POD_QUEUE_NAME, ""),
            priority_class_name=oldest.spec.priority_class_name,
            network_topology=_topology(gangs),
        ),
        status=wire.PodGroupStatus(phase=PodGroupPhase.RUNNING if is_running else PodGroupPhase.INQUEUE),
    )


def _topology(gangs: Sequence[Gang]) -> wire.NetworkTopologySpec | None:
    """Return the topology of a made-up group. The session knows its layers."""
    gathering = next((gang.gathering for gang in gangs if gang.gathering is not None), None)
    return None if gathering is None else wire.NetworkTopologySpec(mode="hard" if gathering.musts else "soft")
