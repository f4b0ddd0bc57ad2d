"""CronJobs and JobFlows whose Jobs really run: controllers, scheduler and hollow nodes on one server."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import controllers.cronjobs.reconciler
import controllers.jobflows.reconciler
import controllers.jobs.reconciler
from controllers.operating.operator import Operator
from controllers.operating.options import ControllerOptions
from kube.client import Client
from kube.configuration import ClusterOptions, connect
from model.wire.times import unix_seconds
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on

BUILDERS = (
    controllers.jobs.reconciler.build,
    controllers.cronjobs.reconciler.build,
    controllers.jobflows.reconciler.build,
)


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs, with controllers at work."""
    with standing_on(cluster_with_crds, "flows", folder=tmp_path_factory.mktemp("flows")) as ground, operating(ground):
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    with ground.daemon(ground.folder) as daemon:
        yield daemon


@contextmanager
def operating(ground: Ground) -> Iterator[None]:
    """Run the controllers on a loop of their own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    work = asyncio.run_coroutine_threadsafe(operate(ground), loop)
    try:
        yield
    finally:
        work.cancel()
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0.1), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def operate(ground: Ground) -> None:
    """Be the controllers of a ground."""
    cluster = await connect(ClusterOptions(kubeconfig=str(ground.cluster.kubeconfig)))
    async with Client(cluster, component="controllers") as client:
        operator = Operator(client, component="controllers")
        for build in BUILDERS:
            build(operator, ControllerOptions(scheduler_names=(ground.name,)))
        await operator.run()


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
    """Its Job is made when the time comes, runs, and is told in the status when it has ended."""
    spec = {"schedule": "@every 1s", "jobTemplate": {"spec": job_spec(ground, "t")}}
    apply(ground, "batch", "CronJob", "tick", spec)

    daemon.wait_for(lambda: "lastSuccessfulTime" in read(ground, "cronvcjob", "tick").get("status", {}))
    ground.kubectl("patch", "cronvcjob", "tick", "--type=merge", "-p", '{"spec":{"suspend":true}}')

    (name, *_) = [job["metadata"]["name"] for job in read(ground, "vcjob")["items"]]
    assert name.startswith("tick-")
    status = read(ground, "cronvcjob", "tick")["status"]
    assert int(name.removeprefix("tick-")) * 60 <= unix_seconds(status["lastScheduleTime"])
    assert read(ground, "vcjob", name)["status"]["state"]["phase"] == "Completed"
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
