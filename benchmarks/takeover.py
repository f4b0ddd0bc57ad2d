"""Costs of a restart and of a change of leader: `python -m benchmarks.takeover [--only SERVER] [--rounds N]`.

A cluster with 5,000 nodes and 20,000 running pods. Three measurements, each repeated:

- start: a scheduler is started while a gang waits and the lease is free. From the start of the process to the first
  bind that a watch shows; where the time went, read from its log, and its processor time until then.
- terminated: the leader of two schedulers gets SIGTERM, and after its end a gang arrives. From the signal to the
  first bind of the other.
- killed: the same with SIGKILL. The lease is not released, so its duration is a lower bound.

Prints a Markdown row for each server and question: median, and the range in brackets.
"""

import argparse
import asyncio
import json
import logging
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path

import msgspec
import structlog
import uvloop

from benchmarks import clusters
from benchmarks.clusters import Object
from benchmarks.ground import UNLIMITED, WAIT_SECONDS, Ground
from benchmarks.processes import cpu_seconds
from benchmarks.results import describe_machine, speed_now, spread
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import PODS
from pyroclast.model.wire import Pod
from tests.e2e.controlplane import ControlPlane
from tests.e2e.emulatorprocess import running_emulator

SERVERS = ("emulator", "realserver")
PODS_A_GANG = 100
ARRIVING = 4
"""Pods of a gang that arrives."""
NEVER_COMPILED = "PYTHONDONTWRITEBYTECODE"
LEASE = (15.0, 10.0, 2.0)
"""Duration, renew deadline and retry period of the lease, seconds: the defaults, and the chart's."""
ARRIVAL = "bench.pyroclast/arrival"


class _Event(msgspec.Struct):
    type: str
    object: Pod


class _Version(msgspec.Struct, rename="camel"):
    resource_version: str


class _List(msgspec.Struct):
    metadata: _Version


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One start, seconds."""

    loaded: float
    """Until its first word: interpreter and imports."""
    listed: float
    """From there until all lists are in its books."""
    elected: float
    """From there until it leads."""
    decided: float
    """From there until the first bind was seen: the first queues, a snapshot, a cycle, a bind."""
    total: float
    processor: float
    """Processor time of user and system together, until the first bind."""


@dataclass(slots=True)
class Scheduler:
    """A scheduler's process."""

    process: asyncio.subprocess.Process
    log: Path
    began: float = field(default_factory=time.time)

    def logged_at(self, event: str) -> float | None:
        """Return the time of the first event of a name in the log, seconds since 1970."""
        whole, _, _ = self.log.read_bytes().rpartition(b"\n")
        for line in whole.splitlines():
            entry = json.loads(line)
            if entry["event"] == event:
                return datetime.fromisoformat(entry["timestamp"]).timestamp()
        return None

    async def wait_for_log(self, event: str) -> float:
        """Wait for an event in the log. Return its time, seconds since 1970."""
        async with asyncio.timeout(WAIT_SECONDS):
            while (moment := self.logged_at(event)) is None:  # the log is a file, without notifications
                if self.process.returncode is not None:
                    raise RuntimeError(f"it ended:\n{self.log.read_text()[-2000:]}")
                await asyncio.sleep(0.05)
        return moment

    async def end(self, number: signal.Signals) -> None:
        """End it, and wait until it is gone."""
        if self.process.returncode is None:
            self.process.send_signal(number)
            await self.process.wait()


class Line(Ground):
    """A cluster, and schedulers on it one after the other."""

    def __init__(self, client: Client, kubeconfig: Path, folder: Path) -> None:
        """Take what runs."""
        super().__init__(client, kubeconfig, folder)
        self._numbers = count()
        # As in the image: modules are compiled once, not at each start.
        compiled = {"PYTHONPYCACHEPREFIX": str(folder / "compiled")}
        self._environment = {name: value for name, value in os.environ.items() if name != NEVER_COMPILED} | compiled

    async def fill(self, nodes: int, pods: int) -> None:
        """Make queues, nodes, and gangs of which every pod runs."""
        await self.prepare()
        made = list(clusters.nodes(nodes))
        names = [each["metadata"]["name"] for each in made]
        gangs = [
            clusters.gang(
                f"old-{number}", f"queue-{number % 4 + 1}", members=PODS_A_GANG, second=number, phase="Running",
                nodes_of=[names[(number * PODS_A_GANG + member) % nodes] for member in range(PODS_A_GANG)],
            )
            for number in range(pods // PODS_A_GANG)
        ]  # fmt: skip
        objects = [each for gang in gangs for each in gang]
        await self.create([*clusters.queues(), *made, *objects])
        # a pod's status is not taken when it is made
        running = [each["metadata"]["name"] for each in objects if each["kind"] == "Pod"]
        await self.patch((f"{PODS.path(clusters.NAMESPACE, name)}/status", _running()) for name in running)

    @asynccontextmanager
    async def scheduler(self) -> AsyncIterator[Scheduler]:
        """Run a scheduler for the length of a block."""
        duration, deadline, retry = LEASE
        log = self.folder / f"scheduler-{next(self._numbers)}.log"
        with log.open("wb") as output:
            began = time.time()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "pyroclast.scheduler", "scheduler", f"--kubeconfig={self.kubeconfig}"),
                f"--scheduler-conf={self.settings}",
                f"--leader-elect-resource-namespace={clusters.NAMESPACE}",
                f"--leader-elect-lease-duration={duration}s",
                f"--leader-elect-renew-deadline={deadline}s",
                f"--leader-elect-retry-period={retry}s",
                stdout=output,
                stderr=output,
                env=self._environment,
            )
        running = Scheduler(process, log, began)
        try:
            yield running
        finally:
            await running.end(signal.SIGTERM)

    async def arrive(self) -> str:
        """Make a gang; return the value of its label."""
        name = f"arrival-{next(self._numbers)}"
        gang = clusters.gang(name, "queue-1", members=ARRIVING, second=0, labels={ARRIVAL: name})
        await self.create(gang)
        return name

    async def bound(self, arrival: str) -> float:
        """Wait until the first pod of a gang is seen bound; return when it was."""
        path, only = PODS.collection(clusters.NAMESPACE), {"labelSelector": f"{ARRIVAL}={arrival}"}
        listed = msgspec.json.decode(await self.client.request("GET", path, params=only), type=_List)
        watch = {**only, "watch": "1", "resourceVersion": listed.metadata.resource_version}
        decode = msgspec.json.Decoder(_Event).decode
        async with self.client.stream(path, params=watch, silence_seconds=WAIT_SECONDS) as lines:
            while not decode(await lines.readline()).object.spec.node_name:
                pass
        return time.time()


