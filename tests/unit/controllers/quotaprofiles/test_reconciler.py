"""Profiles on a server: the roots of their trees follow nodes."""

import json
from typing import Any

import pytest

from pyroclast.controllers.quotaprofiles.reconciler import QuotaProfiles
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS
from pyroclast.model.elastic.names import IS_ROOT, PROFILE, TOTAL_RESOURCE, TREE_ID
from tests.unit.controllers.ground import Ground

ROOT = ELASTIC_QUOTAS.path("quotas", "gpu-root")


def built(operator: Operator) -> QuotaProfiles:
    """Plug the controller in alone."""
    return QuotaProfiles(operator, ControllerOptions())


@pytest.fixture(autouse=True)
async def namespace(ground: Ground) -> None:
    """Where quotas stand."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": "quotas"}})


async def make_node(ground: Ground, name: str, *, pool: str = "gpu", cpu: str = "8") -> None:
    """Create a node."""
    amounts = {"cpu": cpu, "memory": "16Gi"}
    await ground.post(
        "/api/v1/nodes",
        {"metadata": {"name": name, "labels": {"pool": pool}}, "status": {"capacity": amounts, "allocatable": amounts}},
    )


async def make_profile(ground: Ground, name: str = "gpu-pool", **spec: Any) -> Any:
    """Create a profile."""
    return await ground.post(
        ELASTIC_QUOTA_PROFILES.collection("quotas"),
        {
            "apiVersion": ELASTIC_QUOTA_PROFILES.api_version,
            "kind": "ElasticQuotaProfile",
            "metadata": {"name": name, "namespace": "quotas"},
            "spec": {"quotaName": "gpu-root", "nodeSelector": {"matchLabels": {"pool": "gpu"}}, **spec},
        },
    )


async def cpus(ground: Ground) -> Any:
    """How many CPUs the tree has, as its root says."""
    for name in await ground.names(ELASTIC_QUOTAS.collection("quotas")):
        if name == "gpu-root":
            root = await ground.get(ROOT)
            return json.loads(root["metadata"]["annotations"].get(TOTAL_RESOURCE, "{}")).get("cpu")
    return None


async def told(ground: Ground) -> list[str]:
    """What events about profiles say."""
    listed = await ground.get("/api/v1/namespaces/quotas/events")
    return [item["message"] for item in listed["items"] if item["involvedObject"]["kind"] == "ElasticQuotaProfile"]


async def hears(ground: Ground, message: str) -> bool:
    """Return whether an event was recorded."""
    return any(message in each for each in await told(ground))


async def test_a_tree_is_as_large_as_its_nodes(ground: Ground) -> None:
    """They come, are taken over by another pool, and go; the profile is given the number of its tree."""
    await make_node(ground, "n1")
    await make_profile(ground)
    operator = ground.operator()
    built(operator)

    async def has(amount: str) -> bool:
        return bool(await cpus(ground) == amount)

    async with ground.working(operator):
        await ground.soon(lambda: has("8"))
        await make_node(ground, "n2", cpu="7500m")
        await make_node(ground, "other", pool="cpu")
        await ground.soon(lambda: has("15500m"))
        await ground.patch("/api/v1/nodes/n1", {"metadata": {"labels": {"pool": "cpu"}}})
        await ground.soon(lambda: has("7500m"))
        await ground.delete("/api/v1/nodes/n2")
        await ground.soon(lambda: _no_amount(ground))
        profile = await ground.get(ELASTIC_QUOTA_PROFILES.path("quotas", "gpu-pool"))
    labels = (await ground.get(ROOT))["metadata"]["labels"]
    assert labels[TREE_ID] == profile["metadata"]["labels"][TREE_ID]
    assert (labels[IS_ROOT], labels[PROFILE]) == ("true", "gpu-pool")


async def _no_amount(ground: Ground) -> bool:
    return await cpus(ground) is None


async def test_what_others_change_is_put_back(ground: Ground) -> None:
    """An amount, and the whole quota; what else it carries stays."""
    await make_node(ground, "n1")
    await make_profile(ground)
    operator = ground.operator()
    built(operator)

    async def is_right() -> bool:
        if await cpus(ground) != "8":
            return False
        root = await ground.get(ROOT)
        return bool(root["spec"]["min"]["cpu"] == "8")

    async with ground.working(operator):
        await ground.soon(is_right)
        await ground.patch(ROOT, {"metadata": {"labels": {"mine": "true"}}, "spec": {"min": {"cpu": "99"}}})
        await ground.soon(is_right)
        assert (await ground.get(ROOT))["metadata"]["labels"]["mine"] == "true"
        await ground.delete(ROOT)
        await ground.soon(is_right)


async def test_a_quota_of_another_profile_is_left_alone(ground: Ground) -> None:
    """A second command gets an event; so does a command without meaning."""
    await make_node(ground, "n1")
    await make_profile(ground)
    operator = ground.operator()
    built(operator)

    async with ground.working(operator):
        await ground.soon(lambda: _is(ground, "8"))
        await make_profile(ground, "thief", nodeSelector={"matchLabels": {"pool": "none"}}, resourceRatio="2")
        await ground.soon(lambda: hears(ground, "spec.quotaName: gpu-root is the quota of profile gpu-pool"))
        assert await hears(ground, "spec.resourceRatio: '2' is no number above 0 and at most 1")
        await operator.idle()
        assert await cpus(ground) == "8"


async def test_the_second_replica_takes_over_a_released_lease(ground: Ground) -> None:
    """The first profile goes, then its quota."""
    await make_node(ground, "n1")
    await make_node(ground, "n2", pool="cpu", cpu="3")
    await make_profile(ground)
    operator = ground.operator()
    built(operator)

    async with ground.working(operator):
        await ground.soon(lambda: _is(ground, "8"))
        await make_profile(ground, "heir", nodeSelector={"matchLabels": {"pool": "cpu"}})
        await operator.idle()
        await ground.delete(ELASTIC_QUOTA_PROFILES.path("quotas", "gpu-pool"))
        await operator.idle()
        assert await cpus(ground) == "8"
        await ground.delete(ROOT)
        await ground.soon(lambda: _is(ground, "3"))


async def test_a_selector_that_cannot_be_read_leaves_the_tree_as_it_is(ground: Ground) -> None:
    """A slip of the pen must not take all nodes from a tree, and its pods from the nodes."""
    await make_node(ground, "n1")
    await make_profile(ground)
    operator = ground.operator()
    built(operator)

    async with ground.working(operator):
        await ground.soon(lambda: _is(ground, "8"))
        slip = {"matchExpressions": [{"key": "pool", "operator": "in", "values": ["gpu"]}]}
        path = ELASTIC_QUOTA_PROFILES.path("quotas", "gpu-pool")
        await ground.patch(path, {"spec": {"nodeSelector": slip}})
        await ground.soon(lambda: hears(ground, "spec.nodeSelector.matchExpressions[0].operator"))
        await operator.idle()
        assert await cpus(ground) == "8"


async def _is(ground: Ground, amount: str) -> bool:
    return bool(await cpus(ground) == amount)


async def test_killed_after_any_write_it_ends_the_same(ground: Ground) -> None:
    """The profile's label and its quota are two writes; the next process does what is left."""
    await make_node(ground, "n1")
    await make_profile(ground)
    for _ in range(4):
        await ground.live_and_die(built, writes=1)
    assert await ground.live_and_die(built, writes=9) == 0
    assert await cpus(ground) == "8"
