"""Which nodes a pod's tree of quotas has, as far as quotas and profiles are known."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from pyroclast.controllers.admission.cluster import AdmissionCluster
from pyroclast.kube.api.client import Client
from pyroclast.model.elastic.names import TREE_ID
from tests.elastic_quotas import elastic_quota

PROFILES = [
    {
        "metadata": {"name": tree, "namespace": "quotas", "labels": {TREE_ID: tree}},
        "spec": {"quotaName": f"{tree}-root", "nodeSelector": {"matchLabels": {"pool": tree}}},
    }
    for tree in ("cpus", "gpus")
]


class Given:
    """A client of a server that has what the test gives, lists that come when it says so, and no changes."""

    def __init__(self, items: Mapping[str, Sequence[Any]]) -> None:
        self.items = items
        self.may_answer = {plural: asyncio.Event() for plural in items}

    async def request(self, _: str, path: str, **__: object) -> bytes:
        """Answer a list once it may be."""
        plural = path.rpartition("/")[2]
        await self.may_answer[plural].wait()
        return json.dumps({"metadata": {"resourceVersion": "1"}, "items": self.items[plural]}).encode()

    @asynccontextmanager
    async def stream(self, *_: object, **__: object) -> AsyncIterator[asyncio.StreamReader]:
        """Say nothing."""
        yield asyncio.StreamReader()


@asynccontextmanager
async def following(quotas: Sequence[Any]) -> AsyncIterator[tuple[AdmissionCluster, Given]]:
    """Follow a cluster with these quotas for the length of a block."""
    given = Given({"queues": [], "namespaces": [], "elasticquotas": quotas, "elasticquotaprofiles": PROFILES})
    cluster = AdmissionCluster(cast("Client", cast("object", given)))
    running = asyncio.create_task(cluster.run())
    try:
        async with asyncio.timeout(30):
            yield cluster, given
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def lists_come(cluster: AdmissionCluster, given: Given, *plurals: str) -> bool:
    """Deliver lists; return whether the cluster counts as known."""
    for plural in plurals:
        given.may_answer[plural].set()
    for _ in range(50):
        await asyncio.sleep(0)
    return cluster.is_synced


async def test_pods_do_not_wait_where_no_trees_are_known() -> None:
    """No reviews are answered before the lists; answers without the profiles would let pods of trees run anywhere."""
    async with following([]) as (cluster, given):
        assert not await lists_come(cluster, given, "queues", "namespaces")
        assert not await lists_come(cluster, given, "elasticquotas")
        assert await lists_come(cluster, given, "elasticquotaprofiles")


async def test_the_older_of_two_quotas_of_a_name_selects_the_nodes() -> None:
    """As for the scheduler."""
    young = elastic_quota("team", tree="cpus", namespace="a", creationTimestamp="2026-01-02T00:00:00Z")
    old = elastic_quota("team", tree="gpus", namespace="b", creationTimestamp="2026-01-01T00:00:00Z")
    async with following([young, old]) as (cluster, given):
        assert await lists_come(cluster, given, *given.items)
        nodes = cluster.nodes_of_tree("team", "")
    assert nodes is not None
    assert nodes.match_labels == {"pool": "gpus"}
