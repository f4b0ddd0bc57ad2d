"""Usage: what monitoring systems answer comes into the books; what they fail to answer changes nothing."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import trustme
from aiohttp import web

from pyroclast.cache.state import ClusterState
from pyroclast.cache.usage.adaptor import Adaptor
from pyroclast.cache.usage.elasticsearch import Elasticsearch
from pyroclast.cache.usage.prometheus import CPU_QUERY, MEMORY_QUERY, Prometheus
from pyroclast.cache.usage.source import SourceError
from pyroclast.cache.usage.watch import UsageWatch
from pyroclast.kube.client import Client
from pyroclast.kube.errors import ApiError
from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.secrets import SecretText
from pyroclast.model.usage import NodeUsage, UsageSource

NOW = 1_800_000_000.0
NODES = (NodeName("n1"), NodeName("n2"), NodeName("n3"))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """A server whose every path is answered by one function; gives its address."""
    app = web.Application()

    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(request)

    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{port}"
    finally:
        await runner.cleanup()


def vector(*rows: tuple[str, str], moment: float = NOW) -> dict[str, Any]:
    """An answer of Prometheus: values by instance."""
    result = [{"metric": {"instance": name}, "value": [moment, value]} for name, value in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@dataclass
class FakePrometheus:
    """Answers both queries, and remembers them."""

    cpu: Any = field(default_factory=lambda: vector(("n1", "12.5"), ("n2", "80")))
    memory: Any = field(default_factory=lambda: vector(("n1", "40"), ("n2", "7.25")))
    status: int = 200
    queries: list[str] = field(default_factory=list)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Answer."""
        assert request.path == "/api/v1/query"
        self.queries.append(request.query["query"])
        answer = self.cpu if request.query["query"] == CPU_QUERY else self.memory
        if isinstance(answer, str):
            return web.Response(text=answer, status=self.status, content_type="application/json")
        return web.json_response(answer, status=self.status)


def prometheus(address: str, **more: Any) -> UsageSource:
    """A source."""
    return UsageSource(type="prometheus", address=address, **more)


async def asked(fake: FakePrometheus) -> dict[NodeName, NodeUsage]:
    """Ask a fake once."""
    async with serving(fake) as address:
        return await Prometheus(prometheus(address)).measure(NODES, NOW)


def usage(cpu: float, memory: float, measured: float = NOW) -> NodeUsage:
    """A measurement."""
    return NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=measured)


async def test_prometheus_is_asked_twice_for_all_nodes() -> None:
    """Averages over ten minutes come by instance; nodes without series are left out."""
    fake = FakePrometheus()

    assert await asked(fake) == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}
    assert fake.queries == [CPU_QUERY, MEMORY_QUERY]
    assert "[10m:30s]" in CPU_QUERY
    assert "[10m:30s]" in MEMORY_QUERY


async def test_a_node_without_one_of_both_is_not_measured() -> None:
    """CPU alone is no load; neither is a value that is no number."""
    fake = FakePrometheus(
        cpu=vector(("n1", "1"), ("n2", "NaN"), ("n3", "+Inf")),
        memory=vector(("n2", "1"), ("n3", "1"), ("elsewhere", "1")),
    )

    assert await asked(fake) == {}


async def test_of_several_series_of_a_node_the_highest_counts() -> None:
    """Whatever their order."""
    rows = [("n1", "5"), ("n1", "50"), ("n1", "20")]

    assert await asked(FakePrometheus(cpu=vector(*rows))) == {"n1": usage(50, 40)}


async def test_old_values_keep_their_moment() -> None:
    """A value from a minute ago is a minute old; one from the future is of now."""
    old, future = NOW - 60, NOW + 60
    fake = FakePrometheus(cpu=vector(("n1", "5"), moment=old))

    assert await asked(fake) == {"n1": usage(5, 40, old)}
    assert await asked(FakePrometheus(cpu=vector(("n1", "5"), moment=future))) == {"n1": usage(5, 40)}


