"""Deletion: grace, finalizers, dependents, namespaces."""

import asyncio

from tests.unit.emulator.wire import MERGE, PODS, Client, Object, pod

MAPS = "/api/v1/namespaces/default/configmaps"


async def gone(client: Client, path: str) -> bool:
    """Wait until an object has gone."""
    async with asyncio.timeout(30):
        while (await client.get(path)).code != 404:  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)
    return True


async def owner_and_dependent(client: Client, *, blocks: bool = False) -> None:
    """A ConfigMap `owner`, and a ConfigMap `dependent` that it owns."""
    uid = (await client.post(MAPS, {"metadata": {"name": "owner"}})).body["metadata"]["uid"]
    reference: Object = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    if blocks:
        reference["blockOwnerDeletion"] = True
    await client.post(MAPS, {"metadata": {"name": "dependent", "ownerReferences": [reference]}})


async def test_a_placed_pod_waits_for_its_node(client: Client) -> None:
    """The first deletion marks it, the agent's with no grace removes it."""
    await client.post(PODS, pod("a"))
    await client.bind("a")

    marked = (await client.send("DELETE", f"{PODS}/a")).body["metadata"]
    assert marked["deletionGracePeriodSeconds"] == 30
    assert (await client.get(f"{PODS}/a")).code == 200

    await client.send("DELETE", f"{PODS}/a", {"gracePeriodSeconds": 0})
    assert (await client.get(f"{PODS}/a")).code == 404


async def test_a_pod_that_is_going_is_not_bound(client: Client) -> None:
    """409, although it has no node yet."""
    await client.post(PODS, {**pod("a"), "metadata": {"name": "a", "finalizers": ["example.com/hold"]}})
    await client.send("DELETE", f"{PODS}/a")

    assert (await client.bind("a")).refusal[2].endswith("pod a is being deleted, cannot be assigned to a host")


async def test_grace_can_only_be_shortened(client: Client) -> None:
    """A longer second grace changes nothing."""
    await client.post(PODS, pod("a"))
    await client.bind("a")
    for asked, expected in ((20, 20), (25, 20), (5, 5)):
        answer = await client.send("DELETE", f"{PODS}/a", {"gracePeriodSeconds": asked})
        assert answer.body["metadata"]["deletionGracePeriodSeconds"] == expected


async def test_finalizers_hold_an_object(client: Client) -> None:
    """It goes when the last one is taken away."""
    await client.post(MAPS, {"metadata": {"name": "a", "finalizers": ["example.com/hold"]}})

    assert "deletionTimestamp" in (await client.send("DELETE", f"{MAPS}/a")).body["metadata"]
    await client.send("PATCH", f"{MAPS}/a", {"metadata": {"finalizers": None}}, kind=MERGE)

    assert (await client.get(f"{MAPS}/a")).code == 404


async def test_dependents_follow_their_owner(client: Client) -> None:
    """Background: the owner goes at once, the dependent soon after."""
    await owner_and_dependent(client)

    await client.send("DELETE", f"{MAPS}/owner")

    assert (await client.get(f"{MAPS}/owner")).code == 404
    assert await gone(client, f"{MAPS}/dependent")


async def test_dependents_go_before_their_owner(client: Client) -> None:
    """Foreground: the owner waits for a dependent that blocks it."""
    await owner_and_dependent(client, blocks=True)
    await client.send("PATCH", f"{MAPS}/dependent", {"metadata": {"finalizers": ["example.com/hold"]}}, kind=MERGE)

    await client.send("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    async with asyncio.timeout(30):
        while "deletionTimestamp" not in (await client.get(f"{MAPS}/dependent")).body["metadata"]:  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)
    assert (await client.get(f"{MAPS}/owner")).body["metadata"]["finalizers"] == ["foregroundDeletion"]

    await client.send("PATCH", f"{MAPS}/dependent", {"metadata": {"finalizers": None}}, kind=MERGE)
    assert await gone(client, f"{MAPS}/owner")


async def test_orphans_stay_without_owner_references(client: Client) -> None:
    """Orphan: the dependent loses its reference and lives."""
    await owner_and_dependent(client)

    await client.send("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Orphan"})

    assert await gone(client, f"{MAPS}/owner")
    assert "ownerReferences" not in (await client.get(f"{MAPS}/dependent")).body["metadata"]


async def test_a_namespace_is_emptied_and_goes(client: Client) -> None:
    """Nothing new may enter meanwhile; what a finalizer holds holds the namespace."""
    await client.post("/api/v1/namespaces", {"metadata": {"name": "doomed"}})
    inside = "/api/v1/namespaces/doomed/configmaps"
    await client.post(inside, {"metadata": {"name": "free"}})
    await client.post(inside, {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}})

    await client.send("DELETE", "/api/v1/namespaces/doomed")

    assert await gone(client, f"{inside}/free")
    assert (await client.get("/api/v1/namespaces/doomed")).body["status"]["phase"] == "Terminating"
    code, _, message = (await client.post(inside, {"metadata": {"name": "late"}})).refusal
    assert code == 403
    assert "unable to create new content in namespace doomed because it is being terminated" in message
    await client.send("PATCH", f"{inside}/held", {"metadata": {"finalizers": None}}, kind=MERGE)
    assert await gone(client, "/api/v1/namespaces/doomed")
