"""How fast the emulator is: creates, binds, binds under a watch, lists, and the memory they leave.

`python benchmarks/emulator.py [--pods N] [--nodes N]` starts the server on one core and measures from another,
with a client that costs little itself. Prints one line of JSON for each figure.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import uvloop

SERVER_CORE, CLIENT_CORE = "0", 1
CONNECTIONS = 32
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
NODE = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "NAME", "labels": {"kubernetes.io/hostname": "NAME"}},
        "status": {
            "capacity": {"cpu": "64", "memory": "256Gi", "pods": "250"},
            "allocatable": {"cpu": "64", "memory": "256Gi", "pods": "250"},
            "conditions": [{"type": "Ready", "status": "True"}],
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


def post(path: str, body: str) -> bytes:
    """A ready request."""
    head = f"POST {path} HTTP/1.1\r\nHost: emulator\r\nContent-Type: application/json\r\nUser-Agent: benchmark/1\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def run(port: int, requests: Iterable[bytes], connections: int = CONNECTIONS) -> float:
    """Send all requests; the seconds it took."""
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


class Watch(asyncio.Protocol):
    """A watch of all pods that counts the lines it gets."""

    def __init__(self, wanted: int) -> None:
        self.finished = asyncio.get_running_loop().create_future()
        self.bytes = 0
        self._lines = 0
        self._wanted = wanted

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Ask for what comes from now on."""
        query = "watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
        cast("asyncio.Transport", transport).write(
            f"GET /api/v1/pods?{query} HTTP/1.1\r\nHost: emulator\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        """Count events."""
        self.bytes += len(data)
        self._lines += data.count(b'{"type":"')
        if self._lines >= self._wanted and not self.finished.done():
            self.finished.set_result(None)


@contextmanager
def server() -> Iterator[tuple[int, int]]:
    """The emulator in its own process on its own core: port and process id."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "kubeconfig")
        command = [sys.executable, "-m", "emulator", "--kubeconfig", str(path)]
        process = subprocess.Popen(["taskset", "-c", SERVER_CORE, *command])  # noqa: S607  # taskset is on the path
        try:
            while not path.exists():
                time.sleep(0.05)
            time.sleep(0.1)
            url = json.loads(path.read_text())["clusters"][0]["cluster"]["server"]
            yield int(url.rpartition(":")[2]), process.pid
        finally:
            process.terminate()
            process.wait()


def resident_mb(process: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) // 1024


def cpu_seconds(process: int) -> float:
    """Processor time of a process so far: what a figure costs the server, however busy the machine is."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def figure(name: str, process: int, count: int) -> Iterator[None]:
    """Time a block, by the wall and by the server's processor."""
    start, cpu = time.perf_counter(), cpu_seconds(process)
    yield
    seconds, used = time.perf_counter() - start, cpu_seconds(process) - cpu
    report(
        name, per_second=count / seconds, server_cpu_us=1e6 * used / count, per_second_of_cpu=count / max(used, 0.01)
    )


def report(name: str, **values: float) -> None:
    """Print one line."""
    print(json.dumps({"figure": name, **{key: round(value, 2) for key, value in values.items()}}), flush=True)


def binding(name: str, node: str) -> bytes:
    """A bind request."""
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}}
    return post(f"/api/v1/namespaces/default/pods/{name}/binding", json.dumps(body))


def heartbeat(node: str) -> bytes:
    """What a hollow node's kubelet sends after a bind: the pod runs."""
    body = json.dumps({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})
    path = f"/api/v1/namespaces/default/pods/{node}/status"
    head = f"PATCH {path} HTTP/1.1\r\nHost: emulator\r\nContent-Type: application/strategic-merge-patch+json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()


async def measure(port: int, process: int, pods: int, nodes: int) -> None:
    """Fill the server and take the figures."""
    empty = resident_mb(process)
    requests = [post("/api/v1/nodes", NODE.replace("NAME", f"node-{number}")) for number in range(nodes)]
    with figure("node creates", process, nodes):
        await run(port, requests)
    path = "/api/v1/namespaces/default/pods"
    requests = [post(path, POD.replace("NAME", f"pod-{number}")) for number in range(pods)]
    with figure("pod creates", process, pods):
        await run(port, requests)
    report("memory", mb=resident_mb(process), empty_mb=empty, pods=pods, nodes=nodes)
    await measure_binds(port, process, pods, nodes)
    for limit in (500, 0):
        await measure_list(port, limit, pods)
    report("memory at the end", mb=resident_mb(process))


async def measure_binds(port: int, process: int, pods: int, nodes: int) -> None:
    """Bind without and with a watch, and with the nodes' answers."""
    third = pods // 3
    binds = [binding(f"pod-{number}", f"node-{number % nodes}") for number in range(pods)]
    with figure("binds", process, third):
        await run(port, binds[:third])
    loop = asyncio.get_running_loop()
    transport, watch = await loop.create_connection(lambda: Watch(third), "127.0.0.1", port)
    with figure("binds with one watch", process, third):
        await run(port, binds[third : 2 * third])
        await watch.finished
    transport.close()
    both = [one for number in range(2 * third, 3 * third) for one in (binds[number], heartbeat(f"pod-{number}"))]
    transport, watch = await loop.create_connection(lambda: Watch(2 * third), "127.0.0.1", port)
    with figure("binds with one watch, each answered by a status", process, third):
        await run(port, both)
        await watch.finished
    transport.close()


async def measure_list(port: int, limit: int, pods: int) -> None:
    """Time one list, whole or a page."""
    start = time.perf_counter()
    request = f"GET /api/v1/pods?limit={limit} HTTP/1.1\r\nHost: emulator\r\n\r\n".encode()
    await run(port, [request], connections=1)
    report(f"list of {limit or pods} pods", milliseconds=1000 * (time.perf_counter() - start))


def main() -> None:
    """Measure on two cores."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=5_000)
    given = parser.parse_args()
    with server() as (port, process):
        os.sched_setaffinity(0, {CLIENT_CORE})
        uvloop.run(measure(port, process, given.pods, given.nodes))


if __name__ == "__main__":
    main()
