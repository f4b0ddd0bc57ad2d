"""A process that has the project's code loaded and forks servers: a start costs what it does, not its imports.

Run as a script, it reads a line of JSON for each question and answers with one: `{"module": …, "arguments": […], "log":
"…", "environment": {…}}` starts what `python -m` would and answers with the process id; `{"poll": id}` answers with the
exit status, null while the process lives. A forked server is a process like any other; it only has its imports behind
it.
"""

import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

__all__ = ["Forked", "fork_module"]

PRELOADED = (
    "pyroclast.scheduler.daemon.serve",
    "pyroclast.scheduler.cli.main",
    "pyroclast.scheduler.cli.commands.scheduler",
    "pyroclast.scheduler.cli.commands.controllers",
    "pyroclast.emulator.command",
    "pyroclast.emulator.hollow.run",
)
POLL_SECONDS = 0.01
ROOT = Path(__file__).parents[2]


class _ForkServer:
    """The process that forks, as its one user sees it; it ends when its user does."""

    def __init__(self) -> None:
        self._asking = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.forkserver"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def ask(self, question: Mapping[str, Any]) -> int | None:
        """Send a question and return the answer; one at a time, whichever thread asks."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._asking:
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            answer: int | None = json.loads(self._process.stdout.readline())
        return answer


@cache
def _server() -> _ForkServer:
    """Return the one server of this process."""
    return _ForkServer()


class Forked:
    """A forked process, with those methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        """Take the process over."""
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, None while the process lives; that of a signal is negative."""
        if self._status is None:
            self._status = _server().ask({"poll": self.pid})
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status.

        Raises:
            subprocess.TimeoutExpired: It lives on.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (status := self.poll()) is None:
            if timeout is not None and deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(POLL_SECONDS)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal; the id stays its own until its status was asked for, so no other process gets it."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Tell it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


def fork_module(module: str, arguments: Sequence[str], *, log: Path) -> Forked:
    """Start what `python -m module` starts, in a process that has the code already; its output goes to `log`."""
    log.write_bytes(b"")  # there to be read from now on
    described = {"module": module, "arguments": arguments, "log": str(log), "environment": dict(os.environ)}
    pid = _server().ask(described)
    assert pid is not None
    return Forked(pid)


def become(module: str, arguments: list[str], log: str, environment: dict[str, str]) -> None:
    """Be the module in a process that was just forked; does not return."""
    output = os.open(log, os.O_WRONLY | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for ours, new in ((0, nothing), (1, output), (2, output)):
        os.dup2(new, ours)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = arguments
    status: Any = 1
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        status = ended.code or 0
    except BaseException:  # noqa: BLE001 - what the interpreter does at the end of a process
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def answer(question: dict[str, Any]) -> int | None:
    """Do what was asked."""
    if "poll" in question:
        pid, status = os.waitpid(question["poll"], os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None
    pid = os.fork()
    if pid == 0:
        become(**question)
    return pid


def serve() -> None:
    """Load, then answer each line."""
    for module in PRELOADED:
        __import__(module)
    gc.freeze()  # what is loaded stays shared with the forked
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
