"""Jobs from creation to completion: `python -m benchmarks.jobs [--jobs N] [--pods N]`.

The emulator with hollow nodes, the daemon and the Job controller are processes of their own (the controller is this
one); Jobs are created as fast as the server takes them. Printed is a Markdown row: the time until all have completed,
reconciliations a second, what the controller spent of a core and its memory. All four share the machine's cores.
"""

import argparse
import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog
import uvloop

from benchmarks.processes import resident_megabytes
from benchmarks.results import describe_machine, speed_now
from pyroclast.controllers.jobs.reconciler import build
from pyroclast.controllers.runtime.operator import Operator
from pyroclast.controllers.runtime.options import ControllerOptions
from pyroclast.emulator.hollow.kubelets import DURATION
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.kube.api.resources import JOBS, NODES

NAMESPACE = "default"
WAIT_SECONDS = 1800.0
WORKERS = 16
HOLLOW_NODES = 200


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jobs", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1000, help="Jobs to run (default: %(default)s)")
    parser.add_argument("--pods", type=int, default=10, help="pods of each (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long a pod runs (default: %(default)s)")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tempfile.TemporaryDirectory() as folder:
        print(f"{describe_machine()}, plain loop {speed_now():.0f} M additions/s", end="\n\n")
        print(uvloop.run(measure(Path(folder), given.jobs, given.pods, given.seconds)))


async def measure(folder: Path, jobs: int, pods: int, seconds: float) -> str:
    """Run all Jobs to completion. Return a row with the times."""
    kubeconfig = folder / "kubeconfig"
    emulator = ("emulator", f"--kubeconfig={kubeconfig}", f"--hollow-nodes={HOLLOW_NODES}", "--history=200000")
    daemon = ("scheduler", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--schedule-period=100ms")
    with running(folder, *emulator) as server:
        await there(server, folder / "emulator.log", kubeconfig.exists)
        cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
        async with Client(cluster, component="benchmark", timeout=60.0) as client:
            while len((await client.request_json("GET", NODES.collection()))["items"]) < HOLLOW_NODES:  # noqa: ASYNC110  # nor the server
                await asyncio.sleep(0.1)
            with running(folder, *daemon) as scheduler:
                log = folder / "scheduler.log"
                await there(scheduler, log, lambda: b'"event": "synced"' in log.read_bytes())
                return await controlled(client, jobs, pods, seconds)


async def there(process: "subprocess.Popen[bytes]", log: Path, is_there: Callable[[], bool]) -> None:
    """Wait for what a process does at its start.

    Raises:
        RuntimeError: It ended.
    """
    while not is_there():
        if process.poll() is not None:
            raise RuntimeError(await asyncio.to_thread(log.read_text))
        await asyncio.sleep(0.1)


async def controlled(client: Client, jobs: int, pods: int, seconds: float) -> str:
    """Control Jobs in this process until all have completed."""
    operator = Operator(client, component="benchmark")
    build(operator, ControllerOptions(workers={"job": WORKERS}))
    work = asyncio.create_task(operator.run())
    try:
        await operator.synced()
        store = operator.store(JOBS)
        before = resident_megabytes(os.getpid())
        begun, spent = time.perf_counter(), time.process_time()
        await create(client, jobs, pods, seconds)
        created = time.perf_counter() - begun
        async with asyncio.timeout(WAIT_SECONDS):
            while sum(job.status.state.phase == "Completed" for job in store.values()) < jobs:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
        took, used = time.perf_counter() - begun, time.process_time() - spent
        queue = operator.queues["job"]
        looks = reconciliations()
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
    return (
        f"| {jobs:,} Jobs of {pods} pods, created to completed, emulator, {HOLLOW_NODES} hollow nodes "
        f"| created in {created:.1f} s, all completed after {took:.1f} s: {jobs / took:.1f} Jobs/s, "
        f"{jobs * pods / took:.0f} pods/s; {looks:,} reconciliations, {looks / took:.0f}/s; controller "
        f"{used:.1f} s of processor time, {used / jobs * 1000:.1f} ms a Job; memory {before:.0f} MB before, "
        f"{resident_megabytes(os.getpid()):.0f} MB after; {queue.depth} keys left |"
    )


async def create(client: Client, jobs: int, pods: int, seconds: float) -> None:
    """Create the Jobs, some at a time."""
    waiting = iter(range(jobs))

    async def work() -> None:
        for number in waiting:
            body = msgspec.json.encode(job(number, pods, seconds))
            await client.request("POST", JOBS.collection(NAMESPACE), body=body)

    await asyncio.gather(*(work() for _ in range(4)))


def job(number: int, pods: int, seconds: float) -> dict[str, Any]:
    """Describe a Job."""
    container = {"name": "main", "image": "busybox", "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    template = {
        "metadata": {"annotations": {DURATION: str(seconds)}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {"name": f"job-{number}"},
        "spec": {
            "schedulerName": "volcano",
            "minAvailable": pods,
            "policies": [{"event": "PodEvicted", "action": "RestartJob"}],
            "tasks": [{"name": "worker", "replicas": pods, "minAvailable": pods, "template": template}],
        },
    }


@contextmanager
def running(folder: Path, command: str, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of our commands beside this process."""
    with (folder / f"{command}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pyroclast.scheduler", command, *flags], stdout=log, stderr=log
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait()


def reconciliations() -> int:
    """Count those of Jobs so far."""
    from pyroclast.controllers.runtime.metrics import RECONCILES  # noqa: PLC0415  # read at the end alone

    return int(sum(RECONCILES.labels("job", result)._value.get() for result in ("done", "failed")))  # noqa: SLF001


if __name__ == "__main__":
    main()
