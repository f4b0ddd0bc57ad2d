"""The pod group of a Job."""

from typing import Any

import msgspec
import pytest

from pyroclast.controllers.jobs.decision.groups import group_change, group_manifest, minimum_resources, task_minimum
from pyroclast.controllers.jobs.pods import pod_group_name
from pyroclast.kube.api.resources import POD_GROUPS
from pyroclast.model.api.batch import Job, JobStatus
from pyroclast.model.api.names import JOB_QUEUE, POD_QUEUE_NAME
from pyroclast.model.errors import ObjectError


def task(name: str, cpu: str, **more: Any) -> dict[str, Any]:
    """Describe a task of two pods."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], "priorityClassName": more.pop("priority", "")}
    return {"name": name, "replicas": 2, "template": {"spec": spec}, **more}


def job(*tasks: dict[str, Any], **spec: Any) -> Job:
    """Make a Job."""
    metadata = {"name": "train", "namespace": "team", "uid": "u", "annotations": {"a": "1"}, "labels": {"l": "2"}}
    return msgspec.convert({"metadata": metadata, "spec": {"tasks": list(tasks), **spec}}, Job)


def group_of(wanted: Job) -> Any:
    """Make the group as the server would show it."""
    return POD_GROUPS.decoder.convert(group_manifest(wanted, {}))


@pytest.mark.parametrize(
    ("needed", "master", "worker", "cpu", "pods"),
    [
        (2, 1, 2, "100m", "2"),
        (2, 2, 1, "100m", "2"),
        (3, 2, 2, "200m", "3"),
        (3, 1, 1, "200m", "3"),
        (3, 1, 2, "250m", "3"),
        (2, 1, 1, "150m", "2"),
        (3, None, None, "200m", "3"),
    ],
)
def test_minimum_resources(needed: int, master: int | None, worker: int | None, cpu: str, pods: str) -> None:
    """Volcano's table: masters of 50m, workers of 100m, two of each."""
    minimums = [{} if least is None else {"minAvailable": least} for least in (master, worker)]
    wanted = job(task("master", "50m", **minimums[0]), task("worker", "100m", **minimums[1]), minAvailable=needed)
    resources = minimum_resources(wanted, {})
    assert (resources["cpu"], resources["pods"]) == (cpu, pods)
    assert resources["requests.cpu"] == cpu
    assert resources["count/pods"] == pods


def test_tasks_of_higher_priority_count_first() -> None:
    """The value of the priority class decides, a class that is not there counts as 0."""
    tasks = task("master", "50m", priority="gone"), task("worker", "100m", priority="high")
    assert minimum_resources(job(*tasks, minAvailable=2), {"high": 10})["cpu"] == "200m"


def test_manifest() -> None:
    """The group takes name, labels, annotations, queue and priority of its Job, and belongs to it."""
    wanted = job(
        task("master", "1", minAvailable=1),
        task("worker", "1"),
        minAvailable=3,
        queue="q",
        priorityClassName="high",
        networkTopology={"mode": "soft", "highestTierAllowed": 2},
    )
    manifest = group_manifest(wanted, {})
    metadata, spec = manifest["metadata"], manifest["spec"]
    assert metadata["name"] == "train-u" == pod_group_name(wanted)
    assert (metadata["annotations"], metadata["labels"]) == ({"a": "1", JOB_QUEUE: "q"}, {"l": "2"})
    assert metadata["ownerReferences"][0] | {"uid": "u", "controller": True} == metadata["ownerReferences"][0]
    assert spec["minMember"] == 3
    assert spec["minTaskMember"] == {"master": 1, "worker": 2}
    assert (spec["queue"], spec["priorityClassName"]) == ("q", "high")
    assert spec["networkTopology"] == {"mode": "soft", "highestTierAllowed": 2}
    assert spec["subGroupPolicy"] == []


