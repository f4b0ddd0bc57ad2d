"""Writes may be repeated, and never meet another object of the same name."""

from typing import Any

import pytest

from pyroclast.controllers.runtime.writer import (
    NamespaceEndingError,
    NotLeadingError,
    Writer,
    controlled_by,
    means_another,
    owner_reference,
)
from pyroclast.kube.api.errors import ApiConflictError, ApiError
from pyroclast.kube.api.resources import POD_GROUPS, PODS, QUEUES
from pyroclast.model.wire import ObjectMeta, Pod
from tests.unit.controllers.ground import Ground

POD: dict[str, Any] = {
    "metadata": {"name": "a", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
PATH = "/api/v1/namespaces/default/pods/a"


def identity(item: dict[str, Any]) -> ObjectMeta:
    """What identifies an object."""
    metadata = item["metadata"]
    return ObjectMeta(
        name=metadata["name"],
        namespace=metadata.get("namespace", ""),
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )


async def test_what_is_made_twice_is_found_the_second_time(ground: Ground) -> None:
    """A killed process that could not record its work finds it."""
    first = await ground.writer.create(PODS, POD)
    second = await ground.writer.create(PODS, POD)

    assert (first.is_new, second.is_new) == (True, False)
    assert first.object["metadata"]["uid"] == second.object["metadata"]["uid"]


async def test_own_objects_are_distinguished_from_others(ground: Ground) -> None:
    """Indexed by the UID of the controller among its owners."""
    owner = ObjectMeta(name="q", uid="u1")
    body = {**POD, "metadata": {**POD["metadata"], "ownerReferences": [owner_reference(QUEUES, owner)]}}
    made = await ground.writer.create(PODS, body)

    assert controlled_by(made.object, "u1")
    assert not controlled_by(made.object, "u2")


async def test_a_refused_creation_is_an_error(ground: Ground) -> None:
    """Only a name that is taken is an answer."""
    with pytest.raises(ApiError, match=r"spec\.containers"):
        await ground.writer.create(PODS, {"metadata": POD["metadata"], "spec": {}})


async def test_a_patch_means_one_object(ground: Ground) -> None:
    """One of the same name that came later is left alone, and the error says so."""
    old = identity((await ground.writer.create(PODS, POD)).object)
    await ground.delete(PATH)
    await ground.writer.create(PODS, POD)

    with pytest.raises(ApiError) as merged:
        await ground.writer.merge(PODS, old, {"metadata": {"labels": {"a": "b"}}})
    with pytest.raises(ApiError) as edited:
        await ground.writer.edit(PODS, old, [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}])

    assert means_another(merged.value)
    assert means_another(edited.value)
    assert "labels" not in (await ground.get(PATH))["metadata"]


async def test_a_patch_of_what_is_gone_says_so(ground: Ground) -> None:
    """Gone and replaced are the same for a write to the object."""
    old = identity((await ground.writer.create(PODS, POD)).object)
    await ground.delete(PATH)

    with pytest.raises(ApiError) as error:
        await ground.writer.merge(PODS, old, {"metadata": {"labels": {"a": "b"}}})
    assert means_another(error.value)


async def test_a_patch_of_a_version_refuses_another(ground: Ground) -> None:
    """A decision on outdated reads gets a conflict."""
    read = identity((await ground.writer.create(PODS, POD)).object)
    await ground.writer.merge(PODS, read, {"metadata": {"labels": {"a": "b"}}})

    with pytest.raises(ApiConflictError) as error:
        await ground.writer.merge(PODS, read, {"metadata": {"labels": {"a": "c"}}}, is_of_version=True)
    assert not means_another(error.value)


async def test_an_edit_whose_test_fails_changes_nothing(ground: Ground) -> None:
    """All operations or none."""
    read = identity((await ground.writer.create(PODS, POD)).object)
    with pytest.raises(ApiError) as error:
        await ground.writer.edit(
            PODS,
            read,
            [
                {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
                {"op": "test", "path": "/metadata/name", "value": "b"},
            ],
        )

    assert not means_another(error.value)
    assert "labels" not in (await ground.get(PATH))["metadata"]


async def test_a_status_is_written_by_its_subresource(ground: Ground) -> None:
    """Where the kind has one."""
    queue = identity((await ground.writer.create(QUEUES, {"metadata": {"name": "q"}})).object)
    answer = await ground.writer.merge(QUEUES, queue, {"status": {"state": "Open"}}, subresource="status")

    assert answer["status"]["state"] == "Open"


async def test_a_deletion_means_one_object(ground: Ground) -> None:
    """One of the same name that came later lives."""
    old = identity((await ground.writer.create(PODS, POD)).object)
    assert await ground.writer.delete(PODS, old, grace_seconds=0)
    assert not await ground.writer.delete(PODS, old)
    await ground.writer.create(PODS, POD)
    assert not await ground.writer.delete(PODS, old)

    assert await ground.names("/api/v1/namespaces/default/pods") == ["a"]


async def test_a_deletion_of_a_version_refuses_another(ground: Ground) -> None:
    """What changed since it was judged may not deserve it any more."""
    body = {"metadata": {"name": "g", "namespace": "default"}, "spec": {"minMember": 1}}
    read = identity((await ground.writer.create(POD_GROUPS, body)).object)
    await ground.writer.merge(POD_GROUPS, read, {"spec": {"minMember": 2}})

    with pytest.raises(ApiConflictError):
        await ground.writer.delete(POD_GROUPS, read, is_of_version=True)
    assert await ground.names(POD_GROUPS.collection("default")) == ["g"]


async def test_a_former_leader_writes_nothing(ground: Ground) -> None:
    """Asked before each request, since a process may sleep between two of its steps."""
    leads = True
    writer = Writer(ground.client, may_write=lambda: leads)
    made = identity((await writer.create(PODS, POD)).object)
    leads = False
    for write in (
        writer.create(PODS, {**POD, "metadata": {"name": "b", "namespace": "default"}}),
        writer.merge(PODS, made, {"metadata": {"labels": {"a": "b"}}}),
        writer.edit(PODS, made, []),
        writer.delete(PODS, made),
    ):
        with pytest.raises(NotLeadingError):
            await write

    assert await ground.names("/api/v1/namespaces/default/pods") == ["a"]
    assert "labels" not in (await ground.get(PATH))["metadata"]


async def test_pods_are_read_with_what_controllers_need(ground: Ground) -> None:
    """Exit codes, restarts and whose they are, none of which the scheduler reads."""
    await ground.writer.create(PODS, POD)
    ended = {
        "name": "c",
        "restartCount": 2,
        "ready": False,
        "image": "i",
        "imageID": "",
        "state": {"terminated": {"exitCode": 137, "finishedAt": "2026-01-01T00:00:00Z"}},
        "lastState": {},
    }
    await ground.patch(f"{PATH}/status", {"status": {"phase": "Failed", "containerStatuses": [ended]}})
    pod: Pod = PODS.decoder.decode(await ground.client.request("GET", PATH))

    (status,) = pod.status.container_statuses
    assert status.state.terminated is not None
    assert (pod.status.phase, status.restart_count, status.state.terminated.exit_code) == ("Failed", 2, 137)


async def test_nothing_is_made_where_a_namespace_ends(ground: Ground) -> None:
    """That is a cause of its own, whatever was to be made."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    held = {"name": "held", "namespace": "doomed", "finalizers": ["example.com/held"]}
    await ground.writer.create(POD_GROUPS, {"metadata": held, "spec": {"minMember": 1}})
    await ground.delete("/api/v1/namespaces/doomed")

    with pytest.raises(NamespaceEndingError, match="being terminated"):
        await ground.writer.create(POD_GROUPS, {"metadata": {"name": "g", "namespace": "doomed"}, "spec": {}})
