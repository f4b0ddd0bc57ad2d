"""`pyroclast emulator`: a Kubernetes API in memory, with the custom resources and hollow nodes if wanted."""

import argparse
import asyncio
import contextlib
import gc
import signal
import ssl
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import uvloop

from emulator.run import Emulator
from kube.client import Client
from kube.configuration import ClusterOptions, connect
from model.errors import ConfigError
from scheduler.argument_types import natural, port
from scheduler.data import custom_resource_definitions
from scheduler.unreadable import why

__all__ = ["main"]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def main(arguments: Sequence[str]) -> int:
    """Serve until a signal comes.

    Raises:
        ConfigError: The address is taken, or a file cannot be used.
    """
    given = _parser().parse_args(arguments)
    # The store keeps bytes, so there is little to walk; rarer collections keep the pauses away.
    gc.set_threshold(50_000, 20, 50)
    with contextlib.suppress(asyncio.CancelledError):
        uvloop.run(_until_signal(given))
    return 0


async def _until_signal(given: argparse.Namespace) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    await _serve(given)


async def _serve(given: argparse.Namespace) -> None:
    emulator = Emulator(
        port=given.port,
        host=given.host,
        token=given.token,
        certificate=given.certificate,
        certificate_authority=given.certificate_authority,
    )
    with tempfile.TemporaryDirectory() as folder:
        async with _listening(emulator):
            private = emulator.kubeconfig(Path(folder) / "kubeconfig")
            if not given.bare:
                await _define_custom_resources(private)
            async with _hollow_nodes(given.hollow_nodes, private):
                # Written last: who waits for the file finds everything in place.
                if given.kubeconfig is not None:
                    _write_kubeconfig(emulator, given.kubeconfig)
                print(_welcome(emulator, given), flush=True)  # noqa: T201 - the user waits for the address
                await asyncio.Event().wait()


@asynccontextmanager
async def _listening(emulator: Emulator) -> AsyncIterator[None]:
    try:
        await emulator.__aenter__()
    except ssl.SSLError as error:
        raise ConfigError(f"emulator: --certificate: {emulator.certificate}: no certificate with its key") from error
    except FileNotFoundError as error:
        raise ConfigError(f"emulator: --certificate: {emulator.certificate}: {why(error)}") from error
    except OSError as error:
        raise ConfigError(f"emulator: --host, --port: {why(error)}") from error
    try:
        yield
    finally:
        await emulator.__aexit__()


def _write_kubeconfig(emulator: Emulator, path: Path) -> None:
    try:
        emulator.kubeconfig(path)
    except OSError as error:
        raise ConfigError(f"emulator: --kubeconfig: {path}: {why(error)}") from error


async def _define_custom_resources(kubeconfig: Path) -> None:
    cluster = await connect(ClusterOptions(kubeconfig=str(kubeconfig)))
    async with Client(cluster, component="emulator") as client:
        for definition in custom_resource_definitions():
            await client.request_json("POST", _DEFINITIONS, body=definition)


@asynccontextmanager
async def _hollow_nodes(count: int, kubeconfig: Path) -> AsyncIterator[None]:
    """Run hollow nodes in a process of their own: they are clients, and the server needs its core."""
    if not count:
        yield
        return
    arguments: list[Any] = ["-m", "emulator.hollow", "--kubeconfig", kubeconfig, "--nodes", str(count)]
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
        description="Serve a Kubernetes API in memory, good enough for kubectl and schedulers, until a signal comes.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=0, help="port to listen on; 0 takes a free one (the default)")
    parser.add_argument("--token", default="", help="bearer token that clients must show; none by default")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="PEM file with certificate and key: HTTPS")
    parser.add_argument("--certificate-authority", type=Path, metavar="FILE", help="PEM file that clients should trust")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="file to write once everything is in place")
    parser.add_argument("--bare", action="store_true", help="without the definitions of the custom resources")
    parser.add_argument("--hollow-nodes", type=natural, default=0, metavar="N", help="nodes that run pods in name only")
    return parser