def _running() -> Object:
    """The status of a pod that runs, as long as a kubelet writes it."""
    moment = clusters.moment(0)
    conditions = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "status": {
            "phase": "Running",
            "startTime": moment,
            "hostIP": "10.0.0.1",
            "podIP": "10.1.0.1",
            "qosClass": "Burstable",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": moment}
                for kind in conditions
            ],
            "containerStatuses": [
                {
                    "name": "main",
                    "ready": True,
                    "started": True,
                    "restartCount": 0,
                    "image": "registry/app:1",
                    "imageID": "registry/app@sha256:" + "0" * 64,
                    "containerID": "containerd://" + "0" * 64,
                    "state": {"running": {"startedAt": moment}},
                }
            ],
        }
    }


async def start(line: Line) -> Start:
    """Start a scheduler that finds a gang waiting."""
    arrival = await line.arrive()
    watching = asyncio.create_task(line.bound(arrival))
    async with line.scheduler() as scheduler:
        ended = await asyncio.wait_for(watching, WAIT_SECONDS)
        processor = cpu_seconds(scheduler.process.pid)
        loaded, listed, elected = [
            await scheduler.wait_for_log(event) for event in ("starting", "synced", "leadership_won")
        ]
        return Start(
            loaded=loaded - scheduler.began,
            listed=listed - loaded,
            elected=elected - listed,
            decided=ended - elected,
            total=ended - scheduler.began,
            processor=processor,
        )


async def changes(line: Line, number: signal.Signals, rounds: int) -> list[float]:
    """End leaders, one after the other. Return each time without binds."""
    found = []
    async with AsyncExitStack() as stack:
        leader = await stack.enter_async_context(line.scheduler())
        await leader.wait_for_log("leadership_won")
        for _ in range(rounds):
            standby = await stack.enter_async_context(line.scheduler())
            await standby.wait_for_log("leader_seen")
            await asyncio.sleep(LEASE[2])  # so that what comes of its start is behind it
            begun = time.time()
            await leader.end(number)
            found.append(await line.bound(await line.arrive()) - begun)
            leader = standby
    return found


@contextmanager
def serving(kind: str, folder: Path) -> Iterator[Path]:
    """Run an API server for the length of a block; give its kubeconfig."""
    if kind == "emulator":
        with running_emulator(folder) as (_, kubeconfig):
            yield kubeconfig
    else:
        with ControlPlane(folder, flags=UNLIMITED) as plane:
            yield plane.kubeconfig


async def measure(kind: str, nodes: int, pods: int, rounds: int) -> list[str]:
    """Ask one server all three questions; return its rows."""
    with tempfile.TemporaryDirectory() as name, serving(kind, Path(name)) as kubeconfig:
        cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
        async with Client(cluster, component="benchmark", timeout=WAIT_SECONDS) as client:
            line = Line(client, kubeconfig, Path(name))
            await line.fill(nodes, pods)
            async with line.scheduler() as scheduler:
                await scheduler.wait_for_log("leadership_won")  # its modules are compiled by now
            starts = [await start(line) for _ in range(rounds)]
            terminated = await changes(line, signal.SIGTERM, rounds)
            killed = await changes(line, signal.SIGKILL, rounds)
    return rows(kind, f"{nodes:,} nodes, {pods:,} pods", starts, {"SIGTERM": terminated, "SIGKILL": killed})


def rows(kind: str, size: str, starts: list[Start], found: Mapping[str, list[float]]) -> list[str]:
    """Write what was found as rows of a table."""
    parts = ", ".join(
        f"{name} {statistics.median(getattr(each, part) for each in starts):.2f}"
        for part, name in (
            ("loaded", "imports"), ("listed", "lists"), ("elected", "lease"), ("decided", "first cycle and bind"),
        )
    )  # fmt: skip
    processor = statistics.median(each.processor for each in starts)
    first = f"{spread(each.total for each in starts)} s: {parts}; processor time {processor:.2f} s"
    return [
        f"| start to first bind | {kind}, {size} | {first} |",
        *(
            f"| {name} of the leader to the other's first bind | {kind}, {size} | {spread(each)} s |"
            for name, each in found.items()
        ),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.takeover", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=SERVERS, help="one server (default: both)")
    parser.add_argument("--nodes", type=int, default=5000, help="nodes (default: %(default)s)")
    parser.add_argument("--pods", type=int, default=20_000, help="pods that run (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that each is asked (default: %(default)s)")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    print(f"{describe_machine()}, plain loop {speed_now():.0f} M additions/s", "| what | where | seconds |", sep="\n\n")
    print("|---|---|---|")
    for kind in (given.only,) if given.only else SERVERS:
        for row in uvloop.run(measure(kind, given.nodes, given.pods, given.rounds)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
