"""B14: how soon a cluster at rest reacts: from the creation of a pod to its bind, seen on a watch.

The daemon runs with its default flags (and no lease) beside 100 nodes. A pod group and its pod are made, then nothing
happens for a random fraction of a second. It is measured on the emulator, and on a real kube-apiserver where there is
one. Pods stay bound, since nodes are objects alone.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import msgspec
import uvloop

from benchmarks import clusters
from benchmarks.emulator import site
from benchmarks.endtoend import PodEvent, is_synced, wait_until
from benchmarks.ground import WAIT_SECONDS, Ground
from benchmarks.results import Result, below
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import PODS
from tests.e2e.controlplane import ControlPlane, assets_folder, missing_binaries

__all__ = ["BENCHMARKS", "daemon", "emulated", "reactions"]

NODE_COUNT, POD_COUNT = 100, 120
SHORTEST_REST, LONGEST_REST = 0.2, 0.7
"""Seconds between a bind and the next creation."""
P50, P99 = below(50, "ms"), below(200, "ms")

Server = Callable[[Path], AbstractContextManager[Path]]
"""Starts an API server in a folder, and gives its kubeconfig."""


@contextmanager
def emulated(_: Path) -> Iterator[Path]:
    """Start the emulator."""
    with site() as standing:
        yield standing.kubeconfig


@contextmanager
def real(folder: Path) -> Iterator[Path]:
    """Start a kube-apiserver."""
    with ControlPlane(folder) as plane:
        yield plane.kubeconfig


@asynccontextmanager
async def daemon(ground: Ground, *flags: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run the scheduler with its default flags, and others where given."""
    log = ground.folder / "daemon.log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "pyroclast.scheduler", "scheduler", f"--kubeconfig={ground.kubeconfig}"),
            *("--leader-elect=false", *flags),
            stderr=output,
            stdout=output,
        )
    try:
        await wait_until(lambda: is_synced(process, log))
        yield process
    finally:
        process.terminate()
        await process.wait()


async def reactions(ground: Ground, seed: int, *, name: str = "new", count: int = POD_COUNT) -> list[float]:
    """Make pods one by one; return the milliseconds from the creation of each to its bind.

    Args:
        ground: The cluster, on which a scheduler runs.
        seed: Seed of the pauses between them.
        name: Prefix of their names.
        count: Number of pods.
    """
    bound: dict[str, asyncio.Future[float]] = {}
    watching = asyncio.create_task(_watch(ground.client, bound))
    chance = random.Random(seed)
    taken: list[float] = []
    try:
        for number in range(count):
            group, pod = clusters.gang(f"{name}-{number}", "queue-1", members=1, second=number)
            seen = bound[pod["metadata"]["name"]] = asyncio.get_running_loop().create_future()
            await ground.create([group])
            begun = time.perf_counter()
            await ground.create([pod])
            taken.append((await asyncio.wait_for(seen, WAIT_SECONDS) - begun) * 1000)
            await asyncio.sleep(chance.uniform(SHORTEST_REST, LONGEST_REST))
    finally:
        watching.cancel()
    return taken


async def _watch(client: Client, bound: dict[str, asyncio.Future[float]]) -> None:
    decode = msgspec.json.Decoder(PodEvent).decode
    path = PODS.collection(clusters.NAMESPACE)
    async with client.stream(path, params={"watch": "1"}, silence_seconds=WAIT_SECONDS) as lines:
        while True:
            pod = decode(await lines.readline()).object
            seen = bound.get(pod.metadata.name)
            if pod.spec.node_name and seen is not None and not seen.done():
                seen.set_result(time.perf_counter())


async def measure(kubeconfig: Path, folder: Path, seed: int) -> list[float]:
    """Prepare a cluster and measure on it."""
    cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
    async with Client(cluster, component="benchmark", timeout=WAIT_SECONDS) as client:
        ground = Ground(client, kubeconfig, folder)
        await ground.prepare()
        await ground.create([*clusters.queues(), *clusters.nodes(NODE_COUNT)])
        async with daemon(ground):
            await asyncio.sleep(2.0)
            return await reactions(ground, seed)


SERVERS: Final[dict[str, Server]] = {"emulator": emulated, "kube-apiserver": real}


def b14(_: int, seed: int) -> Iterator[Result]:
    """Creation to bind at rest."""
    for server, start in SERVERS.items():
        work = f"creation of a pod to its bind at rest, default flags, {NODE_COUNT} nodes, on {server}"
        if start is real and (missing := missing_binaries(assets_folder())):
            yield Result(name="B14", work=work, budget=P50, figure=None, fault=f"no {', '.join(missing)}")
            continue
        with tempfile.TemporaryDirectory() as folder, start(Path(folder)) as kubeconfig:
            taken = uvloop.run(measure(kubeconfig, Path(folder), seed))
        p90 = statistics.quantiles(taken, n=10)[8]
        note = f"{POD_COUNT} pods, {min(taken):.0f} to {max(taken):.0f} ms, {p90:.0f} ms at p90"
        yield Result(name="B14 p50", work=work, budget=P50, figure=statistics.median(taken), note=note)
        yield Result(name="B14 p99", work=work, budget=P99, figure=statistics.quantiles(taken, n=100)[98])


BENCHMARKS = {"b14": b14}
