"""The server from a command line: its flags, and a start that refuses in words.

Both `python -m pyroclast.emulator` and `pyroclast emulator` start it here, so they take the same flags and refuse wrong
ones in the same words.
"""

import argparse
import asyncio
import contextlib
import gc
import signal
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop

from pyroclast.emulator.arguments import MOST_PORTS, whole
from pyroclast.emulator.kinds.podgroups import NATIVE_VERSIONS
from pyroclast.emulator.run import Emulator
from pyroclast.emulator.storage.store import HISTORY

__all__ = ["UnusableError", "add_flags", "emulator_of", "listening", "until_signal", "write_kubeconfig_for"]


class UnusableError(Exception):
    """The server cannot be started as it was asked to; the text names the flag and the reason."""


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of the server."""
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument(
        "--port", type=whole(most=MOST_PORTS), default=0, help="port to listen on; 0 takes a free one (the default)"
    )
    parser.add_argument(
        "--token",
        default="",
        help="bearer token that clients must show; none by default; kubectl shows it over HTTPS alone",
    )
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="PEM file with certificate and key: HTTPS")
    parser.add_argument("--certificate-authority", type=Path, metavar="FILE", help="PEM file that clients should trust")
    parser.add_argument("--kubeconfig", type=Path, metavar="FILE", help="file to write once everything is in place")
    parser.add_argument(
        "--history",
        type=whole(),
        default=HISTORY,
        metavar="N",
        help="changes kept of each kind, for watches and lists to go on from; older ones answer 410, and clients list "
        "again (default: %(default)s)",
    )
    parser.add_argument(
        "--native-groups",
        choices=[*NATIVE_VERSIONS, "none"],
        default="none",
        help="version of PodGroups and Workloads of scheduling.k8s.io; a server of Kubernetes 1.36 has none unless its "
        "feature gates say so (default: %(default)s)",
    )


def emulator_of(given: argparse.Namespace) -> Emulator:
    """Make the server that the flags ask for."""
    return Emulator(
        port=given.port,
        host=given.host,
        token=given.token,
        certificate=given.certificate,
        certificate_authority=given.certificate_authority,
        history=given.history,
        native_groups="" if given.native_groups == "none" else given.native_groups,
    )


@asynccontextmanager
async def listening(emulator: Emulator) -> AsyncIterator[None]:
    """Serve for the length of a block.

    Raises:
        UnusableError: The address is taken, or the certificate cannot be used.
    """
    try:
        await emulator.__aenter__()
    except ssl.SSLError as error:
        raise UnusableError(f"--certificate: {emulator.certificate}: no certificate with its key") from error
    except FileNotFoundError as error:
        raise UnusableError(f"--certificate: {emulator.certificate}: {error.strerror}") from error
    except OSError as error:
        raise UnusableError(f"--host, --port: {error.strerror or error}") from error
    try:
        yield
    finally:
        await emulator.__aexit__()


def write_kubeconfig_for(emulator: Emulator, path: Path | None) -> None:
    """Write the kubeconfig where one is asked for.

    Raises:
        UnusableError: It cannot be written.
    """
    if path is None:
        return
    try:
        emulator.kubeconfig(path)
    except OSError as error:
        raise UnusableError(f"--kubeconfig: {path}: {error.strerror or error}") from error


def until_signal(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a server in a loop of its own until it ends or a signal comes."""
    # The store keeps bytes, so there is little to walk; rarer collections keep the pauses away.
    gc.set_threshold(50_000, 20, 50)
    with contextlib.suppress(asyncio.CancelledError):
        uvloop.run(_cancelled_by_signals(serve))


async def _cancelled_by_signals(serve: Callable[[], Coroutine[Any, Any, None]]) -> None:
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    await serve()