@pytest.mark.parametrize(
    ("answer", "status", "told"),
    [
        ({"status": "error", "errorType": "bad_data", "error": "parse error"}, 400, "refused: 400"),
        ({"status": "error", "error": "query timed out"}, 200, "the query failed: query timed out"),
        ({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}, 200, "type 'scalar'"),
        ({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}}]}}, 200, "no measurement"),
        ("<html>", 200, "no measurement"),
        ("gateway", 502, "refused: 502 gateway"),
        ("\udcff".encode(errors="surrogateescape").decode("latin-1"), 200, "no measurement"),
    ],
)
async def test_wrong_answers_are_failures(answer: Any, status: int, told: str) -> None:
    """An answer that is no measurement is never taken for an idle node."""
    with pytest.raises(SourceError, match=told):
        await asked(FakePrometheus(cpu=answer, status=status))


async def test_a_memory_query_that_fails_fails_the_whole() -> None:
    """Half a measurement is none."""
    with pytest.raises(SourceError):
        await asked(FakePrometheus(memory="broken"))


async def test_nobody_at_the_address_is_a_failure() -> None:
    """So is an address that is none."""
    for address in ("http://127.0.0.1:1", "http://[", "http://nowhere.invalid"):
        with pytest.raises(SourceError):
            await Prometheus(prometheus(address)).measure(NODES, NOW)


