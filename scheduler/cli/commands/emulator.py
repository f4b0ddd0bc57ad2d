"""`pyroclast emulator`: serve a Kubernetes API in memory, with the custom resources and optional hollow nodes."""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from pyroclast.emulator.command import (
    UnusableError,
    add_flags,
    emulator_of,
    listening,
    until_signal,
    write_kubeconfig_for,
)
from pyroclast.emulator.run import Emulator
from pyroclast.kube.api.client import Client
from pyroclast.kube.api.configuration import ClusterOptions, connect
from pyroclast.model.errors import ConfigError
from pyroclast.scheduler.cli.argument_types import natural
from pyroclast.scheduler.data import custom_resource_definitions

__all__ = ["main"]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal arrives.

    Raises:
        ConfigError: The address is in use, or a file cannot be used.
    """
    given = _parser().parse_args(arguments)
    try:
        until_signal(lambda: _serve(given))
    except UnusableError as error:
        raise ConfigError(f"emulator: {error}") from error
    return 0


async def _serve(given: argparse.Namespace) -> None:
    emulator = emulator_of(given)
    with tempfile.TemporaryDirectory() as folder:
        async with listening(emulator):
            private = emulator.kubeconfig(Path(folder) / "kubeconfig")
            if not given.bare:
                await _define_custom_resources(private)
            async with _hollow_nodes(given.hollow_nodes, private):
                # Written last: a client that waits for this file can rely on the custom resources and the nodes.
                write_kubeconfig_for(emulator, given.kubeconfig)
                print(_welcome(emulator, given), flush=True)  # noqa: T201 - the user waits for the address
                await asyncio.Event().wait()


async def _define_custom_resources(kubeconfig: Path) -> None:
    cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
    async with Client(cluster, component="emulator") as client:
        for definition in custom_resource_definitions():
            await client.request_json("POST", _DEFINITIONS, body=definition)


@asynccontextmanager
async def _hollow_nodes(count: int, kubeconfig: Path) -> AsyncIterator[None]:
    """Run hollow nodes in a separate process, because the server needs its core for itself."""
    if not count:
        yield
        return
    arguments: list[Any] = ["-m", "pyroclast.emulator.hollow", "--kubeconfig", kubeconfig, "--nodes", str(count)]
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


def _welcome(emulator: Emulator, given: argparse.Namespace) -> str:
    nodes = f", {given.hollow_nodes} hollow nodes" if given.hollow_nodes else ""
    use = f"; try kubectl --kubeconfig {given.kubeconfig} get nodes" if given.kubeconfig else ""
    return f"serving {emulator.url}{nodes}{use}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pyroclast emulator",
        description="Serve a Kubernetes API in memory for kubectl and schedulers, until a signal arrives.",
    )
    add_flags(parser)
    parser.add_argument("--bare", action="store_true", help="do not install the CRDs")
    parser.add_argument(
        "--hollow-nodes", type=natural, default=0, metavar="N", help="number of hollow nodes, which simulate pods"
    )
    return parser
