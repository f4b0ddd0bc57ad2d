"""`pyroclast demo`: run a real scheduler on an emulated cluster and show how gangs of four queues are placed."""

import argparse
import asyncio
import importlib.util
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.argument_types import positive
from pyroclast.scheduler.demo.workload import nodes_needed
from pyroclast.scheduler.monitoring.logs import start_logging

if TYPE_CHECKING:
    from pyroclast.scheduler.demo.demonstration import Demo

__all__ = ["main"]

INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run the demonstration.

    Raises:
        ConfigError: The packages that only the demonstration needs are not installed.
    """
    given = _parser().parse_args(arguments)
    if importlib.util.find_spec("rich") is None:
        raise ConfigError("demo: needs more packages: install pyroclast-scheduler[emulator]")

    if (needed := nodes_needed(given.pods)) > given.nodes:
        raise ConfigError(f"demo: --nodes: got {given.nodes}, expected at least {needed} for {given.pods} pods")
    start_logging("console")
    with tempfile.TemporaryDirectory(prefix="pyroclast-demo-") as temporary:
        return uvloop.run(_run(given, Path(temporary)))


async def _run(given: argparse.Namespace, folder: Path) -> int:
    # Imported here because these modules need packages that only the demonstration needs.
    from pyroclast.scheduler.demo.demonstration import Demo  # noqa: PLC0415
    from pyroclast.scheduler.demo.display import Picture  # noqa: PLC0415
    from pyroclast.scheduler.demo.processes import ChildError  # noqa: PLC0415

    demo = Demo(nodes=given.nodes, pods=given.pods, keep=given.keep, folder=folder, picture=Picture(sys.stdout))
    try:
        await _until_signal(demo)
    except ChildError as error:
        print(f"demo: {error}", file=sys.stderr)  # noqa: T201 - what a command line is for
        return 1
    except asyncio.CancelledError:
        return 0 if given.keep else INTERRUPTED
    return 0


async def _until_signal(demo: "Demo") -> None:
    loop = asyncio.get_running_loop()
    running = loop.create_task(demo.run())
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, running.cancel)
    await running


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast demo",
        description="Start an API server in memory, hollow nodes and the scheduler; submit gangs to four queues, and "
        "one that can never fit; show the cluster before, during and after. Everything is cleaned up at the end.",
    )
    parser.add_argument("--nodes", type=positive, default=200, metavar="N", help="hollow nodes (default: %(default)s)")
    parser.add_argument("--pods", type=positive, default=2000, metavar="N", help="pods (default: %(default)s)")
    parser.add_argument(
        "--keep", action="store_true", help="keep everything running until Ctrl-C, for use with kubectl"
    )
    return parser
