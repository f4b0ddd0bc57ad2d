"""Soak: lives of pods by the ten thousand, and what stays of them in memory: `python -m benchmarks.lifecycles`.

Jobs of ten pods are created, run, end and are deleted by their time to live, some hundreds at a time, on the emulator
with hollow nodes. Every tenth Job is urgent and finds a full cluster, so that others are evicted; the configuration is
changed again and again. At each step the resident memory of scheduler and controllers is read, with the number of
series that each serves and of tasks in its event loop. What grows after the first part of the run is a leak.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import uvloop

from benchmarks.processes import resident_megabytes
from benchmarks.results import describe_machine
from pyroclast.emulator.hollow.kubelets import DURATION
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import JOBS, PRIORITY_CLASSES
from pyroclast.kube.reflector import Reflector

NAMESPACE = "default"
PODS = 10
IN_FLIGHT = 60
"""Jobs at a time: 600 pods of one CPU on 500 CPUs, so that the last of them wait and the urgent ones evict."""
WARM_UP = 0.3
"""Part of the run before memory counts."""
CONFIGURATIONS = tuple(
    f'actions: "enqueue, allocate, backfill, preempt, reclaim"\n'
    f"tiers:\n"
    f"- plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n"
    f"- plugins: [{{name: drf}}, {{name: predicates}}, {{name: proportion}}, {{name: {last}}}]\n"
    for last in ("nodeorder", "binpack")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One look."""

    pods: int
    """Lives that have ended by now."""
    megabytes: tuple[float, ...]
    """Resident memory of scheduler and controllers."""
    series: tuple[int, ...]
    """Lines of the metrics of both."""
    tasks: tuple[int, ...]
    """In the event loops of both."""
    events: int
    """Events of the scheduler that are not sent yet: they use memory while the machine is too busy to send them."""

    def __str__(self) -> str:
        """Return a summary in one line."""
        memory = " / ".join(f"{each:.1f}" for each in self.megabytes)
        series, tasks = (" / ".join(map(str, each)) for each in (self.series, self.tasks))
        return f"{self.pods} lives, {memory} MB, {series} series, {tasks} tasks, {self.events} events waiting"


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lifecycles", description=__doc__)
    parser.add_argument("--pods", type=int, default=100_000, help="lives to run (default: %(default)s)")
    parser.add_argument("--step", type=int, default=5_000, help="lives between two looks (default: %(default)s)")
    given = parser.parse_args()
    print(describe_machine())
    with tempfile.TemporaryDirectory() as folder:
        samples = uvloop.run(soak(Path(folder), given.pods, given.step))
    for name, column in (("scheduler", 0), ("controllers", 1)):
        print(f"{name}: {growth(samples, column):+.2f} MB per 10,000 lives after the first {WARM_UP:.0%}")


def growth(samples: Sequence[Sample], column: int) -> float:
    """Return the slope of memory over lives, megabytes per 10,000, by least squares, warm-up left out."""
    late = [each for each in samples if each.pods >= WARM_UP * samples[-1].pods]
    if len(late) < 2:
        return 0.0
    lives, memory = [each.pods / 10_000 for each in late], [each.megabytes[column] for each in late]
    return float(np.polyfit(lives, memory, 1)[0])


