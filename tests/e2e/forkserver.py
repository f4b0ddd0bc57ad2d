"""A process that has the daemon's code loaded, and forks daemons: for tests that start it again and again.

Run as a script, it reads a line of JSON for each daemon, `{"arguments": […], "log": "…"}`, and writes the new process'
id. A forked daemon is a process like any other; it only has its imports behind it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["ForkServer"]

PRELOADED = ("scheduler.serve", "scheduler.commands.scheduler", "scheduler.commands.controllers")
STOP_SECONDS = 20.0


class ForkServer:
    """Starts daemons by forking, for the length of a `with` block."""

    def __init__(self, folder: Path) -> None:
        """Load the code in a process of its own; its log goes to `folder`."""
        with (folder / "forkserver.log").open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.e2e.forkserver"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=Path(__file__).parents[2],
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(STOP_SECONDS)

    def fork(self, arguments: list[str], log: Path) -> int:
        """Start a daemon and return its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "log": str(log)}) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    @staticmethod
    def end(pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """End a daemon, and wait until it is gone."""
        deadline = time.monotonic() + STOP_SECONDS
        try:
            os.kill(pid, number)
            while time.monotonic() < deadline:
                os.kill(pid, 0)
                time.sleep(0.005)
        except ProcessLookupError:
            return
        raise TimeoutError(f"process {pid} does not end")


def become_daemon(arguments: list[str], log: str) -> None:
    """Be a daemon in a process that was just forked; does not return."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, new in ((0, nothing), (1, output), (2, output)):
        os.dup2(new, ours)
    from scheduler import cli  # noqa: PLC0415 - loaded by the parent

    status = 1
    try:
        status = cli.main(arguments)
    finally:
        os._exit(status)


def serve() -> None:
    """Load, then fork for each line."""
    for module in PRELOADED:
        __import__(module)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks for their statuses, so none is left a zombie
    for line in sys.stdin:
        wanted = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become_daemon(**wanted)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
