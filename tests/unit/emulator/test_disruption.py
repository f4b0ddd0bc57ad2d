"""Disruption budgets: their status, and evictions that respect it."""

import asyncio
from typing import Any

from tests.unit.emulator.wire import MERGE, PODS, Client, Object, pod

BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
READY = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def running(client: Client, name: str) -> None:
    """A pod that runs and is ready."""
    await client.post(PODS, pod(name, labels={"app": "web"}))
    await client.bind(name)
    await client.send("PATCH", f"{PODS}/{name}/status", {"status": READY}, kind=MERGE)


async def budget(client: Client, **spec: object) -> None:
    """A budget over these pods."""
    selector = {"matchLabels": {"app": "web"}}
    await client.post(BUDGETS, {"metadata": {"name": "web"}, "spec": {"selector": selector, **spec}})


async def evict(client: Client, name: str) -> tuple[int, Any]:
    """Evict a pod."""
    body: Object = {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": name}}
    answer = await client.post(f"{PODS}/{name}/eviction", body)
    return answer.code, answer.body


async def test_the_status_is_kept(client: Client) -> None:
    """Counted from the pods that are there."""
    for name in "abc":
        await running(client, name)
    await budget(client, minAvailable=2)

    counts = {"expectedPods": 3, "currentHealthy": 3, "desiredHealthy": 2, "disruptionsAllowed": 1}
    async with asyncio.timeout(30):
        while not counts.items() <= (await client.get(f"{BUDGETS}/web")).body.get("status", {}).items():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0.01)


async def test_a_budget_refuses_one_eviction_too_many(client: Client) -> None:
    """The first goes through and is spent; the second is 429 with its cause."""
    for name in "ab":
        await running(client, name)
    await budget(client, maxUnavailable="50%")

    assert (await evict(client, "a"))[0] == 201
    code, refused = await evict(client, "b")

    assert code == 429
    assert refused["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert refused["details"]["causes"][0]["reason"] == "DisruptionBudget"
    assert "deletionTimestamp" not in (await client.get(f"{PODS}/b")).body["metadata"]


async def test_an_evicted_pod_has_a_reason(client: Client) -> None:
    """The DisruptionTarget condition comes before the deletion."""
    await running(client, "a")
    await evict(client, "a")

    evicted = (await client.get(f"{PODS}/a")).body

    assert "deletionTimestamp" in evicted["metadata"]
    assert evicted["status"]["conditions"][-1]["reason"] == "EvictionByEvictionAPI"


async def test_a_pending_pod_needs_no_budget(client: Client) -> None:
    """What does not run disrupts nothing."""
    await client.post(PODS, pod("a", labels={"app": "web"}))
    await budget(client, minAvailable=5)

    assert (await evict(client, "a"))[0] == 201
    assert (await client.get(f"{PODS}/a")).code == 404