async def soak(folder: Path, pods: int, step: int) -> list[Sample]:
    """Run the processes, and lives in them."""
    kubeconfig, configuration = folder / "kubeconfig", folder / "configuration.yaml"
    configuration.write_text(CONFIGURATIONS[0])
    with process(folder, "emulator", f"--kubeconfig={kubeconfig}", "--hollow-nodes=8"):
        while not kubeconfig.exists():  # noqa: ASYNC110 - the process sends no notification
            await asyncio.sleep(0.1)
        common = (f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--enable-metrics")
        port = 18080
        scheduler = ("scheduler", *common, f"--scheduler-conf={configuration}", "--schedule-period=200ms")
        controllers = ("controllers", *common, f"--listen-address=127.0.0.1:{port + 1}")
        with (
            process(folder, *scheduler, f"--listen-address=127.0.0.1:{port}") as first,
            process(folder, *controllers) as second,
        ):
            async with Client(await connect(ClusterOptions(kubeconfig=str(kubeconfig))), component="soak") as client:
                lives = Lives(client, configuration, pods // PODS)
                urls = [f"http://127.0.0.1:{each}/metrics" for each in (port, port + 1)]
                return await lives.run(step // PODS, (first, second), urls)


class Lives:
    """Jobs that come and go."""

    def __init__(self, client: Client, configuration: Path, jobs: int) -> None:
        """Begin with none."""
        self._client, self._configuration, self._jobs = client, configuration, jobs
        self._ended = 0
        self._room = asyncio.Semaphore(IN_FLIGHT)

    def added(self, _: Any) -> None:
        """Take no notice."""

    def updated(self, _old: Any, _new: Any) -> None:
        """Take no notice."""

    def deleted(self, _: Any) -> None:
        """Count an end, and let another come."""
        self._ended += 1
        self._room.release()

    async def run(self, step: int, pids: Sequence[int], urls: Sequence[str]) -> list[Sample]:
        """Let all Jobs live; return what was seen on the way."""
        await self._client.request_json("POST", PRIORITY_CLASSES.collection(), body=priority_class())
        following = asyncio.create_task(Reflector(self._client, JOBS, [self], namespace=NAMESPACE).run())
        creating = asyncio.create_task(self._create())
        samples: list[Sample] = []
        begun = time.perf_counter()
        while self._ended < self._jobs:
            await asyncio.sleep(0.2)
            if creating.done():
                creating.result()
            if self._ended >= (len(samples) + 1) * step or self._ended >= self._jobs:
                samples.append(await asyncio.to_thread(look, self._ended * PODS, pids, urls))
                self._configuration.write_text(CONFIGURATIONS[len(samples) % len(CONFIGURATIONS)])
                print(f"{time.perf_counter() - begun:.0f} s: {samples[-1]}", flush=True)
        following.cancel()
        return samples

    async def _create(self) -> None:
        for number in range(self._jobs):
            await self._room.acquire()
            await self._client.request("POST", JOBS.collection(NAMESPACE), body=msgspec.json.encode(job(number)))


def look(pods: int, pids: Sequence[int], urls: Sequence[str]) -> Sample:
    """Read memory, series, tasks, and events that wait."""
    metrics = [read(url) for url in urls]
    return Sample(
        pods=pods,
        megabytes=tuple(resident_megabytes(pid) for pid in pids),
        series=tuple(len(each) for each in metrics),
        tasks=tuple(int(each["pyroclast_loop_tasks"]) for each in metrics),
        events=int(metrics[0]["pyroclast_events_waiting"]),
    )


def read(url: str) -> dict[str, float]:
    """Return the series that a process serves."""
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=30.0) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[:1] != "#")}


def priority_class() -> dict[str, Any]:
    """Describe what urgent Jobs have."""
    return {
        "apiVersion": PRIORITY_CLASSES.api_version,
        "kind": PRIORITY_CLASSES.kind,
        "metadata": {"name": "urgent"},
        "value": 1000,
    }


def job(number: int) -> dict[str, Any]:
    """Describe a Job that is restarted when pods of it are evicted, and goes when it has ended."""
    template = {
        "metadata": {"annotations": {DURATION: f"{1 + number % 3}s"}},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}],
        },
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": f"job-{number}"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": 1,
            "ttlSecondsAfterFinished": 0,
            "maxRetry": 100,
            "policies": [{"event": "PodEvicted", "action": "RestartTask"}],
            "tasks": [{"name": "worker", "replicas": PODS, "minAvailable": 1, "template": template}],
            **({"priorityClassName": "urgent"} if number % 10 == 9 else {}),
        },
    }


@contextmanager
def process(folder: Path, command: str, *flags: str) -> Iterator[int]:
    """Run one of our commands for the length of a block; give its process id."""
    with (folder / f"{command}.log").open("wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", "pyroclast.scheduler", command, *flags], stdout=log, stderr=log
        )
    try:
        yield running.pid
    finally:
        running.terminate()
        running.wait(60)


if __name__ == "__main__":
    main()
