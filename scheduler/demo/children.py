"""Processes of the demonstration: the emulator with its hollow nodes, and the daemon, each with a log of its own."""

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import aiohttp

from pyroclast.model.errors import PyroclastError

__all__ = ["Child", "ChildError", "free_port", "is_ready", "start_daemon", "start_emulator", "until", "with_logs"]

_STOP_SECONDS: Final = 10.0
_LOG_LINES: Final = 15
_LOOK_SECONDS: Final = 0.1


class ChildError(PyroclastError):
    """A process of the demonstration ended, or did not come up; the message has the end of its log."""


class Child:
    """One process, from `start` to `stop`; it is in a session of its own, so that we decide the order of the end."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        """Take a process that runs."""
        self._process, self.log = process, log

    @classmethod
    async def start(cls, *arguments: str | Path, log: Path) -> "Child":
        """Run `pyroclast` with arguments."""
        with log.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "pyroclast.scheduler",
                *map(str, arguments),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        return cls(process, log)

    def check(self) -> None:
        """Raise `ChildError` when the process has ended."""
        if self._process.returncode is not None:
            raise ChildError(with_logs(f"{self.log.stem} ended with status {self._process.returncode}", [self]))

    async def stop(self) -> None:
        """Ask the process to end, and kill it when it does not."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


async def start_emulator(folder: Path, nodes: int) -> Child:
    """Start the API server; its kubeconfig is there once it answers."""
    return await Child.start(
        *("emulator", "--kubeconfig", folder / "kubeconfig", "--hollow-nodes", str(nodes)), log=folder / "emulator.log"
    )


async def start_daemon(folder: Path, port: int) -> Child:
    """Start the scheduler, with its probes on a port."""
    return await Child.start(
        "scheduler",
        f"--kubeconfig={folder / 'kubeconfig'}",
        "--leader-elect=false",
        "--enable-healthz",
        f"--healthz-address=127.0.0.1:{port}",
        log=folder / "scheduler.log",
    )


async def until(condition: Callable[[], bool], *children: Child, seconds: float, what: str) -> None:
    """Wait for something, while the children live.

    Raises:
        ChildError: A child ended, or time is up.
    """
    try:
        async with asyncio.timeout(seconds):
            while not condition():
                for child in children:
                    child.check()
                await asyncio.sleep(_LOOK_SECONDS)
    except TimeoutError:
        raise ChildError(with_logs(f"no {what} after {seconds:.0f} s", children)) from None


def with_logs(trouble: str, children: Sequence[Child]) -> str:
    """Return a message with the last lines of what the children logged: their files go with the demonstration."""
    lines = [trouble]
    for child in children:
        last = child.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        lines += [f"--- {child.log.stem}", *last]
    return "\n".join(lines)


async def is_ready(port: int) -> bool:
    """Tell whether the daemon says that it is ready."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2.0)) as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


def free_port() -> int:
    """Return a port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
