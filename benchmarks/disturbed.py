"""Disturbed: how soon the job of one namespace is bound while another namespace has thousands of unlike jobs.

The daemon runs with its default flags (and no lease) beside the emulator. Small jobs are made one by one: first in an
undisturbed cluster, then beside the waiting jobs of another namespace, then while these are also replaced by others all
the time. Each is timed from the creation of its pod to its bind, as a watch shows it.
"""

import asyncio
import statistics
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Final

import uvloop

from benchmarks.clusters import Object
from benchmarks.cycles import DEFAULT
from benchmarks.evictions import EVICTING
from benchmarks.ground import WAIT_SECONDS, Ground
from benchmarks.processes import cpu_seconds
from benchmarks.reaction import daemon, emulated, reactions
from benchmarks.results import Budget, Result, below, stated
from benchmarks.tenants import unlike_job, unlike_jobs
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import POD_GROUPS, PODS

__all__ = ["BENCHMARKS"]

NODES, JOBS, SMALL_JOBS = 5_000, 12_000, 30
REPLACED_PER_SECOND: Final = 20
TWICE: Final = 2.0
"""Bound of the latency beside another namespace, as a multiple of the undisturbed one."""
_SETTLE_SECONDS: Final = 10.0


class Disturbance:
    """The cluster, its attacker, and what small jobs take."""

    def __init__(self, ground: Ground, seed: int, namespaces: int) -> None:
        self._ground, self._seed, self._namespaces = ground, seed, namespaces
        self.millis: dict[str, list[float]] = {}
        """From the creation to the bind, by name of the situation."""
        self.cpu: dict[str, float] = {}
        """Processor time of the scheduler per second, by name of the situation."""

    async def prepare(self) -> None:
        """Make nodes and what runs on them."""
        await self._ground.prepare()
        for number in range(self._namespaces):
            await self._ground.add_namespace(f"other-{number}")
        await self._ground.create(unlike_jobs(NODES, jobs=0))

    async def attack(self) -> None:
        """Make the jobs of the other namespaces."""
        await self._ground.create(each for number in range(JOBS) for each in self._job(number))

    async def measure(self, name: str, process: int) -> None:
        """Make small jobs one by one, once the cluster has settled."""
        await asyncio.sleep(_SETTLE_SECONDS)
        loop = asyncio.get_running_loop()
        begun, spent = loop.time(), cpu_seconds(process)
        self.millis[name] = await reactions(self._ground, self._seed, name=name, count=SMALL_JOBS)
        self.cpu[name] = (cpu_seconds(process) - spent) / (loop.time() - begun)

    @asynccontextmanager
    async def replacing(self) -> AsyncIterator[None]:
        """Replace jobs of the attacker all the time."""
        task = asyncio.create_task(self._replace())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _replace(self) -> None:
        for number in count():
            await self._ground.delete(_paths(self._job(number)))
            await self._ground.create(self._job(JOBS + number))
            await asyncio.sleep(1 / REPLACED_PER_SECOND)

    def _job(self, number: int) -> Sequence[Object]:
        return list(unlike_job(number, self._namespaces))


def _paths(objects: Sequence[Object]) -> Iterator[str]:
    for each in objects:
        resource = PODS if each["kind"] == "Pod" else POD_GROUPS
        yield resource.path(each["metadata"]["namespace"], each["metadata"]["name"])


async def measure(kubeconfig: Path, folder: Path, seed: int, *, settings: str, namespaces: int) -> Disturbance:
    """Measure all situations on one cluster."""
    cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
    async with Client(cluster, component="benchmark", timeout=WAIT_SECONDS) as client:
        ground = Ground(client, kubeconfig, folder)
        ground.settings.write_text(settings)
        disturbance = Disturbance(ground, seed, namespaces)
        await disturbance.prepare()
        async with daemon(ground, f"--scheduler-conf={ground.settings}") as process:
            await disturbance.measure("undisturbed", process.pid)
            await disturbance.attack()
            await disturbance.measure("beside", process.pid)
            async with disturbance.replacing():
                await disturbance.measure("replaced", process.pid)
        return disturbance


def disturbed(_: int, seed: int, *, settings: str = DEFAULT, namespaces: int = 1) -> Iterator[Result]:
    """Yield the latency of small jobs in each situation, and its ratio to the undisturbed one."""
    with tempfile.TemporaryDirectory() as folder, emulated(Path(folder)) as kubeconfig:
        found = uvloop.run(measure(kubeconfig, Path(folder), seed, settings=settings, namespaces=namespaces))
    beside = f"{JOBS:,} unlike jobs of {namespaces} other namespace{'s' if namespaces > 1 else ''} on {NODES:,} nodes"
    if settings != DEFAULT:
        beside += ", preempt and reclaim on"
    work = {
        "undisturbed": f"creation of a pod to its bind, {NODES:,} nodes, nothing else waits",
        "beside": f"the same beside {beside}",
        "replaced": f"the same while {REPLACED_PER_SECOND} of these jobs a second are replaced",
    }
    before = found.millis["undisturbed"]
    for name, millis in found.millis.items():
        for label, figure, undisturbed_figure in (
            ("p50", statistics.median(millis), statistics.median(before)),
            ("p95", _p95(millis), _p95(before)),
        ):
            budget: Budget = stated("ms") if name == "undisturbed" else below(TWICE * undisturbed_figure, "ms")
            note = (
                f"{len(millis)} pods, {min(millis):.0f} to {max(millis):.0f} ms; {found.cpu[name]:.2f} s of CPU per s"
            )
            yield Result(name=f"{name} {label}", work=work[name], budget=budget, figure=figure, note=note)


def _p95(millis: Sequence[float]) -> float:
    return statistics.quantiles(millis, n=20, method="inclusive")[18]


def evicting(runs: int, seed: int) -> Iterator[Result]:
    """The same with actions that evict."""
    return disturbed(runs, seed, settings=EVICTING)


def many_namespaces(runs: int, seed: int) -> Iterator[Result]:
    """The same with forty namespaces, and actions that evict."""
    return disturbed(runs, seed, settings=EVICTING, namespaces=40)


BENCHMARKS = {"disturbed": disturbed, "disturbed-evicting": evicting, "disturbed-many": many_namespaces}
