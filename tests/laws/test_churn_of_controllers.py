"""A day of churn for the controllers: after all objects are deleted, nothing of them is left in memory.

Counted are the entries of every container that is reachable from the operator: work queues, reconcilers, stores with
their indexes, expectations, events, and metrics. Nothing is timed, and no memory is measured.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, Final

import prometheus_client
import pytest

from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.errors import ApiError
from pyroclast.kube.api.resources import (
    COMMANDS,
    CRON_JOBS,
    ELASTIC_QUOTA_PROFILES,
    ELASTIC_QUOTAS,
    GANG_POD_GROUPS,
    HYPER_NODES,
    JOB_FLOWS,
    JOB_TEMPLATES,
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    QUEUES,
    RESERVATIONS,
    Resource,
)
from pyroclast.scheduler.controllers.table import CONTROLLERS
from tests.drawing import IS_DEEP
from tests.laws.test_churn import sizes
from tests.unit.controllers.gangs.test_reconciler import define
from tests.unit.controllers.ground import Ground, SetClock, ground

WAVES: Final = 12 if IS_DEEP else 4
EACH: Final = 4
"""Objects of each sort in a wave."""
BOUNDED: Final = {
    "._heap": 512,
    "._recorded": 4096,
    "._buckets": 4096,
    "._similar": 4096,
    "._sent": 4096,
    "._shards._order": 2,
}
"""Containers that keep entries on purpose, and their bounds.

