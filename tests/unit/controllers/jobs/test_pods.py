from typing import Any

import msgspec

from pyroclast.controllers.jobs.pods import build_pod
from pyroclast.model.api.batch import Job, JobStatus

METADATA = {"name": "test-job", "namespace": "test", "uid": "e7f18111"}
TEMPLATE = {"spec": {"containers": [{"name": "main", "image": "busybox"}]}}


def job(metadata: dict[str, Any] | None = None, task: dict[str, Any] | None = None, **spec: Any) -> Job:
    """Make a job of one task."""
    whole = {"name": "test-task", "replicas": 6, "template": TEMPLATE, **(task or {})}
    return msgspec.convert(
        {"metadata": {**METADATA, **(metadata or {})}, "spec": {"tasks": [whole], **spec}, "status": {"version": 1}},
        Job,
    )


def built(of: Job, index: int = 0) -> dict[str, Any]:
    """Make a pod of the only task."""
    return build_pod(of, of.spec.tasks[0], index)


def test_a_pod_carries_its_job() -> None:
    """Name, owner, scheduler, version, group: by them the scheduler and the controller find it."""
    pod = built(job())
    metadata = pod["metadata"]

    assert (metadata["name"], metadata["namespace"]) == ("test-job-test-task-0", "test")
    assert pod["spec"]["schedulerName"] == "volcano"
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "name": "test-job",
            "uid": "e7f18111",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def test_all_annotations_and_labels() -> None:
    """What every pod of a job carries, and nothing else."""
    metadata = built(job(), 2)["metadata"]

    assert metadata["annotations"] == {
        "volcano.sh/task-index": "2",
        "volcano.sh/task-spec": "test-task",
        "scheduling.k8s.io/group-name": "test-job-e7f18111",
        "volcano.sh/job-name": "test-job",
        "volcano.sh/queue-name": "default",
        "volcano.sh/job-version": "1",
        "volcano.sh/template-uid": "test-job-test-task",
        "volcano.sh/job-retry-count": "0",
    }
    assert metadata["labels"] == {
        "volcano.sh/task-index": "2",
        "volcano.sh/job-name": "test-job",
        "volcano.sh/task-spec": "test-task",
        "volcano.sh/job-namespace": "test",
        "volcano.sh/queue-name": "default",
    }


def test_the_template_stays_as_it_is() -> None:
    """Creating a pod does not write into the job, and keeps unknown fields."""
    of = job(task={"template": {"metadata": {"labels": {"app": "x"}}, "spec": {"novel": [1], "containers": []}}})
    before = msgspec.to_builtins(of)

    pod = built(of)

    assert pod["spec"]["novel"] == [1]
    assert pod["metadata"]["labels"]["app"] == "x"
    assert msgspec.to_builtins(of) == before


def test_the_template_comes_before_the_job() -> None:
    """Scheduler and priority class of the template hold; the job fills what it leaves open."""
    spec = {"schedulerName": "own", "priorityClassName": "high", "containers": []}
    of = job(task={"template": {"spec": spec}}, schedulerName="second", priorityClassName="low")
    plain = job(schedulerName="second", priorityClassName="low")

    assert (built(of)["spec"]["schedulerName"], built(of)["spec"]["priorityClassName"]) == ("own", "high")
    assert (built(plain)["spec"]["schedulerName"], built(plain)["spec"]["priorityClassName"]) == ("second", "low")


def test_annotations_of_the_job_that_pods_take() -> None:
    """Preemption, cool-down, revocable zone and budget pass on; of two budgets the first."""
    passed = {
        "volcano.sh/preemptable": "true",
        "volcano.sh/cooldown-time": "10m",
        "volcano.sh/revocable-zone": "*",
        "volcano.sh/jdb-min-available": "2",
    }
    of = job({"annotations": {**passed, "volcano.sh/jdb-max-unavailable": "1", "other": "x"}})

    annotations = built(of)["metadata"]["annotations"]

    assert passed.items() <= annotations.items()
    assert "other" not in annotations
    assert "volcano.sh/jdb-max-unavailable" not in annotations


def test_the_other_budget_passes_on_alone() -> None:
    """A job with a limit of unavailable pods gives it to them."""
    annotations = built(job({"annotations": {"volcano.sh/jdb-max-unavailable": "1"}}))["metadata"]["annotations"]

    assert annotations["volcano.sh/jdb-max-unavailable"] == "1"


