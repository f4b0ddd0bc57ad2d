"""Node usage: measurements of monitoring systems in the cluster state, and failed requests."""

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
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.errors import ApiError
from pyroclast.model import wire
from pyroclast.model.ids import NodeName
from pyroclast.model.secrets import SecretText
from pyroclast.model.usage import NodeUsage, UsageSource

NOW = 1_800_000_000.0
NODES = (NodeName("n1"), NodeName("n2"), NodeName("n3"))
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Serve all paths with one function, and yield the address."""
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
    """Return an answer of Prometheus with values by instance."""
    result = [{"metric": {"instance": name}, "value": [moment, value]} for name, value in rows]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@dataclass
class FakePrometheus:
    """Answers both queries, and records them."""

    cpu: Any = field(default_factory=lambda: vector(("n1", "12.5"), ("n2", "80")))
    memory: Any = field(default_factory=lambda: vector(("n1", "40"), ("n2", "7.25")))
    status: int = 200
    queries: list[str] = field(default_factory=list)

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        """Answer a query."""
        assert request.path == "/api/v1/query"
        self.queries.append(request.query["query"])
        answer = self.cpu if request.query["query"] == CPU_QUERY else self.memory
        if isinstance(answer, str):
            return web.Response(text=answer, status=self.status, content_type="application/json")
        return web.json_response(answer, status=self.status)


def prometheus(address: str, **more: Any) -> UsageSource:
    """Return a source."""
    return UsageSource(type="prometheus", address=address, **more)


async def measured_by(fake: FakePrometheus) -> dict[NodeName, NodeUsage]:
    """Measure once with a fake."""
    async with serving(fake) as address:
        return await Prometheus(prometheus(address)).measure(NODES, NOW)


def usage(cpu: float, memory: float, measured: float = NOW) -> NodeUsage:
    """Return a measurement."""
    return NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=measured)


async def test_prometheus_gets_two_queries_for_all_nodes() -> None:
    """The averages of ten minutes are by instance. Nodes without series are left out."""
    fake = FakePrometheus()

    assert await measured_by(fake) == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}
    assert fake.queries == [CPU_QUERY, MEMORY_QUERY]
    assert "[10m:30s]" in CPU_QUERY
    assert "[10m:30s]" in MEMORY_QUERY


async def test_a_node_without_cpu_or_memory_is_not_measured() -> None:
    """CPU alone is not a measurement, and neither is a value that is not a number."""
    fake = FakePrometheus(
        cpu=vector(("n1", "1"), ("n2", "NaN"), ("n3", "+Inf")),
        memory=vector(("n2", "1"), ("n3", "1"), ("elsewhere", "1")),
    )

    assert await measured_by(fake) == {}


async def test_the_highest_of_several_series_of_a_node_counts() -> None:
    """The order of the series has no effect."""
    rows = [("n1", "5"), ("n1", "50"), ("n1", "20")]

    assert await measured_by(FakePrometheus(cpu=vector(*rows))) == {"n1": usage(50, 40)}


async def test_old_values_keep_their_time() -> None:
    """A value from a minute ago has that time. The time of a value in the future is the current time."""
    old, future = NOW - 60, NOW + 60
    fake = FakePrometheus(cpu=vector(("n1", "5"), moment=old))

    assert await measured_by(fake) == {"n1": usage(5, 40, old)}
    assert await measured_by(FakePrometheus(cpu=vector(("n1", "5"), moment=future))) == {"n1": usage(5, 40)}


@pytest.mark.parametrize(
    ("answer", "status", "message"),
    [
        ({"status": "error", "errorType": "bad_data", "error": "parse error"}, 400, "refused: 400"),
        ({"status": "error", "error": "query timed out"}, 200, "the query failed: query timed out"),
        ({"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}, 200, "type 'scalar'"),
        ({"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}}]}}, 200, "not a measurement"),
        ("<html>", 200, "not a measurement"),
        ("gateway", 502, "refused: 502 gateway"),
        ("\udcff".encode(errors="surrogateescape").decode("latin-1"), 200, "not a measurement"),
    ],
)
async def test_wrong_answers_are_failures(answer: Any, status: int, message: str) -> None:
    """An answer that is not a measurement must not make a node look idle."""
    with pytest.raises(SourceError, match=message):
        await measured_by(FakePrometheus(cpu=answer, status=status))


async def test_a_failed_memory_query_fails_the_measurement() -> None:
    """CPU alone is not a measurement."""
    with pytest.raises(SourceError):
        await measured_by(FakePrometheus(memory="broken"))


async def test_an_unreachable_address_is_a_failure() -> None:
    """An invalid address is a failure, too."""
    for address in ("http://127.0.0.1:1", "http://[", "http://nowhere.invalid"):
        with pytest.raises(SourceError):
            await Prometheus(prometheus(address)).measure(NODES, NOW)


async def test_unknown_certificates_are_refused_unless_verification_is_disabled() -> None:
    """`tls.insecureSkipVerify` disables the verification."""
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
        """Answer a request, or refuse it."""
        assert method == "GET"
        if path not in self._answers:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        return json.dumps(self._answers[path]).encode()


def items(*rows: tuple[str, str, str]) -> dict[str, Any]:
    """Return a list of the custom metrics API: node, value, time."""
    return {
        "kind": "MetricValueList",
        "items": [
            {"describedObject": {"kind": "Node", "name": name}, "timestamp": moment, "value": value}
            for name, value, moment in rows
        ],
    }


def adaptor(cpu: Any, memory: Any, version: str = "v1beta2") -> Adaptor:
    """Return an adaptor with a fake API server."""
    return Adaptor(cast("Client", FakeApi(cpu, memory, version)))


@pytest.mark.parametrize("version", ["v1beta2", "v1beta1"])
async def test_the_adaptor_returns_fractions_with_a_time(version: str) -> None:
    """Values are quantities, times 100. The older of two times counts. Any version of the API is accepted."""
    young, old = wire.time_text(NOW - 10), wire.time_text(NOW - 70)
    cpu = items(("n1", "250m", young), ("n2", "1", young), ("n3", "much", young), ("other", "1", young))
    memory = items(("n1", "500m", old), ("n2", "0", ""), ("n3", "1", young))

    found = await adaptor(cpu, memory, version).measure(NODES, NOW)

    assert found == {"n1": usage(25, 50, NOW - 70)}


async def test_a_missing_adaptor_is_a_failure() -> None:
    """An adaptor with another answer is a failure, too."""
    with pytest.raises(SourceError, match="node_cpu_usage_avg: 404"):
        await adaptor(items(), items(), "v2").measure(NODES, NOW)
    with pytest.raises(SourceError, match="not a list of metric values"):
        await adaptor({"items": [1]}, items()).measure(NODES, NOW)


async def test_elasticsearch_is_searched_once_for_all_nodes() -> None:
    """Fractions become percent. Nodes without documents, or without CPU or memory, are left out."""
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
async def test_a_search_with_partial_results_is_a_failure(answer: Any) -> None:
    """Partial results would show only a part of the load."""

    async def search(_: web.Request) -> web.StreamResponse:
        return web.json_response(answer)

    async with serving(search) as address:
        with pytest.raises(SourceError):
            await Elasticsearch(UsageSource(type="elasticsearch", address=address)).measure(NODES, NOW)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(status: int) -> None:
    """Credentials and queries reach only the configured address. The message names the other address."""
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
    """It is not a measurement, and the work continues."""

    async def nested(_: web.Request) -> web.StreamResponse:
        return web.Response(text='{"status": "success", "more": ' + "[" * 100_000 + "]" * 100_000 + "}")

    async with serving(nested) as address:
        with pytest.raises(SourceError, match="the answer is not a measurement"):
            await make(UsageSource(type="any", address=address)).measure(NODES, NOW)


class ManualClock:
    """A clock that the test advances. It ends the sleep of the watch."""

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
        """Wait until the test advances the clock."""
        self.slept.append(seconds)
        self._is_asleep = True
        await self._turned.wait()

    async def advance(self, seconds: float) -> None:
        """Wait until the watch sleeps, advance the clock, and end the sleep."""
        async with asyncio.timeout(30):
            while not self._is_asleep:  # noqa: ASYNC110 - no event marks the start of the sleep
                await asyncio.sleep(0.005)
        self._is_asleep = False
        self.now += seconds
        self._turned.set()
        self._turned = asyncio.Event()


@dataclass
class Watching:
    """A running watch."""

    state: ClusterState
    watch: UsageWatch
    clock: ManualClock
    failures: list[str]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition is true."""
        async with asyncio.timeout(30):
            while not condition():  # noqa: ASYNC110 - no event marks the end of a collection
                await asyncio.sleep(0.005)


