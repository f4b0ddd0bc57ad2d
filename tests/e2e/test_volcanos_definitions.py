"""A cluster that Volcano leaves behind: its definitions stay, and so does what it stored in the midst of work.

Definitions are those of `listed_definitions`. Objects are as its scheduler and controllers write them: with statuses,
labels, annotations and owners.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from pyroclast.emulator.hollow.kubelets import DURATION
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import emulated, real
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import GROUP_API, Ground, standing_on
from tests.e2e.listeddefinitions import listed_definitions

NAME = "inherited"
JOB_API = f"/apis/batch.volcano.sh/v1alpha1/namespaces/{NAME}/jobs"
PODS = f"/api/v1/namespaces/{NAME}/pods"
GROUPS = f"{GROUP_API}/namespaces/{NAME}/podgroups"
LONG_AGO = "2026-01-01T00:00:00Z"

Object = dict[str, Any]


@pytest.fixture(scope="module", params=["emulator", pytest.param("realserver", marks=pytest.mark.realserver)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of this file's own, with Volcano's definitions and no others."""
    kind: str = request.param
    folder = tmp_path_factory.mktemp(f"{NAME}-{kind}")
    with emulated(folder) if kind == "emulator" else real(folder, request.getfixturevalue("assets")) as running:
        definitions = yaml.safe_dump_all(listed_definitions())
        running.apply(definitions)
        running.kubectl("wait", "--for=condition=Established", "--timeout=60s", "-f", "-", input=definitions)
        yield running


@pytest.fixture(scope="module")
def ground(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes of eight CPUs, and the queue with the status that Volcano gave it."""
    with standing_on(cluster, NAME, folder=tmp_path_factory.mktemp(NAME), nodes=2) as ground:
        status = {"state": "Open", "running": 1, "allocated": {"cpu": "2", "memory": "0"}, "reservation": {}}
        merge_status(ground, f"{GROUP_API}/queues/{NAME}", status)
        yield ground


@pytest.fixture(scope="module")
def midway(ground: Ground) -> str:
    """A Job that runs before anything of ours does."""
    running_job(ground, "midway")
    return "midway"


@pytest.fixture(scope="module")
def daemon(ground: Ground, midway: str) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    with ground.daemon(ground.folder) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def controlling(ground: Ground, midway: str) -> Iterator[Controllers]:
    """All controllers, for all tests of this file."""
    with controllers(ground.cluster, ground.folder, f"--scheduler-name={NAME}") as running:
        yield running


def merge_status(ground: Ground, path: str, status: Object) -> None:
    """Write a status, where the definition has it apart."""
    answer = ground.client.send("PATCH", f"{path}/status", {"status": status}, as_type="application/merge-patch+json")
    assert answer.code == 200, answer.body


def pod_spec(**more: Any) -> Object:
    """Describe a pod of one CPU."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    return {
        "schedulerName": NAME,
        "restartPolicy": "OnFailure",
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **more,
    }


def job(name: str, **annotations: str) -> Object:
    """Describe a Job of two pods, as Volcano's webhooks complete it."""
    template = {"metadata": {"annotations": annotations}, "spec": pod_spec()}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "schedulerName": NAME,
            "queue": NAME,
            "minAvailable": 2,
            "maxRetry": 3,
            "plugins": {"env": [], "svc": ["--publish-not-ready-addresses=false", "--disable-network-policy=false"]},
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [{"name": "worker", "replicas": 2, "minAvailable": 2, "maxRetry": 3, "template": template}],
        },
    }


