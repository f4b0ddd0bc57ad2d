"""B8: binds a second through a real kube-apiserver, ours against a bare client's, in turns on one server.

A round makes 5,000 pods in gangs of 100 beside 1,000 nodes that are objects alone, then lets one of the two begin, and
counts bound pods on a watch. Ours is the daemon with the default plugins; its time runs from the moment when its lists
are in, so snapshot and decisions are part of it. The bare client, which has listed the pods too, only binds, to nodes
in turn, while it holds a pod watch. Events queue behind binds: what they take to drain is noted. Because server and
client share the machine's cores, what each spends of them on a bind is noted too: it varies less than the rate does.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import msgspec
import uvloop

from benchmarks import clusters
from benchmarks.clusters import Object
from benchmarks.cycles import DEFAULT
from benchmarks.ground import UNLIMITED, WAIT_SECONDS, Ground
from benchmarks.inputs import Input
from benchmarks.processes import cpu_seconds
from benchmarks.results import Result, at_least
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import POD_GROUPS, PODS
from tests.e2e.controlplane import ControlPlane, assets_folder, missing_binaries

__all__ = ["BENCHMARKS", "INPUTS", "PodEvent", "is_synced", "wait_until"]

NODE_COUNT, POD_COUNT, GANG = 1000, 5000, 100
BUDGET = at_least(75, "%")
EVENTS = f"/api/v1/namespaces/{clusters.NAMESPACE}/events"


@dataclass(frozen=True, slots=True)
class Round:
    """Result of one round."""

    binds_per_second: float
    client_cpu_millis: float
    """Spent by the one who binds, a bind."""
    server_cpu_millis: float
    """Spent by the API server, a bind."""
    drain_seconds: float = 0.0
    """From the last bind to the last event."""


class Spent:
    """Processor time that client and server spend from now on."""

    def __init__(self, client: int) -> None:
        self._pids = client, _api_server()
        self._before = tuple(cpu_seconds(pid) for pid in self._pids)

    def millis_per_bind(self) -> tuple[float, float]:
        """Return what each has spent on a bind so far."""
        client, server = (
            (cpu_seconds(pid) - before) * 1000 / POD_COUNT for pid, before in zip(self._pids, self._before, strict=True)
        )
        return client, server


def _api_server() -> int:
    """Find the API server among this process's children."""
    for child in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        if Path(f"/proc/{child}/comm").read_text().strip() == "kube-apiserver":
            return int(child)
    raise RuntimeError("no kube-apiserver was started here")


class _Spec(msgspec.Struct, rename="camel"):
    node_name: str = ""


class _Metadata(msgspec.Struct):
    name: str


class _Pod(msgspec.Struct):
    metadata: _Metadata
    spec: _Spec


class PodEvent(msgspec.Struct):
    """An event of a watch of pods, as far as the benchmarks read it."""

    object: _Pod


class _Count(msgspec.Struct, rename="camel"):
    remaining_item_count: int = 0
    resource_version: str = ""


class _Page(msgspec.Struct):
    metadata: _Count
    items: list[msgspec.Raw]


