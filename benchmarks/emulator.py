"""Speed of the emulator: creates, binds, and binds while a watch is held and hollow nodes start what is bound.

The server has one core, and all other processes the other: a client that costs little itself, and the hollow nodes, a
process of their own. 50,000 pods are made beside 5,000 nodes; half of them are bound bare, the other half once hollow
nodes are at work and all of the first half run. Beside the rates stands what a request costs the server's processor,
which varies less with the machine, and what a pod costs the hollow nodes.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

import uvloop

from benchmarks.processes import cpu_seconds, resident_megabytes
from benchmarks.results import Budget, Result, at_least, stated
from pyroclast.emulator.clock import Clock
from pyroclast.emulator.hollow.template import NodeTemplate

__all__ = ["BENCHMARKS"]

SERVER_CORE, CLIENT_CORE = 0, 1
CONNECTIONS = 32
PODS, NODES = 50_000, 5_000
PREFIX = "hollow"
POD_PATH = "/api/v1/namespaces/default/pods"
WAIT_SECONDS = 600.0
CREATES, BINDS, STARTS = (at_least(rate, "/s") for rate in (2_000, 8_000, 3_000))
MEMORY = stated("MB")
POD = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "NAME",
            "labels": {"app": "train", "volcano.sh/job-name": "train-0", "volcano.sh/queue-name": "default"},
            "annotations": {"scheduling.k8s.io/group-name": "train-0", "note": "x" * 1200},
        },
        "spec": {
            "schedulerName": "volcano",
            "containers": [
                {
                    "name": "main",
                    "image": "registry.example/train:1.0",
                    "resources": {"requests": {"cpu": "1", "memory": "2Gi"}, "limits": {"cpu": "1", "memory": "2Gi"}},
                    "env": [{"name": f"VARIABLE_{number}", "value": str(number)} for number in range(12)],
                }
            ],
        },
    }
)


class Connection(asyncio.Protocol):
    """One keep-alive connection that sends request after request and looks at the status alone."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None], failures: list[bytes]) -> None:
        self._requests = requests
        self._done = done
        self._failures = failures
        self._chunks: list[bytes] = []
        self._received = 0
        self._expected = 0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with the first request."""
        self._transport = cast("asyncio.Transport", transport)
        self._next()

    def data_received(self, data: bytes) -> None:
        """Take the answer, send the next request."""
        self._chunks.append(data)
        self._received += len(data)
        if not self._expected:
            self._join_head()
        if not self._expected or self._received < self._expected:
            return
        answer = b"".join(self._chunks)
        self._chunks, self._received, self._expected = [], 0, 0
        if answer[9:10] != b"2":
            self._failures.append(answer)
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """Make a lost connection a failure."""
        if not self._done.done():
            self._done.set_exception(exc or ConnectionError("closed by the server"))

    def _join_head(self) -> None:
        """Learn from the head how long the answer is."""
        answer = b"".join(self._chunks)
        head, separator, _ = answer.partition(b"\r\n\r\n")
        if separator:
            length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
            self._expected = len(head) + len(separator) + int(length)

    def _next(self) -> None:
        assert self._transport is not None
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
            return
        self._done.set_result(None)
        self._transport.close()


class Watch(asyncio.Protocol):
    """A watch of all pods; done when it has shown so many of them running."""

    SIGN = b'"phase":"Running"'

    def __init__(self, count: int) -> None:
        self.done = asyncio.get_running_loop().create_future()
        self._seen, self._count, self._tail = 0, count, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for what comes from now on."""
        query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
        cast("asyncio.Transport", transport).write(
            f"GET /api/v1/pods?{query} HTTP/1.1\r\nHost: emulator\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Count; a sign may lie across two pieces."""
        self._seen += (self._tail + data).count(self.SIGN)
        self._tail = data[1 - len(self.SIGN) :]
        if self._seen >= self._count and not self.done.done():
            self.done.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make a lost watch a failure."""
        if not self.done.done():
            self.done.set_exception(exc or ConnectionError("the watch was closed by the server"))


def post(path: str, body: str) -> bytes:
    """Make a request ready to be sent."""
    head = f"POST {path} HTTP/1.1\r\nHost: emulator\r\nContent-Type: application/json\r\nUser-Agent: benchmark/1\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def run(port: int, requests: Iterable[bytes], connections: int = CONNECTIONS) -> float:
    """Send all requests; return the seconds it took."""
    loop = asyncio.get_running_loop()
    queue = iter(requests)
    failures: list[bytes] = []
    start = time.perf_counter()
    finished = [loop.create_future() for _ in range(connections)]
    for done in finished:
        await loop.create_connection(lambda done=done: Connection(queue, done, failures), "127.0.0.1", port)  # type: ignore[misc]  # the default binds the loop variable
    await asyncio.gather(*finished)
    if failures:
        raise RuntimeError(f"{len(failures)} requests failed, the first with {failures[0].decode()[:300]}")
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Site:
    """The server and its hollow nodes, as the one who measures sees them."""

    port: int
    server: int
    """Process id."""
    kubeconfig: Path

    @contextmanager
    def hollow_nodes(self) -> Iterator[int]:
        """Keep hollow nodes alive for the length of a block; give their process id."""
        flags = ("--kubeconfig", str(self.kubeconfig), "--nodes", str(NODES), "--prefix", PREFIX)
        with on_core(CLIENT_CORE, "pyroclast.emulator.hollow", *flags, "--start-seconds", "0") as process:
            yield process


@contextmanager
def on_core(core: int, module: str, *flags: str) -> Iterator[int]:
    """Run a module on a core of its own; give its process id."""
    process = subprocess.Popen(["taskset", "-c", str(core), sys.executable, "-m", module, *flags])  # noqa: S607  # taskset is on the path
    try:
        yield process.pid
    finally:
        process.terminate()
        process.wait()


@contextmanager
def site() -> Iterator[Site]:
    """Run a server."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig")
        with on_core(SERVER_CORE, "pyroclast.emulator", "--kubeconfig", str(kubeconfig)) as process:
            while not (text := kubeconfig.read_text() if kubeconfig.exists() else ""):
                time.sleep(0.05)
            url = json.loads(text)["clusters"][0]["cluster"]["server"]
            yield Site(int(url.rpartition(":")[2]), process, kubeconfig)


