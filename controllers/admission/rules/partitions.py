"""Partitions of a task: their sizes match the numbers of the task."""

from collections.abc import Iterator

from pyroclast.controllers.admission.faults import Fault
from pyroclast.controllers.admission.rules.topology import topology_faults
from pyroclast.model.api.batch import PartitionPolicySpec, TaskSpec

__all__ = ["partition_faults"]


def partition_faults(task: TaskSpec, field: str, job: str) -> Iterator[Fault]:
    """Find the faults of the partitions of a task.

    Args:
        task: The task.
        field: Path of the object.
        job: Name of its Job, for the message.
    """
    policy = task.partition_policy
    if policy is not None:
        place = f"{field}.partitionPolicy"
        yield from _size_faults(task, policy, place, f" in task: {task.name}, job: {job}")
        yield from topology_faults(policy.network_topology, f"{place}.networkTopology")


def _size_faults(task: TaskSpec, policy: PartitionPolicySpec, field: str, where: str) -> Iterator[Fault]:
    total, size = policy.total_partitions, policy.partition_size
    if total <= 0:
        yield Fault(
            field=f"{field}.totalPartitions",
            value=total,
            expected="at least 1",
            rule=f"'TotalPartitions' must be greater than 0{where}",
        )
    elif size <= 0:
        yield Fault(
            field=f"{field}.partitionSize",
            value=size,
            expected="at least 1",
            rule=f"'PartitionSize' must be greater than 0{where}",
        )
    elif task.replicas != total * size:
        yield Fault(
            field=f"{field[: field.rindex('.')]}.replicas",
            value=task.replicas,
            expected=f"{total * size}, {total} partitions of {size}",
            rule=f"'Replicas' are not equal to TotalPartitions*PartitionSize{where}",
        )
    elif policy.min_partitions > 0 and task.min_available not in {None, policy.min_partitions * size}:
        yield Fault(
            field=f"{field[: field.rindex('.')]}.minAvailable",
            value=task.min_available,
            expected=f"{policy.min_partitions * size}, {policy.min_partitions} partitions of {size}",
            rule=f"'MinAvailable' is not equal to MinPartitions*PartitionSize{where}",
        )
