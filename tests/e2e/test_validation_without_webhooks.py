"""Without webhooks: what admission would refuse is reported on the object, and a fixed fault is soon forgotten."""

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.ground import GROUP_API, Ground, standing_on

SCHEDULING = "scheduling.volcano.sh/v1beta1"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """A namespace and a queue."""
    with standing_on(cluster_with_crds, "told", folder=tmp_path_factory.mktemp("told")) as ground:
        yield ground


@pytest.fixture(scope="module")
def process(ground: Ground) -> Iterator[Controllers]:
    """The controllers, and no admission."""
    with controllers(ground.cluster, ground.folder, f"--scheduler-name={ground.name}") as process:
        yield process


def apply(ground: Ground, version: str, kind: str, name: str, spec: dict[str, Any], *, namespace: str = "") -> None:
    """Apply an object as a user does."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    body = json.dumps({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec})
    ground.cluster.kubectl("-n", namespace or ground.name, "apply", "-f", "-", input=body)


def job_of(ground: Ground, **pod: Any) -> dict[str, Any]:
    """Describe a Job of one pod."""
    template = {"spec": {"containers": [{"name": "c", "image": "none"}], **pod}}
    return {
        "schedulerName": ground.name,
        "queue": ground.name,
        "minAvailable": 1,
        "tasks": [{"name": "t", "replicas": 1, "template": template}],
    }


def admit(ground: Ground, process: Controllers, job: str, namespace: str = "") -> None:
    """Let the gang of a Job in, as a scheduler does."""
    path = f"{GROUP_API}/namespaces/{namespace or ground.name}/podgroups"

    def of_job() -> list[str]:
        names = [group["metadata"]["name"] for group in ground.items(path)]
        return [name for name in names if name.startswith(f"{job}-")]

    process.wait_for(lambda: bool(of_job()))
    change = {"status": {"phase": "Inqueue"}}
    for name in of_job():
        done = ground.client.send("PATCH", f"{path}/{name}", change, as_type="application/merge-patch+json")
        assert done.code == 200, done.body


def pods(ground: Ground, job: str, namespace: str = "") -> list[dict[str, Any]]:
    """The pods of a Job."""
    root = f"/api/v1/namespaces/{namespace or ground.name}/pods"
    return ground.items(f"{root}?labelSelector=volcano.sh%2Fjob-name%3D{job}")


def invalid(ground: Ground, kind: str, name: str) -> str:
    """The condition of an object, as people look it up."""
    path = '{range .status.conditions[?(@.type=="Invalid")]}{.status}: {.message}{end}'
    return ground.kubectl("get", kind, name, "-o", f"jsonpath={path}")


def test_a_queue_that_is_not_in_order_says_so(ground: Ground, process: Controllers) -> None:
    """Where people look: among its events; its place in the tree does not matter."""
    apply(ground, SCHEDULING, "Queue", "told-above", {"parent": "root", "deserved": {"cpu": "2"}})
    apply(ground, SCHEDULING, "Queue", "told-below", {"parent": "told-above", "deserved": {"cpu": "4"}})

    words = "sum of children's deserved (cpu 4) exceeds parent's deserved limit (cpu 2)"
    for name in ("told-above", "told-below"):
        process.wait_for(lambda name=name: words in ground.kubectl("describe", "queue", name))  # type: ignore[misc]


def test_conditions_say_it_where_there_are_some(ground: Ground, process: Controllers) -> None:
    """A pod group until its queue exists, and a HyperNode until its pattern is valid."""
    apply(ground, SCHEDULING, "PodGroup", "early", {"queue": "told-late", "minMember": 1})
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "told-("}}}]
    apply(ground, "topology.volcano.sh/v1alpha1", "HyperNode", "told", {"tier": 1, "members": members})
    process.wait_for(lambda: invalid(ground, "podgroup", "early").startswith("True: spec.queue: unable to find queue"))
    process.wait_for(lambda: "member regexMatch pattern is invalid" in invalid(ground, "hypernode", "told"))

    apply(ground, SCHEDULING, "Queue", "told-late", {"parent": "root"})
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "told-.*"}}}]
    apply(ground, "topology.volcano.sh/v1alpha1", "HyperNode", "told", {"tier": 1, "members": members})
    process.wait_for(lambda: invalid(ground, "podgroup", "early") == "False: ")
    process.wait_for(lambda: invalid(ground, "hypernode", "told") == "False: ")


def test_a_job_begins_when_its_priority_class_is_made(ground: Ground, process: Controllers) -> None:
    """How soon is proven where the clock can be moved: see the work queue's tests."""
    apply(ground, "batch.volcano.sh/v1alpha1", "Job", "ranked", job_of(ground, priorityClassName="told-high"))
    admit(ground, process, "ranked")
    process.wait_for(lambda: "told-high" in ground.kubectl("describe", "vcjob", "ranked"))
    ground.client.create_priority_class("told-high", 7)

    process.wait_for(lambda: len(pods(ground, "ranked")) == 1)


def test_a_namespace_that_ends_is_no_trouble(ground: Ground, process: Controllers) -> None:
    """What a Job cannot make there any more is not warned of."""
    ground.cluster.kubectl("create", "namespace", "told-ending")
    try:
        apply(ground, "batch.volcano.sh/v1alpha1", "Job", "last", job_of(ground), namespace="told-ending")
        admit(ground, process, "last", "told-ending")
        process.wait_for(lambda: len(pods(ground, "last", "told-ending")) == 1)
        (pod,) = pods(ground, "last", "told-ending")
        ground.client.send("DELETE", "/api/v1/namespaces/told-ending")
        path = f"/api/v1/namespaces/told-ending/pods/{pod['metadata']['name']}"
        ground.client.send("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        time.sleep(3.0)
        lines = process.process.log_events()
        loud = [line for line in lines if line["level"] in {"warning", "error"} and "told-ending" in json.dumps(line)]

        assert loud == []
    finally:
        ground.client.send("DELETE", "/apis/batch.volcano.sh/v1alpha1/namespaces/told-ending/jobs/last")