async def test_unknown_certificates_are_refused_unless_they_may_go_unchecked() -> None:
    """`tls.insecureSkipVerify` is what it says."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(server)

    async with serving(FakePrometheus(), tls=server) as address:
        with pytest.raises(SourceError, match="certificate"):
            await Prometheus(prometheus(address)).measure(NODES, NOW)
        assert set(await Prometheus(prometheus(address, is_insecure=True)).measure(NODES, NOW)) == {"n1", "n2"}


class FakeApi:
    """An API server with custom metrics of one version."""

    def __init__(self, cpu: Any, memory: Any, version: str = "v1beta2") -> None:
        self._answers = {
            f"/apis/custom.metrics.k8s.io/{version}/nodes/*/node_cpu_usage_avg": cpu,
            f"/apis/custom.metrics.k8s.io/{version}/nodes/*/node_memory_usage_avg": memory,
        }

    async def request(self, method: str, path: str) -> bytes:
        """Answer, or refuse."""
        assert method == "GET"
        if path not in self._answers:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return json.dumps(self._answers[path]).encode()


def items(*rows: tuple[str, str, str]) -> dict[str, Any]:
    """A list of the custom metrics API: node, value, moment."""
    return {
        "kind": "MetricValueList",
        "items": [
            {"describedObject": {"kind": "Node", "name": name}, "timestamp": moment, "value": value}
            for name, value, moment in rows
        ],
    }


def adaptor(cpu: Any, memory: Any, version: str = "v1beta2") -> Adaptor:
    """The adaptor behind a fake API server."""
    return Adaptor(cast("Client", FakeApi(cpu, memory, version)))


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_the_adaptor_tells_fractions_with_their_moment(version: str) -> None:
    """Values are quantities, times 100; the older of two moments holds; any version of the API will do."""
    young, old = wire.time_text(NOW - 10), wire.time_text(NOW - 70)
    cpu = items(("n1", "250m", young), ("n2", "1", young), ("n3", "much", young), ("other", "1", young))
    memory = items(("n1", "500m", old), ("n2", "0", ""), ("n3", "1", young))

    found = await adaptor(cpu, memory, version).measure(NODES, NOW)

    assert found == {"n1": usage(25, 50, NOW - 70)}


async def test_an_adaptor_that_is_not_there_is_a_failure() -> None:
    """So is one that answers something else."""
    with pytest.raises(SourceError, match="node_cpu_usage_avg: 404"):
        await adaptor(items(), items(), "v2").measure(NODES, NOW)
    with pytest.raises(SourceError, match="no measurement"):
        await adaptor({"items": [1]}, items()).measure(NODES, NOW)


async def test_elasticsearch_is_searched_once_for_all_nodes() -> None:
    """Fractions become percent; nodes without documents, or without one of both, are left out."""
    bodies: list[Any] = []

    async def search(request: web.Request) -> web.StreamResponse:
        assert request.path == "/beats-*/_search"
        assert request.headers["Authorization"].startswith("Basic ")
        bodies.append(await request.json())
        buckets = [
            {"key": "n1", "cpu": {"value": 0.5}, "memory": {"value": 0.25}},
            {"key": "n2", "cpu": {"value": None}, "memory": {"value": 0.25}},
            {"key": "other", "cpu": {"value": 1}, "memory": {"value": 1}},
        ]
        return web.json_response({"timed_out": False, "aggregations": {"nodes": {"buckets": buckets}}})

    async with serving(search) as address:
        source = UsageSource(
            type="elasticsearch",
            address=address,
            index="beats-*",
            username="u",
            password=SecretText("p"),
            host_field="node",
        )
        found = await Elasticsearch(source).measure(NODES, NOW)

    assert found == {"n1": usage(50, 25)}
    filters = bodies[0]["query"]["bool"]["filter"]
    assert filters[0]["range"]["@timestamp"]["gte"] == "now-10m"
    assert filters[1] == {"terms": {"node": ["n1", "n2", "n3"]}}


@pytest.mark.parametrize("answer", [{"timed_out": True, "aggregations": {"nodes": {"buckets": []}}}, {"hits": {}}])
async def test_a_search_cut_short_is_a_failure(answer: Any) -> None:
    """Part of the documents would be part of the load."""

    async def search(_: web.Request) -> web.StreamResponse:
        return web.json_response(answer)

    async with serving(search) as address:
        with pytest.raises(SourceError):
            await Elasticsearch(UsageSource(type="elasticsearch", address=address)).measure(NODES, NOW)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """Credentials and queries go to the configured address alone; the message names the other one."""
    asked: list[str] = []

    async def elsewhere(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return web.json_response(vector())

    async with serving(elsewhere) as target:

        async def redirect(_: web.Request) -> web.StreamResponse:
            return web.Response(status=status, headers={"Location": f"{target}/api"})

        async with serving(redirect) as address:
            source = UsageSource(type="prometheus", address=address, username="u", password=SecretText("p"))
            with pytest.raises(SourceError, match=f"redirected to '{target}/api'"):
                await Prometheus(source).measure(NODES, NOW)

    assert asked == []


@pytest.mark.parametrize("make", [Prometheus, Elasticsearch])
async def test_an_answer_that_is_nested_too_deeply_is_a_failure(make: Callable[[UsageSource], Any]) -> None:
    """It is no measurement, and ends nothing else."""

    async def nested(_: web.Request) -> web.StreamResponse:
        return web.Response(text='{"status": "success", "more": ' + "[" * 100_000 + "]" * 100_000 + "}")

    async with serving(nested) as address:
        with pytest.raises(SourceError, match="an answer that is no measurement"):
            await make(UsageSource(type="any", address=address)).measure(NODES, NOW)


class Hand:
    """A clock that the test moves; whoever sleeps is woken by it."""

    def __init__(self) -> None:
        self.now = NOW
        self.slept: list[float] = []
        self._is_asleep = False
        self._turned = asyncio.Event()

    def monotonic(self) -> float:
        """Seconds."""
        return self.now

    def wall(self) -> float:
        """Seconds since 1970."""
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock is turned."""
        self.slept.append(seconds)
        self._is_asleep = True
        await self._turned.wait()

    async def turn(self, seconds: float) -> None:
        """Let time pass once somebody sleeps, and wake him."""
        async with asyncio.timeout(30):
            while not self._is_asleep:  # noqa: ASYNC110 - who goes to sleep tells nobody
                await asyncio.sleep(0.005)
        self._is_asleep = False
        self.now += seconds
        self._turned.set()
        self._turned = asyncio.Event()