@asynccontextmanager
async def watching(*nodes: str, collection_seconds: float = 5.0) -> AsyncIterator[Watching]:
    """Yield a running watch of a cluster with these nodes."""
    state, clock, failures = ClusterState(), ManualClock(), list[str]()
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


async def test_measurements_are_in_the_snapshot_after_every_interval() -> None:
    """Each collection makes a new snapshot, and the interval passes between collections."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.set_source(prometheus(address, interval_seconds=7.0))
        await there.until(lambda: bool(there.state.usage))
        first = there.state.snapshot()
        fake.cpu = vector(("n1", "99"), moment=NOW + 7)
        fake.memory = vector(("n1", "40"), moment=NOW + 7)
        await there.clock.advance(7.0)
        await there.until(lambda: there.state.usage[NODES[0]].cpu_percent == 99)
        second = there.state.snapshot()

    assert first.usage == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}
    assert second.usage == {"n1": usage(99, 40, NOW + 7), "n2": usage(80, 7.25)}
    assert second.generation > first.generation
    assert set(there.clock.slept) == {7.0}


async def test_a_failure_is_counted_and_earlier_measurements_stay() -> None:
    """A measurement keeps its time, so an outage does not make it fresh."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.set_source(prometheus(address))
        await there.until(lambda: bool(there.state.usage))
        fake.status = 500
        await there.clock.advance(30.0)
        await there.until(lambda: there.failures == ["prometheus"])
        known = there.state.usage
        fake.status = 200
        fake.cpu = vector(("n1", "1"), moment=NOW + 60)
        await there.clock.advance(30.0)
        await there.until(lambda: there.state.usage[NODES[0]].cpu_percent == 1)

    assert known == {"n1": usage(12.5, 40), "n2": usage(80, 7.25)}