def test_partitions_are_sub_groups() -> None:
    """A task with partitions makes one policy: its pods, by the number of their partition."""
    partitions = {"totalPartitions": 2, "partitionSize": 1, "minPartitions": 1, "networkTopology": {"mode": "hard"}}
    (policy,) = group_manifest(job(task("worker", "1", partitionPolicy=partitions)), {})["spec"]["subGroupPolicy"]
    assert policy == {
        "name": "worker",
        "subGroupSize": 1,
        "minSubGroups": 1,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": "worker"}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
        "networkTopology": {"mode": "hard"},
    }


def test_minimum_of_a_task() -> None:
    """What it says, else its minimal partitions, else all replicas."""
    partitions = {"totalPartitions": 2, "partitionSize": 3, "minPartitions": 1}
    said, parted, plain = job(
        task("a", "1", minAvailable=1, partitionPolicy=partitions),
        task("b", "1", partitionPolicy=partitions),
        task("c", "1"),
    ).spec.tasks
    assert [task_minimum(said), task_minimum(parted), task_minimum(plain)] == [1, 3, 2]


def test_a_group_that_is_right_stays() -> None:
    """What the server shows of a group that was just made needs no change."""
    partitions = {"totalPartitions": 2, "partitionSize": 1, "networkTopology": {"mode": "hard"}}
    wanted = job(task("worker", "1000m", partitionPolicy=partitions), minAvailable=2)
    assert group_change(group_of(wanted), wanted, {}) is None


def test_a_group_follows_its_job_when_it_is_scaled() -> None:
    """Minimums and resources follow; a task that is gone leaves no minimum; labels stay."""
    before = job(task("master", "1"), task("worker", "1"), minAvailable=4, queue="q")
    after = job(task("worker", "1", minAvailable=1), minAvailable=1, queue="q", priorityClassName="high")
    change = group_change(group_of(before), after, {})
    assert change is not None
    assert change["spec"]["minMember"] == 1
    assert change["spec"]["minTaskMember"] == {"master": None, "worker": 1}
    assert change["spec"]["priorityClassName"] == "high"
    assert change["spec"]["minResources"]["pods"] == "1"
    assert "queue" not in change["spec"]
    assert "metadata" not in change


def test_a_group_moves_with_its_job_while_no_pod_runs() -> None:
    """Once: the group notes the queue that was applied. The queue of the namespace replaces the default queue."""
    before, after = job(task("worker", "1"), queue="q"), job(task("worker", "1"), queue="other")
    by_default = job(task("worker", "1"), queue="default")

    change = group_change(group_of(before), after, {})
    in_namespace = group_change(group_of(before), by_default, {}, {POD_QUEUE_NAME: "team"})

    assert change == {"spec": {"queue": "other"}, "metadata": {"annotations": {JOB_QUEUE: "other"}}}
    assert in_namespace is not None
    assert in_namespace["spec"] == {"queue": "team"}
    assert group_change(group_of(after), after, {}) is None


def test_a_job_with_running_pods_stays_in_its_queue() -> None:
    """Its pods use the capacity of that queue."""
    after = msgspec.structs.replace(job(task("worker", "1"), queue="other"), status=JobStatus(running=1))

    assert group_change(group_of(job(task("worker", "1"), queue="q")), after, {}) is None


@pytest.mark.parametrize("annotations", [{}, {JOB_QUEUE: "q"}])
def test_a_queue_that_others_set_on_the_group_stays(annotations: dict[str, str]) -> None:
    """Until the Job names another queue. The applied queue of groups that Volcano created is unknown."""
    wanted = job(task("worker", "1"), queue="q")
    group = POD_GROUPS.decoder.convert(group_manifest(wanted, {}))
    metadata = msgspec.structs.replace(group.metadata, annotations=annotations)
    group = msgspec.structs.replace(
        group, metadata=metadata, spec=msgspec.structs.replace(group.spec, queue="injected")
    )

    assert group_change(group, wanted, {}) is None


def test_unreadable_amounts_are_reported() -> None:
    """A template with a broken quantity has no minimum."""
    with pytest.raises(ObjectError):
        minimum_resources(job(task("worker", "a lot"), minAvailable=1), {})
