"""Server processes of a test: started with a log each, watched while they come up, stopped without a trace."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.forkserver import Forked, fork_module

__all__ = ["ServerError", "ServerProcess", "wait_until"]

STOP_SECONDS = 20.0
"""Time a server has to end by itself; etcd waits for its clients to leave."""

END_SECONDS = 60.0
"""Longest wait for a server that a test expects to end; a second is usual, a busy machine takes many times that."""

LOG_LINES = 20
"""Lines of its log that a failed server is reported with."""


class ServerError(RuntimeError):
    """A server ended, or did not come up in time; the message has the end of its log."""


class ServerProcess:
    """One server, from start to `stop`; standard output and error go to a file."""

    def __init__(self, process: subprocess.Popen[bytes] | Forked, log: Path) -> None:
        """Take over a process that was just started; `log` is where its output goes."""
        self._process, self.log = process, log

    @classmethod
    def of_program(
        cls, *arguments: str | Path, log: Path, environment: Mapping[str, str] | None = None
    ) -> "ServerProcess":
        """Start a program.

        Args:
            arguments: Program and flags.
            log: File its output is written to.
            environment: Variables it sees beside those of the tests.
        """
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(argument) for argument in arguments],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **(environment or {})},
            )
        return cls(process, log)

    @classmethod
    def of_module(
        cls, module: str, *arguments: str | Path, log: Path, environment: Mapping[str, str] | None = None
    ) -> "ServerProcess":
        """Start `python -m module`: forked from a process with the code in it, since importing it takes seconds.

        One with variables of its own is started from nothing: some of them speak to the interpreter.
        """
        if environment:
            return cls.of_program(sys.executable, "-m", module, *arguments, log=log, environment=environment)
        return cls(fork_module(module, [str(argument) for argument in arguments], log=log), log)

    @property
    def pid(self) -> int:
        """Process id, for tests that signal the server."""
        return self._process.pid

    def exit_status(self, seconds: float = END_SECONDS) -> int:
        """Wait until the server has ended by itself, and return its status."""
        return self._process.wait(seconds)

    def kill(self) -> None:
        """End the server as `kill -9` does, and wait until it is gone."""
        self._process.kill()
        self._process.wait()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep the server from running, for the length of a block."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        """Raise `ServerError` when the server has ended."""
        if (status := self._process.poll()) is not None:
            raise ServerError(f"{self.log.stem} ended with status {status}:\n{self.last_words()}")

    def has_logged(self, text: str) -> bool:
        """Whether the log contains a text."""
        return text in self.log.read_text(errors="replace")

    def log_events(self) -> list[dict[str, Any]]:
        """Return the events of the log; a last line that is still being written is left out."""
        complete, _, _ = self.log.read_text(errors="replace").rpartition("\n")
        return [json.loads(line) for line in complete.splitlines()]

    def last_words(self) -> str:
        """Return the end of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-LOG_LINES:])

    def stop(self) -> None:
        """Ask the server to end, and kill it when it does not."""
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def wait_until(condition: Callable[[], bool], *, of: ServerProcess, seconds: float) -> None:
    """Wait for a server to come up.

    Args:
        condition: Whether it has; asked twenty times a second.
        of: The server; when it ends, waiting ends too.
        seconds: Longest wait.

    Raises:
        ServerError: The server ended, or time is up.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        of.check()
        if time.monotonic() > deadline:
            raise ServerError(f"{of.log.stem} was not ready after {seconds:.0f} s:\n{of.last_words()}")
        time.sleep(0.05)
