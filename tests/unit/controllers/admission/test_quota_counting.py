"""New pods are counted in their elastic quotas, and refused beyond them."""

import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pyroclast.controllers.admission import quota_counting
from pyroclast.controllers.admission.quota_counting import QuotaCounter, beyond
from pyroclast.kube.api.resources import ELASTIC_QUOTAS
from pyroclast.model.elastic.names import ADMISSION, CHILD_REQUEST, DEFAULT_QUOTA, NAMESPACES
from pyroclast.model.errors import CacheError
from tests.elastic_quotas import elastic_quota, uses
from tests.unit.controllers.admission.test_server import Asking, asking
from tests.unit.controllers.ground import Ground

PODS = {"group": "", "version": "v1", "resource": "pods"}


@pytest.fixture(autouse=True)
async def namespace(ground: Ground) -> None:
    """Where the quotas are."""
    await ground.post("/api/v1/namespaces", {"metadata": {"name": "quotas"}})


async def create(ground: Ground, name: str, **more: Any) -> None:
    """Create a quota."""
    quota = elastic_quota(name, **more)
    await ground.post(ELASTIC_QUOTAS.collection(quota["metadata"]["namespace"]), quota)


async def ask(api: Asking, quota: str = "team", *, cpu: str = "1", **more: Any) -> str | None:
    """Ask about a new pod; return why it is refused."""
    requests = {"cpu": cpu, "example.com/card": "5"}
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests}}]
    spec: dict[str, Any] = {"schedulerName": "volcano", "containers": containers}
    pod = {"metadata": {"name": "p", "labels": uses(quota)}, "spec": spec | more.pop("spec", {})}
    answer = await api.ask(
        "/pods/validate", **{"operation": "CREATE", "object": pod, "resource": PODS, "namespace": "ml", **more}
    )
    return None if answer["allowed"] else str(answer["status"]["message"])


async def counted(ground: Ground, name: str = "team") -> Any:
    """What the annotation of a quota says."""
    quota = await ground.get(ELASTIC_QUOTAS.path("quotas", name))
    return json.loads(quota["metadata"].get("annotations", {}).get(CHILD_REQUEST, "{}"))


async def test_pods_are_accepted_up_to_the_maximum(ground: Ground) -> None:
    """Each is written down at once; what the quota does not count is not limited."""
    await create(ground, "team", most={"cpu": "2500m"})
    async with asking(ground, counts_quota_requests=True) as api:
        assert [await ask(api), await ask(api)] == [None, None]
        assert await counted(ground) == {"cpu": "2"}
        refused = await ask(api)
        assert refused is not None
        assert "exceeded quota: quotas/team, requested: cpu=1, used: cpu=2, limited: cpu=2500m" in refused
        assert await ask(api, cpu="500m") is None
    assert await counted(ground) == {"cpu": "2500m"}


async def test_the_annotation_replaces_the_maximum(ground: Ground) -> None:
    """`admission` is the limit, and what the scheduler counted is the start."""
    notes = {ADMISSION: '{"cpu": "10"}', CHILD_REQUEST: '{"cpu": "9", "memory": "1Gi"}'}
    await create(ground, "team", most={"cpu": 2, "memory": "2Gi"}, annotations=notes)
    async with asking(ground, counts_quota_requests=True) as api:
        assert await ask(api) is None
        assert await ask(api) is not None
    assert await counted(ground) == {"cpu": "10", "memory": "1Gi"}


async def test_pods_that_come_together_share_what_is_there(ground: Ground) -> None:
    """Thirty at once for two replicas: ten are accepted, no more, in few writes."""
    await create(ground, "team", most={"cpu": 10})
    async with asking(ground, counts_quota_requests=True) as api, asking(ground, counts_quota_requests=True) as other:
        before = await version(ground)
        answers = await asyncio.gather(*(ask(each) for each in [api, other] * 15))
    assert sum(answer is None for answer in answers) == 10
    assert await counted(ground) == {"cpu": "10"}
    assert await version(ground) != before


async def version(ground: Ground) -> str:
    """The version of the quota."""
    quota = await ground.get(ELASTIC_QUOTAS.path("quotas", "team"))
    return str(quota["metadata"]["resourceVersion"])


async def test_the_quota_is_that_of_the_scheduler(ground: Ground) -> None:
    """Quotas by label, else by namespace; built-in quotas and pods without a quota do not count, others must exist."""
    await create(ground, "team", most={"cpu": 1}, annotations={NAMESPACES: '["ml"]'})
    async with asking(ground, counts_quota_requests=True) as api:
        assert await ask(api, "") is None
        assert await counted(ground) == {"cpu": "1"}
        assert await ask(api, "") is not None
        assert await ask(api, "", namespace="other") is None
        assert await ask(api, DEFAULT_QUOTA) is None
        refused = await ask(api, "unknown")
        assert refused is not None
        assert "elastic quota unknown not found" in refused
        await create(ground, "unknown", most={"cpu": 1})
        assert await ask(api, "unknown") is None


