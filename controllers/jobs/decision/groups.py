"""The pod group of a Job.

Its minimum resources are those of the pods that must run together, beginning with tasks of the highest priority. If the
minimum of the Job is less than the sum of its tasks' minimums, its first pods count. Otherwise the minimum of each task
counts, and further pods up to the minimum of the Job. Tasks of equal priority stay in the order of the Job.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from pyroclast.controllers.admission.rules.podgroups import queue_of
from pyroclast.controllers.jobs.decision.states import least_of_tasks
from pyroclast.controllers.jobs.patches import difference
from pyroclast.controllers.jobs.pods import pod_group_name, task_key
from pyroclast.controllers.runtime.writer import owner_reference
from pyroclast.kube.api.resources import JOBS, POD_GROUPS
from pyroclast.model.api import names
from pyroclast.model.api.batch import Job, TaskSpec
from pyroclast.model.api.meta import EMPTY
from pyroclast.model.api.scheduling import NetworkTopologySpec, PodGroup
from pyroclast.model.quantity import QuantityError, parse
from pyroclast.model.quota_usage import add_usages, quota_usage, read_pod_spec, usage_text

__all__ = ["group_change", "group_manifest", "minimum_resources", "task_minimum"]

_ADJUSTED: Final = ("priorityClassName", "minMember", "minResources", "minTaskMember", "subGroupPolicy")
"""Fields that are updated after changes of the Job. The other fields are set at creation."""


def group_manifest(
    job: Job, priorities: Mapping[str, int], namespace_annotations: Mapping[str, str] = EMPTY
) -> dict[str, Any]:
    """Return the pod group of a Job.

    Args:
        job: The Job.
        priorities: Values of priority classes by name.
        namespace_annotations: Annotations of the Job's namespace, which may name the queue.

    Raises:
        ObjectError: A template requests amounts that are not quantities.
    """
    spec: dict[str, Any] = {
        **_adjusted(job, priorities),
        "queue": queue_of(job.spec.queue, namespace_annotations),
        **({"networkTopology": _topology(job.spec.network_topology)} if job.spec.network_topology else {}),
    }
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": pod_group_name(job),
            "namespace": job.metadata.namespace,
            "annotations": {**job.metadata.annotations, names.JOB_QUEUE: job.spec.queue},
            "labels": dict(job.metadata.labels),
            "ownerReferences": [owner_reference(JOBS, job.metadata)],
        },
        "spec": spec,
    }


def group_change(
    group: PodGroup, job: Job, priorities: Mapping[str, int], namespace_annotations: Mapping[str, str] = EMPTY
) -> dict[str, Any] | None:
    """Return the merge patch that updates a pod group, None if it is up to date.

    Minimums of removed tasks are removed. The group moves to another queue if the Job names another one than before
    and no pod of it runs. A queue that others set on the group stays until then.

    Raises:
        ObjectError: A template requests amounts that are not quantities.
    """
    desired = _adjusted(job, priorities)
    as_is = msgspec.json.decode(msgspec.json.encode(group.spec))
    seen = {name: as_is.get(name, _empty(desired[name])) for name in _ADJUSTED}
    if _equal_amounts(seen["minResources"], desired["minResources"]):
        seen["minResources"] = desired["minResources"]
    if not job.spec.priority_class_name and not seen["priorityClassName"]:
        seen["priorityClassName"] = desired["priorityClassName"]
    if _normal(seen["subGroupPolicy"]) == _normal(desired["subGroupPolicy"]):
        seen["subGroupPolicy"] = desired["subGroupPolicy"]
    change = difference(seen, desired)
    if _moves(group, job):
        queue = queue_of(job.spec.queue, namespace_annotations)
        return {
            "spec": {**(change or {}), "queue": queue},
            "metadata": {"annotations": {names.JOB_QUEUE: job.spec.queue}},
        }
    return {"spec": change} if change else None


def _moves(group: PodGroup, job: Job) -> bool:
    applied = group.metadata.annotations.get(names.JOB_QUEUE)
    return applied not in {None, job.spec.queue} and not job.status.running


def task_minimum(task: TaskSpec) -> int:
    """Return the number of pods of a task that must run together."""
    if task.min_available is not None:
        return task.min_available
    partitions = task.partition_policy
    if partitions is not None and partitions.min_partitions and partitions.partition_size:
        return partitions.min_partitions * partitions.partition_size
    return task.replicas


def minimum_resources(job: Job, priorities: Mapping[str, int]) -> dict[str, str]:
    """Return the requests of the pods that must run together, as quantities.

    Raises:
        ObjectError: A template requests amounts that are not quantities.
    """
    ranked = sorted(job.spec.tasks, key=lambda task: -_priority(task, priorities))
    counts = _first_pods if job.spec.min_available < least_of_tasks(ranked) else _minimums
    usages = (
        (quota_usage(read_pod_spec(task.template.get("spec") or {})), number)
        for task, number in counts(ranked, job.spec.min_available)
    )
    return usage_text(add_usages(*usages))


def _first_pods(tasks: Sequence[TaskSpec], needed: int) -> Iterator[tuple[TaskSpec, int]]:
    """Return the numbers of pods by task among the first pods of the Job."""
    for task in tasks:
        taken = min(needed, task.replicas)
        needed -= taken
        yield task, taken


def _minimums(tasks: Sequence[TaskSpec], needed: int) -> Iterator[tuple[TaskSpec, int]]:
    """Return the numbers of pods by task: first the minimums, then further pods up to the minimum of the Job."""
    for task in tasks:
        taken = min(needed, task.min_available or 0)
        needed -= taken
        yield task, taken
    for task in tasks:
        taken = min(needed, max(0, task.replicas - (task.min_available or 0)))
        needed -= taken
        yield task, taken


def _priority(task: TaskSpec, priorities: Mapping[str, int]) -> int:
    spec = task.template.get("spec") or {}
    return priorities.get(spec.get("priorityClassName") or "", 0)


def _adjusted(job: Job, priorities: Mapping[str, int]) -> dict[str, Any]:
    return {
        "priorityClassName": job.spec.priority_class_name,
        "minMember": job.spec.min_available,
        "minTaskMember": {task_key(task): task_minimum(task) for task in job.spec.tasks},
        "minResources": minimum_resources(job, priorities),
        "subGroupPolicy": [_sub_group(task) for task in job.spec.tasks if task.partition_policy is not None],
    }


def _sub_group(task: TaskSpec) -> dict[str, Any]:
    """Return the sub-groups for the partitions of a task."""
    policy = task.partition_policy
    assert policy is not None
    return {
        "name": task.name,
        "subGroupSize": policy.partition_size,
        "minSubGroups": policy.min_partitions,
        "labelSelector": {"matchLabels": {names.TASK_SPEC: task_key(task)}},
        "matchLabelKeys": [names.PARTITION_ID],
        **({"networkTopology": _topology(policy.network_topology)} if policy.network_topology else {}),
    }


def _topology(topology: NetworkTopologySpec) -> dict[str, Any]:
    """Return a network topology as JSON. If both tiers are set, the number takes precedence."""
    written: dict[str, Any] = {"mode": topology.mode}
    if topology.highest_tier_allowed is not None:
        written["highestTierAllowed"] = topology.highest_tier_allowed
    elif topology.highest_tier_name:
        written["highestTierName"] = topology.highest_tier_name
    return written


def _empty(like: object) -> object:
    """Return the default of an absent field."""
    return type(like)()


def _normal(policies: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Remove fields with default values."""
    defaults = {"subGroupSize": 1, "minSubGroups": 0}
    return [
        {
            name: {"mode": "hard", **value} if name == "networkTopology" else value
            for name, value in policy.items()
            if defaults.get(name) != value
        }
        for policy in policies
    ]


def _equal_amounts(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two lists of resources are equal as quantities: 1000m equals 1."""
    try:
        return one.keys() == other.keys() and all(parse(one[name]) == parse(other[name]) for name in one)
    except QuantityError:
        return False
