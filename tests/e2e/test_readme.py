"""What the README tells a new user to type works as it is written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.e2e.processes import ServerProcess, wait_until

ROOT = Path(__file__).parents[2]
KUBECONFIG = "/tmp/pyroclast.kubeconfig"
PATIENCE = 90.0


def commands(heading: str) -> list[str]:
    """Return the lines of the shell blocks under a heading, continued ones joined."""
    part = (ROOT / "README.md").read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```sh\n(.*?)```", part, re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


class Terminal:
    """A user's terminals: servers stay in theirs, everything else is typed in one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._servers: list[ServerProcess] = []
        self._kubeconfig = folder / "kubeconfig"
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {"PATH": path, "KUBECONFIG": str(self._kubeconfig)}

    def serve(self, command: str) -> None:
        """Start a server and wait until it can be used."""
        words = command.replace(KUBECONFIG, str(self._kubeconfig)).split()
        program = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
        log = self._folder / f"{words[1]}.log"
        server = ServerProcess(program, log=log)
        self._servers.append(server)
        said = "serving" if words[1] == "emulator" else "synced"
        wait_until(lambda: said in log.read_text(), of=server, seconds=PATIENCE)

    def type(self, command: str) -> str:
        """Run a command to its end."""
        environment = {**os.environ, **self._environment}
        done = subprocess.run(
            command,
            shell=True,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def wait_until_shown(self, command: str, pattern: str) -> None:
        """Run a command again and again until its output has a line of this form."""
        wait_until(
            lambda: re.search(pattern, self.type(command), re.MULTILINE) is not None,
            of=self._servers[-1],
            seconds=PATIENCE,
        )

    def close(self) -> None:
        """Stop the servers, the last one first."""
        for server in reversed(self._servers):
            server.stop()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A terminal, closed at the end."""
    with ExitStack() as stack:
        made = Terminal(tmp_path)
        stack.callback(made.close)
        yield made


def test_a_new_user_has_a_gang_bound_with_kubectl(terminal: Terminal) -> None:
    """The five minutes: emulator, scheduler, a gang that runs and one that says why it waits."""
    typed = [line for line in commands("Five minutes: a gang of your own") if not line.startswith(("make ", "export "))]
    servers = [line for line in typed if line.startswith("pyroclast ")]
    assert [line.split()[1] for line in servers] == ["emulator", "scheduler"]
    for line in servers:
        terminal.serve(line)

    apply, get, describe = (line for line in typed if line not in servers)
    terminal.type(apply)

    for number in range(4):
        terminal.wait_until_shown(get, rf"^pod/train-{number} .* Running .* hollow-\d")
    terminal.wait_until_shown(get, r"^podgroup\S*/train +Running +4 +4 ")
    terminal.wait_until_shown(describe, r"too-big-2: 0/3 nodes are unavailable: 3 Insufficient cpu\.$")
    assert re.search(r"^pod/too-big-0 .* Pending ", terminal.type(get), re.MULTILINE)

    (simulate,) = commands("What would happen if …")
    assert "default/too-big-2" in terminal.type(simulate)
