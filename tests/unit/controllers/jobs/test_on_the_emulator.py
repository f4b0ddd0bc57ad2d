"""The Job controller against an API server: reflectors, requests and schemas are real."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.controllers.jobs.reconciler import build
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client, MediaType
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import COMMANDS, JOBS, POD_GROUPS, QUEUES
from pyroclast.scheduler.data import custom_resource_definitions
from tests.unit.controllers.jobs.world import policy, task
from tests.unit.kube.world import World

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PODS = "/api/v1/namespaces/default/pods"


class Cluster(World):
    """A server with a Job controller, and what else a Job needs, played by the test."""

    async def begin(self) -> None:
        """Install the kinds and a queue, and start the controller."""
        for definition in custom_resource_definitions():
            await self.post(DEFINITIONS, definition)
        await self.post(
            QUEUES.collection(), {"apiVersion": QUEUES.api_version, "kind": "Queue", "metadata": {"name": "default"}}
        )
        operator = Operator(self.client, component="tests")
        build(operator, ControllerOptions())
        self.start(operator.run())

    async def job(self, *tasks: Any, **spec: Any) -> None:
        """Create a Job."""
        metadata = {"name": "job", "namespace": "default"}
        body = {"apiVersion": JOBS.api_version, "kind": "Job", "metadata": metadata}
        await self.post(JOBS.collection("default"), {**body, "spec": {"tasks": tasks or [task()], **spec}})

    async def until(self, phase: str) -> Any:
        """Wait for a phase, meanwhile letting gangs in."""
        async with asyncio.timeout(30):
            while True:
                for group in (await self.get(POD_GROUPS.collection("default")))["items"]:
                    if not group.get("status", {}).get("phase"):
                        name = group["metadata"]["name"]
                        await self.patch(POD_GROUPS.path("default", name), {"status": {"phase": "Inqueue"}})
                job = await self.get(JOBS.path("default", "job"))
                if job.get("status", {}).get("state", {}).get("phase") == phase:
                    return job
                await asyncio.sleep(0.02)

    async def pods(self, number: int) -> list[Any]:
        """Wait for as many pods."""
        async with asyncio.timeout(30):
            while True:
                pods = (await self.get(PODS))["items"]
                if len(pods) == number:
                    return list(pods)
                await self.until((await self.get(JOBS.path("default", "job")))["status"]["state"]["phase"])

    async def all_are(self, phase: str) -> None:
        """Have all pods in a phase."""
        for pod in (await self.get(PODS))["items"]:
            path = f"{PODS}/{pod['metadata']['name']}/status"
            await self.client.request_json(
                "PATCH", path, body={"status": {"phase": phase}}, media_type=MediaType.MERGE_PATCH
            )

    async def get(self, path: str) -> Any:
        """Read something."""
        return await self.client.request_json("GET", path)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Cluster]:
    """A server with the controller at work."""
    async with Emulator(port=0) as emulator:
        reached = await connect(ClusterOptions(kubeconfig=str(emulator.kubeconfig(tmp_path / "kubeconfig"))))
        async with Client(reached, component="tests", timeout=10.0) as client:
            made = Cluster(emulator, client)
            await made.begin()
            yield made
            await made.stop()


async def test_from_creation_to_completion(cluster: Cluster) -> None:
    """With volumes and plugins, through all phases; the status is what the server's schema lets through."""
    volumes = [{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}]
    await cluster.job(plugins={"svc": [], "ssh": [], "env": []}, volumes=volumes)
    await cluster.until("Pending")
    pods = await cluster.pods(2)
    assert {pod["metadata"]["name"] for pod in pods} == {"job-worker-0", "job-worker-1"}
    assert await cluster.get("/api/v1/namespaces/default/secrets/job-ssh")
    await cluster.all_are("Running")
    job = await cluster.until("Running")
    assert job["status"]["controlledResources"]["pods-worker"] == "0-1"
    assert job["status"]["controlledResources"]["plugin-ssh"] == "ssh"
    await cluster.all_are("Succeeded")
    job = await cluster.until("Completed")
    assert [one["status"] for one in job["status"]["conditions"]] == ["Pending", "Running", "Completed"]
    assert job["status"]["taskStatusCount"] == {"worker": {"phase": {"Succeeded": 2}}}


async def test_a_restart_and_an_abort(cluster: Cluster) -> None:
    """A failed pod restarts the Job, a Command aborts it."""
    await cluster.job(policies=[policy("RestartJob", "PodFailed")])
    await cluster.until("Pending")
    first = {pod["metadata"]["uid"] for pod in await cluster.pods(2)}
    await cluster.all_are("Failed")
    async with asyncio.timeout(30):
        while True:
            await cluster.until("Pending")
            second = {pod["metadata"]["uid"] for pod in (await cluster.get(PODS))["items"]}
            if len(second) == 2 and not first & second:
                break
    job = await cluster.get(JOBS.path("default", "job"))
    assert (job["status"]["retryCount"], job["status"]["version"]) == (1, 1)
    target = {"apiVersion": JOBS.api_version, "kind": "Job", "name": "job", "uid": job["metadata"]["uid"]}
    command = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": {"name": "stop"}, "target": target}
    await cluster.post(COMMANDS.collection("default"), {**command, "action": "AbortJob"})
    await cluster.until("Aborted")
    async with asyncio.timeout(30):
        while (await cluster.get(COMMANDS.collection("default")))["items"]:  # noqa: ASYNC110  a server tells nobody
            await asyncio.sleep(0.02)
