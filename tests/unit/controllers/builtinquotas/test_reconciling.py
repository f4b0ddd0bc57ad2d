"""Built-in quotas on a server: created when they are needed, and kept."""

from typing import Any

import pytest

from pyroclast.controllers.builtinquotas.reconciler import BuiltInQuotas
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.kube.api.resources import ELASTIC_QUOTA_PROFILES, ELASTIC_QUOTAS
from pyroclast.model.elastic.names import ALLOW_LENT_RESOURCE, DEFAULT_QUOTA, IS_PARENT, ROOT_QUOTA, SYSTEM_QUOTA
from tests.elastic_quotas import elastic_quota
from tests.unit.controllers.ground import Ground

NAMES = sorted((DEFAULT_QUOTA, ROOT_QUOTA, SYSTEM_QUOTA))


def built(operator: Operator) -> BuiltInQuotas:
    """Register the controller alone."""
    return BuiltInQuotas(operator, ControllerOptions(quota_namespace="system"))


@pytest.fixture(autouse=True)
async def namespaces(ground: Ground) -> None:
    """Namespaces of the quotas."""
    for name in ("system", "quotas"):
        await ground.post("/api/v1/namespaces", {"metadata": {"name": name}})


async def made(ground: Ground) -> list[str]:
    """Names of the quotas in the namespace of the built-in ones."""
    return sorted(await ground.names(ELASTIC_QUOTAS.collection("system")))


async def create_quota(ground: Ground, name: str, **more: Any) -> None:
    """Create a quota."""
    quota = elastic_quota(name, **more)
    await ground.post(ELASTIC_QUOTAS.collection(quota["metadata"]["namespace"]), quota)


async def all_there(ground: Ground) -> bool:
    """Return whether all three exist."""
    return await made(ground) == NAMES


async def test_they_are_created_with_the_first_quota(ground: Ground) -> None:
    """Not before; the root is a parent that does not lend."""
    operator = ground.operator()
    built(operator)
    async with ground.working(operator):
        assert await made(ground) == []
        await create_quota(ground, "team", most={"cpu": 4})
        await ground.soon(lambda: all_there(ground))
    root = await ground.get(ELASTIC_QUOTAS.path("system", ROOT_QUOTA))
    assert (root["metadata"]["labels"][IS_PARENT], root["metadata"]["labels"][ALLOW_LENT_RESOURCE]) == ("true", "false")


async def test_they_are_created_with_the_first_profile(ground: Ground) -> None:
    """A profile makes quotas too."""
    operator = ground.operator()
    built(operator)
    async with ground.working(operator):
        body = {
            "apiVersion": ELASTIC_QUOTA_PROFILES.api_version,
            "kind": "ElasticQuotaProfile",
            "metadata": {"name": "pool", "namespace": "quotas"},
            "spec": {"quotaName": "root", "nodeSelector": {"matchLabels": {"pool": "gpu"}}},
        }
        await ground.post(ELASTIC_QUOTA_PROFILES.collection("quotas"), body)
        await ground.soon(lambda: all_there(ground))


async def test_they_are_kept(ground: Ground) -> None:
    """A deleted one is created again, and the root has no amounts; maximums of the default quota stay."""
    operator = ground.operator()
    built(operator)
    root, default = (ELASTIC_QUOTAS.path("system", name) for name in (ROOT_QUOTA, DEFAULT_QUOTA))

    async def is_restored() -> bool:
        found = await ground.get(root)
        return bool(not found["spec"].get("max") and found["metadata"]["labels"][IS_PARENT] == "true")

    async with ground.working(operator):
        await create_quota(ground, "team", most={"cpu": 4})
        await ground.soon(lambda: all_there(ground))
        await ground.patch(default, {"spec": {"max": {"cpu": "2"}}})
        await ground.patch(root, {"metadata": {"labels": {IS_PARENT: "false"}}, "spec": {"max": {"cpu": "2"}}})
        await ground.soon(is_restored)
        await ground.delete(ELASTIC_QUOTAS.path("system", SYSTEM_QUOTA))
        await ground.soon(lambda: all_there(ground))
    assert (await ground.get(default))["spec"]["max"] == {"cpu": "2"}


async def test_objects_elsewhere_are_left_alone(ground: Ground) -> None:
    """Koordinator's, in its own namespace: the name exists, so none is created beside it, and nothing is restored."""
    await create_quota(ground, ROOT_QUOTA, most={"cpu": 1})
    await create_quota(ground, "team", most={"cpu": 4})
    operator = ground.operator()
    built(operator)
    async with ground.working(operator):

        async def others_are_there() -> bool:
            return await made(ground) == sorted((DEFAULT_QUOTA, SYSTEM_QUOTA))

        await ground.soon(others_are_there)
    assert (await ground.get(ELASTIC_QUOTAS.path("quotas", ROOT_QUOTA)))["spec"]["max"] == {"cpu": 1}
