"""Other schedulers on the work of B8: `python -m benchmarks.peers [--volcano BINARY] [--rounds N]`.

On one real kube-apiserver with 1,000 nodes, 5,000 pods in gangs of 100 wait for four queues; then one scheduler is
started and ended when all are bound, and the next finds the same. Each has the defaults of its kind but for what would
hold it back: limits on its own requests are lifted, and it elects no leader.

- Pyroclast and Volcano (`vc-scheduler`, built from its source) read the same configuration file.
- kube-scheduler, of the folder that KUBEBUILDER_ASSETS names, knows no gangs and no queues; it takes the pods alone.

Prints a Markdown row for each: the median of the rounds, and their range in brackets. Server and schedulers share the
machine's cores, so what a scheduler and the server spend on a pod, from the scheduler's start, stands beside its rate.
"""

import argparse
import asyncio
import json
import logging
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
import uvloop

from benchmarks.clusters import queues
from benchmarks.endtoend import NODE_COUNT, POD_COUNT, Course, Spent, laid
from benchmarks.results import describe_machine, speed_now, spread
from pyroclast.kube.api.resources import QUEUES
from tests.e2e.controlplane import assets_folder, missing_binaries

QPS = 10_000
"""Requests a second that the others may make: more than any of them can."""

Command = Callable[[Course], Sequence[str]]
"""Writes the command line of a scheduler for a cluster."""


@dataclass(frozen=True, slots=True)
class Run:
    """Result of one run of a scheduler."""

    binds_per_second: float
    """Between the first bind and the last."""
    first_seconds: float
    """From the start of the process to the first bind."""
    total_seconds: float
    """From the start of the process to the last bind."""
    scheduler_millis: float
    """Processor time of the scheduler, a pod."""
    server_millis: float
    """Processor time of the API server, a pod."""


def pyroclast(course: Course) -> Sequence[str]:
    """Write our command line."""
    return (
        *(sys.executable, "-m", "pyroclast.scheduler", "scheduler", f"--kubeconfig={course.kubeconfig}"),
        *("--leader-elect=false", f"--scheduler-conf={course.settings}", "--schedule-period=1s"),
    )


def volcano(binary: Path, course: Course) -> Sequence[str]:
    """Write Volcano's command line."""
    return (
        *(str(binary), f"--kubeconfig={course.kubeconfig}", "--leader-elect=false"),
        *(f"--scheduler-conf={course.settings}", "--schedule-period=1s"),
        *(f"--kube-api-qps={QPS}", f"--kube-api-burst={QPS}"),
    )


def kube_scheduler(course: Course) -> Sequence[str]:
    """Write kube-scheduler's command line, and the file that it reads."""
    settings = course.folder / "kube-scheduler.yaml"
    settings.write_text(
        json.dumps(
            {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "clientConnection": {"kubeconfig": str(course.kubeconfig), "qps": QPS, "burst": QPS},
                "leaderElection": {"leaderElect": False},
                "profiles": [{"schedulerName": "volcano"}],
            }
        )
    )
    return (str(assets_folder() / "kube-scheduler"), f"--config={settings}", "--secure-port=0")


async def run(course: Course, name: str, command: Command) -> Run:
    """Let one scheduler bind everything."""
    await course.make_pods()
    log = course.folder / f"{name}.log"
    started: list[asyncio.subprocess.Process] = []
    begun, spent = 0.0, None

    async def begin() -> None:
        nonlocal begun, spent
        with log.open("wb") as output:
            begun = time.time()
            process = await asyncio.create_subprocess_exec(*command(course), stdout=output, stderr=output)
        started.append(process)
        spent = Spent(process.pid)

    try:
        binding = asyncio.create_task(course.bound(begin))
        while not binding.done():
            await asyncio.wait([binding], timeout=1.0)
            if started and started[0].returncode is not None:
                raise RuntimeError(f"{name} ended with {started[0].returncode}:\n{log.read_text()[-2000:]}")
        first, last = await binding
        assert spent is not None
        scheduler, server = spent.millis_per_bind()
        return Run((POD_COUNT - 1) / (last - first), first - begun, last - begun, scheduler, server)
    finally:
        for process in started:
            if process.returncode is None:
                process.terminate()
            await process.wait()
        await course.clear()


async def measure(peers: dict[str, Command], rounds: int, seed: int) -> dict[str, list[Run]]:
    """Let all schedulers bind in turns."""
    runs: dict[str, list[Run]] = {name: [] for name in peers}
    with tempfile.TemporaryDirectory() as folder:
        async with laid(Path(folder), seed) as course:
            # for Volcano a queue is closed until its controller has set another state
            names = [each["metadata"]["name"] for each in queues()]
            await course.patch((QUEUES.path("", name, "status"), {"status": {"state": "Open"}}) for name in names)
            for _ in range(rounds):
                for name, command in peers.items():
                    runs[name].append(await run(course, name, command))
                    print(name, runs[name][-1], file=sys.stderr, flush=True)
    return runs


def row(name: str, runs: Sequence[Run]) -> str:
    """Write what a scheduler came to."""
    columns = (
        spread((each.binds_per_second for each in runs), 0),
        spread((each.first_seconds for each in runs), 1),
        spread((each.total_seconds for each in runs), 1),
        spread((each.scheduler_millis for each in runs), 2),
        spread((each.server_millis for each in runs), 2),
    )
    return f"| {name} | {' | '.join(columns)} |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--volcano", type=Path, metavar="BINARY", help="a vc-scheduler")
    parser.add_argument(
        "--rounds", type=int, default=3, help="times that each binds all (default: %(default)s, at least 2)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the input (default: %(default)s)")
    given = parser.parse_args()
    if missing := missing_binaries(assets_folder(), ("etcd", "kube-apiserver", "kube-scheduler")):
        parser.error(f"no {', '.join(missing)} in {assets_folder()}: make kube-apiserver")
    peers: dict[str, Command] = {"Pyroclast": pyroclast}
    if given.volcano:
        peers["Volcano"] = partial(volcano, given.volcano)
    peers["kube-scheduler"] = kube_scheduler

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    print(
        f"{describe_machine()}, plain loop {speed_now():.0f} M additions/s; {NODE_COUNT:,} nodes, {POD_COUNT:,} pods\n"
    )
    print("| scheduler | binds/s | first bind after s | last bind after s | its CPU ms a pod | the server's |")
    print("|---|---|---|---|---|---|")
    for name, runs in uvloop.run(measure(peers, max(given.rounds, 2), given.seed)).items():
        print(row(name, runs))


if __name__ == "__main__":
    main()