@dataclass
class Watching:
    """A watch at work."""

    state: ClusterState
    watch: UsageWatch
    clock: Hand
    failures: list[str]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Let the watch work until something is so."""
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 - the watch tells nobody when it is done
                await asyncio.sleep(0.005)


@asynccontextmanager
async def watching(*nodes: str, collection_seconds: float = 5.0) -> AsyncIterator[Watching]:
    """A watch of a cluster with some nodes."""
    state, clock, failures = ClusterState(), Hand(), list[str]()
    for name in nodes or NODES:
        state.apply("Node", wire.Node(metadata=wire.ObjectMeta(name=name, uid=name)))
    client = cast("Client", FakeApi(items(), items(), "none"))
    watch = UsageWatch(state, client, on_failure=failures.append, clock=clock, collection_seconds=collection_seconds)
    running = asyncio.create_task(watch.run())
    try:
        yield Watching(state, watch, clock, failures)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_measurements_come_into_the_snapshot_every_interval() -> None:
    """Each collection makes a new snapshot; the interval is waited for between them."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.follow(prometheus(address, interval_seconds=7.0))
        await there.until(lambda: bool(there.state.usage))
        first = there.state.snapshot()
        fake.cpu = vector(("n1", "99"), moment=NOW + 7)
        fake.memory = vector(("n1", "40"), moment=NOW + 7)
        await there.clock.turn(7.0)
        await there.until(lambda: there.state.usage[NODES[0]].cpu_percent == 99)
        second = there.state.snapshot()

    assert first.usage == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}
    assert second.usage == {"n1": usage(99, 40, NOW + 7), "n2": usage(80, 7.25)}
    assert second.generation > first.generation
    assert set(there.clock.slept) == {7.0}


async def test_a_failure_is_counted_and_what_was_known_stays() -> None:
    """A measurement keeps its moment: it is not made fresh by an outage."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.follow(prometheus(address))
        await there.until(lambda: bool(there.state.usage))
        fake.status = 500
        await there.clock.turn(30.0)
        await there.until(lambda: there.failures == ["prometheus"])
        known = there.state.usage
        fake.status = 200
        fake.cpu = vector(("n1", "1"), moment=NOW + 60)
        await there.clock.turn(30.0)
        await there.until(lambda: there.state.usage[NODES[0]].cpu_percent == 1)

    assert known == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}


async def test_a_source_that_never_answers_is_given_up() -> None:
    """A collection has its time; then the next interval is waited for."""

    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.3)
        return web.Response()

    async with serving(silent) as address, watching(collection_seconds=0.05) as there:
        there.watch.follow(prometheus(address))
        await there.until(lambda: there.failures == ["prometheus"])

    assert there.state.usage == {}


async def test_series_of_other_machines_are_a_failure() -> None:
    """Series by address and port, not by node, would leave every node unmeasured in silence."""
    fake = FakePrometheus(cpu=vector(("10.0.0.1:9100", "5")))
    async with serving(fake) as address, watching() as there:
        there.watch.follow(prometheus(address))
        await there.until(lambda: there.failures == ["prometheus"])


async def test_another_source_is_asked_at_once() -> None:
    """A reload of the configuration does not wait for the interval; without a source nothing is known."""
    first, second = FakePrometheus(), FakePrometheus(cpu=vector(("n3", "3")), memory=vector(("n3", "4")))
    async with serving(first) as one, serving(second) as other, watching() as there:
        there.watch.follow(prometheus(one))
        await there.until(lambda: "n1" in there.state.usage)
        there.watch.follow(prometheus(other))
        await there.until(lambda: "n3" in there.state.usage)
        there.watch.follow(None)
        await there.until(lambda: not there.state.usage)

    assert len(first.queries) == 2


async def test_nodes_that_are_gone_are_forgotten() -> None:
    """What was known of them is not kept."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.follow(prometheus(address))
        await there.until(lambda: "n2" in there.state.usage)
        there.state.remove("Node", there.state.stored("Node")["n2"])
        await there.clock.turn(30.0)
        await there.until(lambda: "n2" not in there.state.usage)

    assert set(there.state.usage) == {"n1"}


async def test_an_adaptor_without_its_api_is_told() -> None:
    """By its type."""
    async with watching() as there:
        there.watch.follow(UsageSource(type="prometheus_adaptor"))
        await there.until(lambda: there.failures == ["prometheus_adaptor"])
