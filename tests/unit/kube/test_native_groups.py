"""PodGroups of `scheduling.k8s.io`: followed and written in the version that the server has."""

import asyncio
from typing import Any

import pytest

from pyroclast.emulator.kinds.podgroups import native_kinds
from pyroclast.kube.api.discovery import Discovery
from pyroclast.kube.api.resources import NATIVE_POD_GROUPS
from pyroclast.kube.reflector import Reflector
from pyroclast.kube.writes.status import StatusWriter
from pyroclast.model.wire import NativeCondition, NativePodGroup
from tests.native import native_group
from tests.unit.kube.world import World


def serve(world: World, version: str) -> None:
    """Serve the groups in one version alone."""
    registry = world.emulator.cluster.registry
    for plural in ("podgroups", "workloads"):
        registry.remove("scheduling.k8s.io", plural)
    for resource in native_kinds(version):
        registry.add(resource)


def following(world: World) -> Reflector[NativePodGroup]:
    """Return a reflector of the groups, at work."""
    made = Reflector(world.client, NATIVE_POD_GROUPS, [world.recorder], clock=world.clock)
    world.start(made.run())
    return made


async def create(world: World, version: str, **more: Any) -> None:
    """Create the group `a`."""
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    await world.post(path, native_group("a", 2, version=version, **more))


def unschedulable(message: str = "no room", **more: Any) -> NativeCondition:
    """Return a condition of a group that waits."""
    fields = {"status": "False", "reason": "Unschedulable", "message": message, **more}
    return NativeCondition(type="PodGroupScheduled", **fields)


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
async def test_the_served_version_is_followed(world: World, version: str) -> None:
    """Objects of lists and of watches have it."""
    serve(world, version)
    await create(world, version)
    reflector = following(world)
    await asyncio.wait_for(reflector.synced.wait(), 30)
    assert reflector.objects["default/a"].api_version == f"scheduling.k8s.io/{version}"

    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups"
    await world.patch(f"{path}/a", {"metadata": {"labels": {"turn": "1"}}})
    await world.soon(lambda: ("updated", "a") in world.log)
    assert reflector.objects["default/a"].api_version == f"scheduling.k8s.io/{version}"


async def test_a_server_without_the_kind_counts_as_empty(world: World) -> None:
    """The feature gate of the API server is off."""
    serve(world, "")
    reflector = following(world)

    await asyncio.wait_for(reflector.synced.wait(), 30)
    assert not reflector.is_present


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1"])
async def test_a_condition_is_written_in_the_version_of_the_group(world: World, version: str) -> None:
    """Conditions of other types stay; a repeated condition is no change."""
    serve(world, version)
    await create(world, version)
    path = f"/apis/scheduling.k8s.io/{version}/namespaces/default/podgroups/a"
    times = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    other = {"type": "Other", "status": "True", "reason": "R", "message": "", **times}
    await world.patch(f"{path}/status", {"status": {"conditions": [other]}})
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    world.start(writer.run())

    seen = NATIVE_POD_GROUPS.decoder.convert(await world.client.request_json("GET", path))
    assert writer.native_pod_group(seen, unschedulable())
    await asyncio.wait_for(writer.drain(), 30)

    written = NATIVE_POD_GROUPS.decoder.convert(await world.client.request_json("GET", path))
    by_type = {each.type: each for each in written.status.conditions}
    assert set(by_type) == {"Other", "PodGroupScheduled"}
    assert (by_type["PodGroupScheduled"].status, by_type["PodGroupScheduled"].message) == ("False", "no room")
    assert not writer.native_pod_group(written, unschedulable())


async def test_a_group_that_changed_meanwhile_does_not_become_unscheduled(world: World) -> None:
    """Another scheduler may have scheduled it."""
    serve(world, "v1alpha2")
    await create(world, "v1alpha2")
    path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups/a"
    seen = NATIVE_POD_GROUPS.decoder.convert(await world.client.request_json("GET", path))
    await world.patch(path, {"metadata": {"labels": {"turn": "1"}}})
    writer = StatusWriter(world.client, Discovery(world.client), clock=world.clock)
    world.start(writer.run())

    writer.native_pod_group(seen, unschedulable())
    await asyncio.wait_for(writer.drain(), 30)

    assert not (await world.client.request_json("GET", path)).get("status", {}).get("conditions")