def running_job(ground: Ground, name: str) -> None:
    """Store a Job that Volcano's controllers brought to run: status, group, and bound pods."""
    stored = ground.create(JOB_API, job(name))
    uid = stored["metadata"]["uid"]
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": name, "uid": uid}
    owners = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    group = f"{name}-{uid}"
    ground.create(
        GROUPS,
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": group, "ownerReferences": owners},
            "spec": {
                "minMember": 2,
                "minTaskMember": {"worker": 2},
                "minResources": {"cpu": "2", "count/pods": "2", "pods": "2", "requests.cpu": "2"},
                "queue": NAME,
            },
            "status": {
                "phase": "Running",
                "running": 2,
                "conditions": [
                    {
                        "type": "Scheduled",
                        "status": "True",
                        "reason": "tasks in gang are ready to be scheduled",
                        "transitionID": "3e2b",
                        "lastTransitionTime": LONG_AGO,
                    }
                ],
            },
        },
    )
    marks = {"job-name": name, "job-namespace": NAME, "queue-name": NAME, "task-spec": "worker"}
    for index in range(2):
        shared = {f"volcano.sh/{key}": value for key, value in {**marks, "task-index": str(index)}.items()}
        ground.create(
            PODS,
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-worker-{index}",
                    "ownerReferences": owners,
                    "labels": {**shared, "gang": name},
                    "annotations": {
                        **shared,
                        "scheduling.k8s.io/group-name": group,
                        "volcano.sh/job-version": "0",
                        "volcano.sh/template-uid": f"{name}-worker",
                    },
                },
                "spec": pod_spec(nodeName=f"{NAME}-{index}"),
            },
        )
    state = {"phase": "Running", "lastTransitionTime": LONG_AGO}
    merge_status(
        ground,
        f"{JOB_API}/{name}",
        {
            "state": state,
            "conditions": [{"status": "Pending", "lastTransitionTime": LONG_AGO}, {**state, "status": "Running"}],
            "minAvailable": 2,
            "running": 2,
            "taskStatusCount": {"worker": {"phase": {"Running": 2}}},
            "controlledResources": {"plugin-env": "env", "plugin-svc": "svc"},
            "runningDuration": "90s",
        },
    )


def state_of(ground: Ground, name: str) -> str:
    """Return the phase of a Job."""
    phase: str = ground.client.send("GET", f"{JOB_API}/{name}").body.get("status", {}).get("state", {}).get("phase", "")
    return phase


def test_a_job_that_ran_under_volcano_ends_well(ground: Ground, daemon: Daemon, controlling: Controllers) -> None:
    """Its pods are left to run, none is made anew or bound again, and it is completed when they end."""
    uids = {pod["metadata"]["uid"] for pod in ground.pods("midway")}
    looked = 'pyroclast_reconciles_total{name="job",result="done"}'
    controlling.wait_for(lambda: looked in controlling.metrics())
    controlling.wait_for(lambda: ground.phases_of("midway") == ["Running"] * 2)
    ground.succeed("midway")

    controlling.wait_for(lambda: state_of(ground, "midway") == "Completed")
    assert {pod["metadata"]["uid"] for pod in ground.pods("midway")} == uids
    status = ground.client.send("GET", f"{JOB_API}/midway").body["status"]
    assert (status["succeeded"], status.get("retryCount", 0)) == (2, 0)
    assert daemon.get_json("/debug/audit") == {"differences": []}


def test_gangs_and_jobs_run_to_their_end_on_its_definitions(
    ground: Ground, daemon: Daemon, controlling: Controllers
) -> None:
    """What is written fits their schemas: nothing that we rely on is dropped, and nothing is written for ever."""
    ground.group("pending", 3, minResources={"cpu": "3"})
    for number in range(3):
        ground.pod(f"pending-{number}", group="pending")
    ground.create(JOB_API, job("fresh", **{DURATION: "1s"}))

    daemon.wait_for(lambda: ground.phases_of("pending") == ["Running"] * 3)
    daemon.wait_for(lambda: ground.phase_of("pending") == "Running")
    controlling.wait_for(lambda: state_of(ground, "fresh") == "Completed")
    daemon.wait_for(lambda: allocated(ground) == "3")
    queue = ground.client.send("GET", f"{GROUP_API}/queues/{NAME}").body
    assert queue["status"]["state"] == "Open"
    daemon.wait_for(lambda: is_at_rest(ground, daemon))


def is_at_rest(ground: Ground, daemon: Daemon) -> bool:
    """Return whether no object is written for twenty cycles."""
    before = versions_of(ground)
    daemon.wait_cycles(20)
    return versions_of(ground) == before


def allocated(ground: Ground) -> str:
    """Return the CPUs that the queue says it holds."""
    cpus: str = (
        ground.client.send("GET", f"{GROUP_API}/queues/{NAME}").body["status"].get("allocated", {}).get("cpu", "")
    )
    return cpus


def versions_of(ground: Ground) -> dict[str, str]:
    """Return the versions of all objects that the processes here may write."""
    paths = (GROUPS, JOB_API, PODS, f"{GROUP_API}/queues")
    return {
        f"{path}/{each['metadata']['name']}": each["metadata"]["resourceVersion"]
        for path in paths
        for each in ground.items(path)
    }