class Figure:
    """Times a block, by the wall and by the server's processor."""

    def __init__(self, site: Site, count: int) -> None:
        self._site, self._count = site, count

    def __enter__(self) -> Self:
        self._begun, self._spent = time.perf_counter(), cpu_seconds(self._site.server)
        return self

    def __exit__(self, *_: object) -> None:
        seconds = time.perf_counter() - self._begun
        self.per_second = self._count / seconds
        micros = 1e6 * (cpu_seconds(self._site.server) - self._spent) / self._count
        self.note = f"{self._count:,} in {seconds:.1f} s, {micros:.0f} µs of the server's processor each"

    def result(self, name: str, work: str, budget: Budget, more: str = "") -> Result:
        """Hold it to a budget."""
        return Result(name=name, work=work, budget=budget, figure=self.per_second, note=f"{self.note}{more}")


def binding(pod: int) -> bytes:
    """Return a request that binds a pod."""
    name, node = f"pod-{pod}", f"{PREFIX}-{pod % NODES}"
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    return post(f"{POD_PATH}/{name}/binding", json.dumps(body))


async def measure(site: Site, seed: int) -> list[Result]:
    """Fill the server, bind, and take the figures."""
    order = list(range(PODS))
    if seed:
        random.Random(seed).shuffle(order)
    template, now = NodeTemplate(prefix=PREFIX, cpu="64", pods="250"), Clock().now()
    await run(site.port, (post("/api/v1/nodes", json.dumps(template.manifest(each, now))) for each in range(NODES)))
    requests = [post(POD_PATH, POD.replace("NAME", f"pod-{number}")) for number in order]
    with Figure(site, PODS) as creates:
        await run(site.port, requests)
    filled = resident_megabytes(site.server)

    first, second = order[: PODS // 2], order[PODS // 2 :]
    requests = [binding(number) for number in first]
    with Figure(site, len(first)) as binds:
        await run(site.port, requests)

    async with asyncio.timeout(WAIT_SECONDS):
        earlier, watch = await watching(site, len(first))
        with site.hollow_nodes() as hollow:
            await watch.done
            earlier.close()
            requests = [binding(number) for number in second]
            _, watch = await watching(site, len(second))
            spent = cpu_seconds(hollow)
            with Figure(site, len(second)) as starts:
                seconds = await run(site.port, requests)
                await watch.done
            micros = 1e6 * (cpu_seconds(hollow) - spent) / len(second)
    running = resident_megabytes(site.server)
    return [
        creates.result("creates", "emulator: 50,000 pods made beside 5,000 nodes, 32 connections", CREATES),
        binds.result("binds", "emulator: 25,000 bare binds", BINDS),
        starts.result(
            "starts",
            "emulator: 25,000 binds under a watch, 5,000 hollow nodes on the client's core, until the last pod runs",
            STARTS,
            f"; the last bind after {seconds:.1f} s; {micros:.0f} µs of the hollow nodes' processor a pod",
        ),
        Result(
            name="memory",
            work="emulator: resident memory with 50,000 pods and 5,000 nodes",
            budget=MEMORY,
            figure=filled,
            note=f"{running:,.0f} MB when all pods run",
        ),
    ]


async def watching(site: Site, count: int) -> tuple[asyncio.Transport, Watch]:
    """Open a watch that waits for so many pods to run."""
    loop = asyncio.get_running_loop()
    return await loop.create_connection(lambda: Watch(count), "127.0.0.1", site.port)


def emulator(_: int, seed: int) -> Iterator[Result]:
    """Rates and memory, one pass: it is long enough to be its own median."""
    cores = os.sched_getaffinity(0)
    if not {SERVER_CORE, CLIENT_CORE} <= cores:
        yield Result(name="creates", work="emulator", budget=CREATES, figure=None, fault="two cores are needed")
        return
    with site() as standing:
        os.sched_setaffinity(0, {CLIENT_CORE})
        yield from uvloop.run(measure(standing, seed))


BENCHMARKS = {"emulator": emulator}