class Course(Ground):
    """A cluster, and clients that bind its pods in turns."""

    def __init__(self, client: Client, kubeconfig: Path, folder: Path, seed: int) -> None:
        super().__init__(client, kubeconfig, folder)
        self._seed = seed

    async def lay(self) -> None:
        """Make everything but the gangs."""
        await self.prepare()
        await self._create("Queue", "Node")

    async def bound(self, begin: Callable[[], Awaitable[None]]) -> tuple[float, float]:
        """Give the signal, and return the moments at which the first and the last pod were seen bound."""
        page = await self._page(PODS.collection(clusters.NAMESPACE))
        bound = set[str]()
        first = 0.0
        decode = msgspec.json.Decoder(PodEvent).decode
        params = {"watch": "1", "resourceVersion": page.metadata.resource_version}
        path = PODS.collection(clusters.NAMESPACE)
        async with self.client.stream(path, params=params, silence_seconds=WAIT_SECONDS) as lines:
            await begin()
            while len(bound) < POD_COUNT:
                event = decode(await lines.readline())
                if event.object.spec.node_name:
                    first = first or time.time()
                    bound.add(event.object.metadata.name)
        return first, time.time()

    async def make_pods(self) -> None:
        """Make the gangs."""
        await self._create("PodGroup", "Pod")

    async def clear(self) -> None:
        """Delete pods, groups and events."""
        at_once = msgspec.json.encode({"gracePeriodSeconds": 0})
        for path in (PODS.collection(clusters.NAMESPACE), POD_GROUPS.collection(clusters.NAMESPACE), EVENTS):
            await self.client.request("DELETE", path, body=at_once, timeout=WAIT_SECONDS)

    async def _page(self, path: str, **params: str) -> _Page:
        return msgspec.json.decode(await self.client.request("GET", path, params=params), type=_Page)

    async def _create(self, *kinds: str) -> None:
        await self.create(each for each in INPUTS["b8"].objects(self._seed) if each["kind"] in kinds)

    async def ours(self) -> Round:
        """Let the daemon bind: it finds everything there when its lists are in, and its time runs from then."""
        log = self.folder / "ours.log"
        await self.make_pods()
        started: list[asyncio.subprocess.Process] = []
        spent: list[Spent] = []

        async def begin() -> None:
            with log.open("wb") as output:
                daemon = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "pyroclast.scheduler", "scheduler", f"--kubeconfig={self.kubeconfig}"),
                    *("--leader-elect=false", f"--scheduler-conf={self.settings}", "--schedule-period=100ms"),
                    stderr=output,
                    stdout=output,
                )
            started.append(daemon)
            await wait_until(lambda: is_synced(daemon, log))
            spent.append(Spent(daemon.pid))

        try:
            _, ended = await self.bound(begin)
            client, server = spent[0].millis_per_bind()
            await wait_until(self._is_drained)
            return Round(POD_COUNT / (ended - synced_at(log)), client, server, time.time() - ended)
        finally:
            for daemon in started:
                daemon.terminate()
                await daemon.wait()
            await self.clear()

    async def _is_drained(self) -> bool:
        page = await self._page(EVENTS, limit="1")
        return page.metadata.remaining_item_count + len(page.items) >= POD_COUNT

    async def bare(self) -> Round:
        """Let the bare client bind."""
        await self.make_pods()
        command = [sys.executable, "-m", "benchmarks.bareclient", str(self.kubeconfig), clusters.NAMESPACE]
        client = await asyncio.create_subprocess_exec(
            *command, str(NODE_COUNT), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            await client.stdout.readline()
            await asyncio.sleep(1.0)

            begun: list[float] = []
            spent = Spent(client.pid)

            async def begin() -> None:
                assert client.stdin is not None
                begun.append(time.time())
                client.stdin.write(b"go\n")
                await client.stdin.drain()

            _, ended = await self.bound(begin)
            return Round(POD_COUNT / (ended - begun[0]), *spent.millis_per_bind())
        finally:
            with suppress(ProcessLookupError):
                client.terminate()
            await client.wait()
            await self.clear()


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Wait until a condition on the server holds."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not await holds():  # noqa: ASYNC110  # the condition is on a server, without notifications
            await asyncio.sleep(0.1)


async def is_synced(daemon: asyncio.subprocess.Process, log: Path) -> bool:
    """Return whether a daemon's first lists are in, by its log."""
    lines = await asyncio.to_thread(log.read_bytes)
    if daemon.returncode is not None:
        raise RuntimeError(f"the daemon ended with {daemon.returncode}: {lines.decode()[-2000:]}")
    return b'"synced"' in lines


def synced_at(log: Path) -> float:
    """Read from a daemon's log when its lists were in, seconds since 1970."""
    for line in log.read_bytes().splitlines():
        entry = json.loads(line)
        if entry["event"] == "synced":
            return datetime.fromisoformat(entry["timestamp"]).timestamp()
    raise RuntimeError(f"{log}: no event `synced`")


@asynccontextmanager
async def laid(folder: Path, seed: int) -> AsyncIterator[Course]:
    """Start a control plane with nodes."""
    with ControlPlane(folder, flags=UNLIMITED) as plane:
        cluster = await connect(ClusterOptions(kubeconfig=str(plane.kubeconfig)))
        async with Client(cluster, component="benchmark", timeout=WAIT_SECONDS) as client:
            course = Course(client, plane.kubeconfig, folder, seed)
            await course.lay()
            yield course


async def measure(rounds: int, seed: int) -> tuple[list[Round], list[Round]]:
    """Measure ours and the bare client in turns."""
    ours, bare = [], []
    with tempfile.TemporaryDirectory() as folder:
        async with laid(Path(folder), seed) as course:
            for _ in range(rounds):
                ours.append(await course.ours())
                bare.append(await course.bare())
                print(json.dumps({"ours": asdict(ours[-1]), "bare": asdict(bare[-1])}), file=sys.stderr)
    return ours, bare


def gangs(nodes: int = NODE_COUNT, pods: int = POD_COUNT) -> Iterator[Object]:
    """B8: gangs of 100 for four queues."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    for number in range(pods // GANG):
        yield from clusters.gang(f"gang-{number}", f"queue-{number % 4 + 1}", members=GANG, second=number)


def b8(runs: int, seed: int) -> Iterator[Result]:
    """Binds a second end to end, against a bare client."""
    work = "5,000 pods in gangs of 100 through a real kube-apiserver, 1,000 nodes, against a bare client in turns"
    if missing := missing_binaries(assets_folder()):
        yield Result(name="B8", work=work, budget=BUDGET, figure=None, fault=f"no {', '.join(missing)}")
        return
    ours, bare = uvloop.run(measure(max(runs, 2), seed))
    ratio = statistics.median(
        one.binds_per_second / other.binds_per_second for one, other in zip(ours, bare, strict=True)
    )
    drain = statistics.median(each.drain_seconds for each in ours)
    spent = "; ".join(
        f"{who} spent {statistics.median(each.client_cpu_millis for each in rounds):.2f} ms of CPU a bind and the "
        f"server {statistics.median(each.server_cpu_millis for each in rounds):.2f}"
        for who, rounds in (("ours", ours), ("bare", bare))
    )
    rates = ", ".join(
        f"{one.binds_per_second:,.0f}/{other.binds_per_second:,.0f}" for one, other in zip(ours, bare, strict=True)
    )
    yield Result(
        name="B8",
        work=work,
        budget=BUDGET,
        figure=100 * ratio,
        note=f"binds/s ours/bare: {rates}; 5,000 events drained {drain:.1f} s after the last bind; {spent}; "
        f"{len(os.sched_getaffinity(0))} cores shared by server and client",
    )


BENCHMARKS = {"b8": b8}
INPUTS = {"b8": Input(make=gangs, config=DEFAULT, small={"nodes": 20, "pods": 400})}