def test_labels_of_the_job_that_pods_take() -> None:
    """Preemption and cool-down pass on as labels, other labels do not."""
    labels = built(job({"labels": {"volcano.sh/preemptable": "false", "team": "x"}}))["metadata"]["labels"]

    assert labels["volcano.sh/preemptable"] == "false"
    assert "team" not in labels


def test_forwarding_is_an_annotation_and_a_label() -> None:
    """A job of a queue that extends to other clusters has pods that may go there."""
    metadata = built(job({"annotations": {"volcano.sh/job-forwarding": "true"}}))["metadata"]

    assert metadata["annotations"]["volcano.sh/job-forwarding"] == "true"
    assert metadata["labels"]["volcano.sh/job-forwarding"] == "true"


def test_numa_policy_of_the_task() -> None:
    """The task's alignment becomes the pod's annotation."""
    annotations = built(job(task={"topologyPolicy": "single-numa-node"}))["metadata"]["annotations"]

    assert annotations["volcano.sh/numa-topology-policy"] == "single-numa-node"


def test_partitions_count_by_their_size() -> None:
    """Index 5 of partitions of four is in number 1; a size of 0 makes one partition."""
    four = job(task={"partitionPolicy": {"totalPartitions": 2, "partitionSize": 4}})
    none = job(task={"partitionPolicy": {"totalPartitions": 2, "partitionSize": 0}})

    assert built(four, 5)["metadata"]["labels"]["volcano.sh/partition-id"] == "1"
    assert built(none, 5)["metadata"]["labels"]["volcano.sh/partition-id"] == "0"


def test_a_nameless_task_is_called_default() -> None:
    """Its key is `default`, its pods' names keep the gap."""
    metadata = built(job(task={"name": ""}))["metadata"]

    assert metadata["name"] == "test-job--0"
    assert metadata["annotations"]["volcano.sh/task-spec"] == "default"


def test_volumes_are_mounted_once_a_claim() -> None:
    """Regular containers mount each claim; a second entry of a claim is ignored, init containers get none."""
    spec = {"initContainers": [{"name": "init"}], "containers": [{"name": "a"}, {"name": "b"}]}
    volumes = [
        {"mountPath": "/data", "volumeClaimName": "data"},
        {"mountPath": "/again", "volumeClaimName": "data"},
        {"mountPath": "/logs", "volumeClaimName": "logs"},
    ]
    made = built(job(task={"template": {"spec": spec}}, volumes=volumes))["spec"]

    assert [volume["persistentVolumeClaim"] for volume in made["volumes"]] == [
        {"claimName": "data"},
        {"claimName": "logs"},
    ]
    for container in made["containers"]:
        assert [mount["mountPath"] for mount in container["volumeMounts"]] == ["/data", "/logs"]
    assert "volumeMounts" not in made["initContainers"][0]


def test_a_pod_made_again_is_the_same() -> None:
    """Names of volumes follow from job and claim, so that a repeated creation asks for the same pod."""
    of = job(volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])

    assert built(of, 3) == built(of, 3)
    (volume,) = built(of)["spec"]["volumes"]
    assert volume["name"].startswith("test-job-")
    assert len(volume["name"]) == len("test-job-") + 12


def test_volume_names_are_labels_also_of_long_jobs() -> None:
    """A job's name may be longer than a volume's may be, and have dots."""
    of = job({"name": f"a.{'b' * 60}"}, volumes=[{"mountPath": "/data", "volumeClaimName": "data"}])

    (volume,) = built(of)["spec"]["volumes"]

    assert len(volume["name"]) == 63
    assert "." not in volume["name"]


def test_retries_are_reported() -> None:
    """The count of restarts at the pod's making stands on it."""
    of = msgspec.structs.replace(job(), status=JobStatus(version=4, retry_count=2))

    annotations = built(of)["metadata"]["annotations"]

    assert (annotations["volcano.sh/job-version"], annotations["volcano.sh/job-retry-count"]) == ("4", "2")


def test_a_queue_whose_name_is_too_long_for_a_label() -> None:
    """The label is left out, or no pod could be made; the annotation tells."""
    metadata = built(job(queue="q" * 64))["metadata"]

    assert "volcano.sh/queue-name" not in metadata["labels"]
    assert metadata["annotations"]["volcano.sh/queue-name"] == "q" * 64
