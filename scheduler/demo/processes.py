"""Processes of the demonstration: the emulator with its hollow nodes, and the daemon. Each has its own log."""

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
    """A process of the demonstration ended or did not start. The message contains the end of its log."""


class Child:
    """One process, from `start` to `stop`. It has its own session, so that signals of the terminal do not reach it."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        """Wrap a running process."""
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
        """Raise `ChildError` if the process has ended."""
        if self._process.returncode is not None:
            raise ChildError(with_logs(f"{self.log.stem} ended with status {self._process.returncode}", [self]))

    async def stop(self) -> None:
        """Terminate the process, and kill it if it does not end in time."""
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
    """Start the API server. Its kubeconfig exists once it answers."""
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
    """Wait for a condition while the children run.

    Raises:
        ChildError: A child ended, or the time is up.
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
    """Return a message with the children's last log lines. Their files are deleted with the demonstration."""
    lines = [trouble]
    for child in children:
        last = child.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        lines += [f"--- {child.log.stem}", *last]
    return "\n".join(lines)


async def is_ready(port: int) -> bool:
    """Return whether the daemon is ready."""
    try:
        async with (
            aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=2.0)) as session,
            session.get(f"http://127.0.0.1:{port}/readyz") as answer,
        ):
            return answer.status == 200
    except (aiohttp.ClientError, TimeoutError):
        return False


def free_port() -> int:
    """Return a free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