@pytest.mark.parametrize(
    ("enabled", "more"),
    [
        (False, {}),
        (True, {"dryRun": True}),
        (True, {"operation": "UPDATE"}),
        (True, {"spec": {"schedulerName": "default-scheduler"}}),
    ],
)
async def test_only_new_pods_of_ours_are_counted(ground: Ground, *, enabled: bool, more: dict[str, Any]) -> None:
    """Where it is enabled, and not on trial."""
    await create(ground, "team", most={"cpu": 0})
    async with asking(ground, counts_quota_requests=enabled) as api:
        assert await ask(api, **more) is None
    assert await counted(ground) == {}


async def test_a_refused_pod_is_not_counted(ground: Ground) -> None:
    """Its other faults come first."""
    await create(ground, "team", most={"cpu": 9})
    async with asking(ground, counts_quota_requests=True) as api:
        refused = await ask(api, spec={"nodeName": "n1"})
    assert refused is not None
    assert "spec.nodeName" in refused
    assert await counted(ground) == {}


async def test_an_unreadable_count_refuses(ground: Ground) -> None:
    """What is counted is not known; the scheduler writes it anew."""
    await create(ground, "team", most={"cpu": 9}, annotations={CHILD_REQUEST: "many"})
    async with asking(ground, counts_quota_requests=True) as api:
        refused = await ask(api)
    assert refused is not None
    assert "elastic quota quotas/team could not be evaluated" in refused


class Listed:
    """The cluster of a counter: quotas by name, without an API server."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers

    async def quota_of(self, quota: str, _namespace: str) -> Any:
        """Return the quota, or raise, or never answer."""
        answer = self.answers[quota]
        if isinstance(answer, Exception):
            raise answer
        if answer == "never":
            await asyncio.Event().wait()
        return SimpleNamespace(metadata=SimpleNamespace(name=quota, key=f"quotas/{quota}"))


class Server:
    """An API server that answers nothing, or a body."""

    def __init__(self, body: bytes | Exception | None) -> None:
        self.body = body

    async def request(self, *_: Any, **__: Any) -> bytes:
        """Answer."""
        if isinstance(self.body, Exception):
            raise self.body
        if self.body is None:
            await asyncio.Event().wait()
        assert isinstance(self.body, bytes)
        return self.body


def counter(cluster: Listed, body: bytes | Exception | None = None, seconds: float = 0.2) -> QuotaCounter:
    """Return a counter."""
    return QuotaCounter(Server(body), cluster, seconds=seconds)  # type: ignore[arg-type]  # as much as is used of both


def pod_of(quota: str) -> dict[str, Any]:
    """Return a pod that names a quota."""
    return {"metadata": {"labels": uses(quota)}, "spec": {"containers": [{"name": "c"}]}}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (CacheError("the elastic quotas could not be listed"), "could not be evaluated: the elastic quotas could not"),
        ("never", "evaluation timed out after 0.2 s"),
    ],
)
async def test_a_quota_that_cannot_be_looked_up_is_not_called_missing(answer: Any, message: str) -> None:
    """The answer comes before the API server stops to wait for it."""
    fault = await asyncio.wait_for(counter(Listed(team=answer)).count(pod_of("team"), "ml"), 5)
    assert fault is not None
    assert message in fault.rule


@pytest.mark.parametrize(
    "body", [b"[]", b'{"metadata": {"name": "team"}, "spec": 7}', ValueError("odd"), RecursionError()]
)
async def test_an_odd_quota_refuses_at_once(body: Any) -> None:
    """Whatever is wrong with it, its pods do not wait for the time limit."""
    fault = await asyncio.wait_for(counter(Listed(team=True), body, seconds=60).count(pod_of("team"), "ml"), 5)
    assert fault is not None
    assert "elastic quota quotas/team could not be evaluated" in fault.rule


async def test_many_pods_of_one_quota_do_not_refuse_those_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """While all places are taken, a quota without waiting pods still gets its part."""
    monkeypatch.setattr(quota_counting, "_MOST_WAITING", 8)
    counting = counter(Listed(many=True, few=True), seconds=0.5)
    many = [asyncio.create_task(counting.count(pod_of("many"), "ml")) for _ in range(12)]
    await asyncio.sleep(0.05)
    few = [asyncio.create_task(counting.count(pod_of("few"), "ml")) for _ in range(6)]
    faults = await asyncio.gather(*many, *few)
    rules = [fault.rule for fault in faults if fault is not None]

    assert sum("many: 8 of its pods wait" in rule for rule in rules) == 4
    assert [rule for rule in rules[12:] if "wait to be counted" in rule] == [
        "elastic quota quotas/few: 4 of its pods wait to be counted already; try again"
    ] * 2


@pytest.mark.parametrize(
    ("request_", "used", "limit", "names"),
    [
        ({"cpu": 1000}, {}, {}, []),
        ({"cpu": 1000, "memory": 1}, {"cpu": 1000}, {"cpu": 2000, "memory": 0}, ["memory"]),
        ({"cpu": 1000}, {"cpu": 1000, "memory": 5}, {"cpu": 2000, "memory": 0}, []),
    ],
)
def test_only_requested_resources_are_compared(
    request_: dict[str, int], used: dict[str, int], limit: dict[str, int], names: Sequence[str]
) -> None:
    """Unlike the scheduler, which refuses all pods of a quota beyond its limit."""
    fault = beyond("quotas/q", request_, used, limit)
    assert (fault is not None) is bool(names)
    assert fault is None or all(f"requested: {name}=" in fault.rule for name in names)