These are outdated times of all work queues together, events, and the NodeShards that the default settings name. The
sharding controller creates those at its own time.
"""
KINDS: Final[tuple[Resource[Any], ...]] = (
    COMMANDS,
    JOB_FLOWS,
    CRON_JOBS,
    JOBS,
    JOB_TEMPLATES,
    POD_GROUPS,
    GANG_POD_GROUPS,
    PODS,
    ELASTIC_QUOTA_PROFILES,
    ELASTIC_QUOTAS,
    HYPER_NODES,
    RESERVATIONS,
    NODES,
    QUEUES,
)
CONTAINER: Final = {"name": "main", "image": "app:1"}


@pytest.fixture(name="there")
async def _there(tmp_path: Path) -> AsyncIterator[Ground]:
    async with ground(tmp_path, knows_schemas=False) as made:
        await define(made, has_status=True)
        yield made


def of(resource: Resource[Any], name: str, spec: Any, **metadata: Any) -> tuple[Resource[Any], dict[str, Any]]:
    """An object with its kind."""
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name, **metadata}}
    return resource, {**body, "spec": spec}


def job_spec(replicas: int = 2, **more: Any) -> dict[str, Any]:
    """A Job of one task."""
    template = {"metadata": {}, "spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    task = {"name": "task", "replicas": replicas, "minAvailable": replicas, "maxRetry": 3, "template": template}
    return {"queue": "default", "schedulerName": "volcano", "minAvailable": replicas, "tasks": [task], **more}


def wave_of(wave: int) -> Iterator[tuple[Resource[Any], dict[str, Any]]]:
    """Objects of every kind that controllers reconcile, sound and faulty."""
    for number in range(EACH):
        name = f"w{wave}-{number}"
        yield of(QUEUES, name, {"weight": 1, "parent": "none" if number % 2 else "root"})
        yield of(NODES, name, {}, labels={"rack": name})
        member = {"type": "Node", "selector": {"regexMatch": {"pattern": f"{name}.*"}}}
        yield of(HYPER_NODES, name, {"tier": 1, "members": [member] if number % 2 else []})
        profile = {"quotaName": name, "nodeSelector": {"matchLabels": {"rack": name}}, "resourceRatio": "0.9"}
        labels = {"quota.scheduling.koordinator.sh/tree-id": name}
        yield of(ELASTIC_QUOTA_PROFILES, name, {**profile, "quotaLabels": labels}, labels=labels)
        reserved = {"metadata": {}, "spec": {"containers": [CONTAINER]}}
        yield of(RESERVATIONS, name, {"template": reserved, "owners": [{"object": {"name": name}}], "ttl": "1s"})
        yield of(ELASTIC_QUOTAS, f"{name}-own", {"max": {"cpu": "1"}, "min": {"cpu": "2" if number % 2 else "1"}})
        yield of(POD_GROUPS, f"{name}-group", {"minMember": 1, "queue": name})
        yield of(GANG_POD_GROUPS, f"{name}-gang", {"minMember": 1, "scheduleTimeoutSeconds": 1})
        yield of(JOBS, f"{name}-sound", job_spec(plugins={"svc": [], "ssh": [], "env": []}))
        ending = {"ttlSecondsAfterFinished": 0} if number % 2 else {}
        yield of(JOBS, f"{name}-ending", job_spec(policies=[{"event": "PodFailed", "action": "RestartJob"}], **ending))
        yield of(JOBS, f"{name}-faulty", job_spec(plugins={"none": []}))
        yield of(JOBS, f"{name}-{'x' * 80}", job_spec())
        refused = job_spec(volumes=[{"mountPath": "/a", "volumeClaim": {"accessModes": ["none"]}}])
        yield of(JOBS, f"{name}-refused", refused)
        yield of(JOB_TEMPLATES, f"{name}-template", job_spec())
        flows = [{"name": f"{name}-template"}, {"name": "none", "dependsOn": {"targets": [f"{name}-template"]}}]
        yield of(JOB_FLOWS, f"{name}-flow", {"jobRetainPolicy": "delete", "flows": flows})
        schedule = "no schedule" if number % 3 == 0 else "* * * * *"
        yield of(CRON_JOBS, f"{name}-cron", {"schedule": schedule, "jobTemplate": {"spec": job_spec()}})
        command = {"action": "AbortJob", "target": {"kind": "Job", "name": f"{name}-sound"}}
        body = {"apiVersion": COMMANDS.api_version, "kind": "Command", "metadata": {"name": name}, **command}
        yield COMMANDS, body
        owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": name, "controller": True}]
        pod = {"schedulerName": "volcano", "containers": [CONTAINER]}
        yield of(PODS, f"{name}-pod", pod)
        yield of(PODS, f"{name}-owned", pod, ownerReferences=owners)
        gang = {
            "gang.scheduling.koordinator.sh/name": f"{name}-gang",
            "pod-group.scheduling.sigs.k8s.io": f"{name}-gang",
        }
        yield of(PODS, f"{name}-member", pod, labels=gang, annotations=gang)


class Day:
    """A server with all controllers, and what else acts on their objects."""

    def __init__(self, there: Ground, operator: Operator) -> None:
        self.there, self.operator = there, operator

    async def wave(self, number: int) -> None:
        """Create objects, let them act on each other, and delete everything."""
        namespace = f"ns-{number}"
        await self.there.post(NAMESPACES.collection(), of(NAMESPACES, namespace, {})[1])
        for resource, body in wave_of(number):
            await self.there.post(resource.collection(namespace if resource.is_namespaced else ""), body)
        for phase in ("Inqueue", "Running"):
            await self.operator.idle()
            for group in await self.listed(POD_GROUPS, namespace):
                await self.set_status(POD_GROUPS, group, {"phase": phase})
        await self.operator.idle()
        for place, pod in enumerate(await self.listed(PODS, namespace)):
            await self.set_status(PODS, pod, {"phase": "Failed" if place % 5 == 0 else "Succeeded"})
        await self.operator.idle()
        for _ in range(3):  # controllers may create objects until they see the deletions
            for resource in KINDS:
                for item in await self.listed(resource, namespace):
                    if item["metadata"]["name"] not in {"default", "root"}:
                        await self.delete(resource, item)
            await self.operator.idle()
        await self.there.delete(NAMESPACES.path("", namespace))

        async def is_empty() -> bool:
            left = [await self.listed(each, namespace) for each in KINDS if each.is_namespaced]
            return not any(left)

        await self.there.soon(is_empty)
        await self.operator.idle()

    async def listed(self, resource: Resource[Any], namespace: str) -> list[Any]:
        """What there is of a kind."""
        found = await self.there.get(resource.collection(namespace if resource.is_namespaced else ""))
        return list(found["items"])

    async def set_status(self, resource: Resource[Any], item: Any, status: Any) -> None:
        """Write a status, as far as the object is still there."""
        metadata = item["metadata"]
        try:
            await self.there.patch(
                resource.path(metadata.get("namespace", ""), metadata["name"], "status"), {"status": status}
            )
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def delete(self, resource: Resource[Any], item: Any) -> None:
        """Delete an object, as far as it is still there."""
        metadata = item["metadata"]
        try:
            await self.there.delete(resource.path(metadata.get("namespace", ""), metadata["name"]))
        except ApiError as error:
            if not error.is_not_found:
                raise


async def test_nothing_is_left_of_objects_that_came_and_went(there: Ground) -> None:
    """Compare the sizes at rest after two waves with those after more."""
    clock = SetClock()
    clock.ahead = 600.0
    operator = there.operator(clock)
    built = [build(operator, ControllerOptions()) for build in CONTROLLERS.values()]
    async with there.working(operator):
        day = Day(there, operator)
        await there.post(NAMESPACES.collection(), of(NAMESPACES, ControllerOptions().quota_namespace, {})[1])
        for number in range(2):
            await day.wave(number)
        before = await at_rest(day, built)
        for number in range(2, 2 + WAVES):
            await day.wave(number)
        after = await at_rest(day, built)
    left = {
        path: (before[path], count)
        for path, count in after.items()
        if count > before[path] and not any(part in path for part in BOUNDED)
    }
    assert not left
    for part, most in BOUNDED.items():
        assert max((count for path, count in after.items() if path.endswith(part)), default=0) <= most, part


async def at_rest(day: Day, built: list[object]) -> Any:
    """Count once controllers and events are at rest."""
    await day.operator.idle()
    await day.operator.events.drain()
    return sizes(day.operator, built, prometheus_client.REGISTRY)