async def test_a_collection_has_a_timeout() -> None:
    """The next collection follows after the interval."""

    async def silent(_: web.Request) -> web.StreamResponse:
        await asyncio.sleep(0.3)
        return web.Response()

    async with serving(silent) as address, watching(collection_seconds=0.05) as there:
        there.watch.set_source(prometheus(address))
        await there.until(lambda: there.failures == ["prometheus"])

    assert there.state.usage == {}


async def test_series_without_any_node_are_a_failure() -> None:
    """Series by address and port would leave every node unmeasured without a warning."""
    fake = FakePrometheus(cpu=vector(("10.0.0.1:9100", "5")))
    async with serving(fake) as address, watching() as there:
        there.watch.set_source(prometheus(address))
        await there.until(lambda: there.failures == ["prometheus"])


async def test_a_changed_source_is_read_immediately() -> None:
    """A reload of the configuration does not wait for the interval. Without a source there are no measurements."""
    first, second = FakePrometheus(), FakePrometheus(cpu=vector(("n3", "3")), memory=vector(("n3", "4")))
    async with serving(first) as one, serving(second) as other, watching() as there:
        there.watch.set_source(prometheus(one))
        await there.until(lambda: "n1" in there.state.usage)
        there.watch.set_source(prometheus(other))
        await there.until(lambda: "n3" in there.state.usage)
        there.watch.set_source(None)
        await there.until(lambda: not there.state.usage)

    assert len(first.queries) == 2


async def test_deleted_nodes_are_forgotten() -> None:
    """Their measurements are dropped."""
    fake = FakePrometheus()
    async with serving(fake) as address, watching() as there:
        there.watch.set_source(prometheus(address))
        await there.until(lambda: "n2" in there.state.usage)
        there.state.remove("Node", there.state.stored("Node")["n2"])
        await there.clock.advance(30.0)
        await there.until(lambda: "n2" not in there.state.usage)

    assert set(there.state.usage) == {"n1"}


async def test_an_adaptor_without_its_api_is_reported() -> None:
    """The failure has the type of the source."""
    async with watching() as there:
        there.watch.set_source(UsageSource(type="prometheus_adaptor"))
        await there.until(lambda: there.failures == ["prometheus_adaptor"])
