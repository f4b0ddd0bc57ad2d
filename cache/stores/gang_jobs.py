"""Gang jobs: the PodGroup that the members of gangs would have, and what is shown of their gangs."""

from collections.abc import Iterable, Mapping, Sequence

from pyroclast.model import wire
from pyroclast.model.api.names import POD_QUEUE_NAME
from pyroclast.model.api.scheduling import PodGroupPhase
from pyroclast.model.gangs import Gang
from pyroclast.model.ids import JobId
from pyroclast.model.tasks import ALLOCATED_STATUSES, Task

__all__ = ["by_age", "group_of_gangs", "highest_priority", "ready_counts"]


def by_age(members: Iterable[Task]) -> list[Task]:
    """Return tasks first made first, of these by namespace and name."""
    return sorted(members, key=lambda task: (task.pod.metadata.creation_timestamp, task.namespace, task.name, task.id))


def ready_counts(members: Mapping[str, Sequence[Task]]) -> dict[str, int]:
    """Count by gang the members that have a place."""
    return {gang: sum(task.status in ALLOCATED_STATUSES for task in own) for gang, own in members.items()}


def highest_priority(members: Iterable[Task]) -> int | None:
    """Return the priority of the most important member; None where no pod has one."""
    return max((task.pod.spec.priority for task in members if task.pod.spec.priority is not None), default=None)


def group_of_gangs(
    job: JobId, gangs: Sequence[Gang], members: Mapping[str, Sequence[Task]], minimums: Mapping[str, int]
) -> wire.PodGroup:
    """Make up the group of a job of gangs; what pods say for their groups is taken from the oldest member.

    Args:
        job: Its id, which is the group's key.
        gangs: All gangs of the gang group.
        members: Those of the job, by gang; one at least.
        minimums: How many the job needs, by gang.
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
        ),
        status=wire.PodGroupStatus(phase=PodGroupPhase.RUNNING if is_running else PodGroupPhase.INQUEUE),
    )
