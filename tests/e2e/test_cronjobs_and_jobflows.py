"""CronJobs and JobFlows whose Jobs really run: controllers, scheduler and hollow nodes on one server."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from pyroclast.model.wire.times import unix_seconds
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

OURS = "--controllers=job-controller,cronjob-controller,jobflow-controller,jobtemplate-controller"


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs, with controllers at work."""
    folder = tmp_path_factory.mktemp("flows")
    with (
        standing_on(cluster_with_crds, "flows", folder=folder) as ground,
        controllers(cluster_with_crds, folder, OURS, "--scheduler-name=flows"),
    ):
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    with ground.daemon(ground.folder) as daemon:
        yield daemon


def job_spec(ground: Ground, *tasks: str, plugins: dict[str, list[str]] | None = None) -> dict[str, Any]:
    """Describe a Job whose pods run for a fifth of a second."""
    template = {
        "metadata": {"annotations": {"emulator.pyroclast.io/duration": "0.2"}},
        "spec": {"containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}]},
    }
    return {
        "schedulerName": ground.name,
        "queue": ground.name,
        "minAvailable": len(tasks),
        "tasks": [{"name": task, "replicas": 1, "template": template} for task in tasks],
        "plugins": plugins or {},
    }


def apply(ground: Ground, group: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    """Apply an object as a user does."""
    body = {"apiVersion": f"{group}.volcano.sh/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}
    ground.cluster.kubectl("-n", ground.name, "apply", "-f", "-", input=json.dumps(body))


def read(ground: Ground, *what: str) -> Any:
    """Read an object as JSON."""
    return json.loads(ground.kubectl("get", *what, "-o", "json"))


def test_a_cron_job_runs_to_completion(ground: Ground, daemon: Daemon) -> None:
    """Its Job is created at the time, runs, and is in the status when it has ended."""
    spec = {"schedule": "@every 1s", "jobTemplate": {"spec": job_spec(ground, "t")}}
    apply(ground, "batch", "CronJob", "tick", spec)

    daemon.wait_for(lambda: "lastSuccessfulTime" in read(ground, "cronvcjob", "tick").get("status", {}))
    ground.kubectl("patch", "cronvcjob", "tick", "--type=merge", "-p", '{"spec":{"suspend":true}}')

    (name, *_) = [job["metadata"]["name"] for job in read(ground, "vcjob")["items"]]
    assert name.startswith("tick-")
    status = read(ground, "cronvcjob", "tick")["status"]
    assert int(name.removeprefix("tick-")) * 60 <= unix_seconds(status["lastScheduleTime"])
    daemon.wait_for(lambda: read(ground, "vcjob", name)["status"]["state"]["phase"] == "Completed")
    daemon.wait_for(lambda: "SuccessfulCreate" in [reason for reason, _ in ground.events_of("tick")])
    ground.kubectl("delete", "cronvcjob", "tick")
    ground.kubectl("delete", "vcjob", "--all", "--wait=false")


def test_a_flow_runs_to_completion(ground: Ground, daemon: Daemon) -> None:
    """The second Job begins when the first has completed; pods know each other by the plugins."""
    pytorch = job_spec(ground, "master", "worker", plugins={"pytorch": [], "svc": [], "ssh": [], "env": []})
    apply(ground, "flow", "JobTemplate", "first", job_spec(ground, "t"))
    apply(ground, "flow", "JobTemplate", "second", pytorch)
    flows = [{"name": "first"}, {"name": "second", "dependsOn": {"targets": ["first"]}}]
    apply(ground, "flow", "JobFlow", "both", {"flows": flows, "jobRetainPolicy": "retain"})

    daemon.wait_for(lambda: ground.kubectl("get", "jf", "both", "--no-headers").split()[1] == "Succeed")

    daemon.wait_for(lambda: read(ground, "jt", "second").get("status") == {"jobDependsOnList": ["both-second"]})
    status = read(ground, "jobflow", "both")["status"]
    assert status["completedJobs"] == ["both-first", "both-second"]
    begun = {each["name"]: each["startTimestamp"] for each in status["jobStatusList"]}
    assert begun["both-first"] <= begun["both-second"]
    worker = read(ground, "pod", "both-second-worker-0")
    variables = {each["name"]: each.get("value") for each in worker["spec"]["containers"][0]["env"]}
    assert (variables["MASTER_ADDR"], variables["RANK"]) == ("both-second-master-0.both-second", "1")
    assert variables["VC_TASK_INDEX"] == "0"
    assert worker["spec"]["hostname"] == "both-second-worker-0"
    ground.kubectl("delete", "jobflow", "both")
    ground.kubectl("delete", "vcjob", "--all", "--wait=false")
