"""What the README tells a new user to type works as it is written."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.controlplane import ControlPlane
from tests.e2e.processes import ServerProcess, wait_until

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
KUBECONFIG = "/tmp/pyroclast.kubeconfig"
PATIENCE = 90.0


def commands(heading: str) -> list[str]:
    """Return the lines of the shell blocks under a heading, continued ones joined."""
    part = README.read_text().split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]
    blocks = re.findall(r"```sh\n(.*?)```", part, re.DOTALL)
    return [line for block in blocks for line in block.replace("\\\n", " ").splitlines() if line]


class Terminal:
    """A user's terminals: servers stay in theirs, everything else is typed in one."""

    def __init__(self, folder: Path, kubeconfig: Path) -> None:
        self._folder, self._kubeconfig = folder, kubeconfig
        self._servers: list[ServerProcess] = []
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {"PATH": path, "KUBECONFIG": str(kubeconfig)}

    def serve(self, command: str) -> None:
        """Start a server and wait until it can be used."""
        words = command.replace(KUBECONFIG, str(self._kubeconfig)).split()
        server = self.run_beside(words[1], str(Path(sys.executable).with_name(words[0])), *words[1:])
        said = "serving" if words[1] == "emulator" else "synced"
        wait_until(lambda: said in server.log.read_text(), of=server, seconds=PATIENCE)

    def run_beside(self, name: str, *command: str) -> ServerProcess:
        """Run a program until the terminal is closed."""
        server = ServerProcess.of_program(*command, log=self._folder / f"{name}.log")
        self._servers.append(server)
        return server

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


@pytest.fixture(params=["emulator", pytest.param("realserver", marks=pytest.mark.realserver)])
def terminal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal, closed at the end, with a cluster of three nodes: the README's, or "a cluster of yours".

    The README's scheduler places pods on all nodes, so the test needs a cluster of its own.
    """
    if request.param == "emulator":
        made = Terminal(tmp_path, tmp_path / "kubeconfig")
        try:
            made.serve(five_minutes()[0])
            yield made
        finally:
            made.close()
        return
    with ControlPlane(tmp_path, assets=request.getfixturevalue("assets")) as plane:
        made = Terminal(tmp_path, plane.kubeconfig)
        try:
            (definitions,) = re.findall(r"run `(kubectl apply -f config/crd)`, and the rest", README.read_text())
            made.type(definitions)
            hollow = ("-m", "pyroclast.emulator.hollow", f"--kubeconfig={plane.kubeconfig}", "--nodes=3")
            made.run_beside("hollow", sys.executable, *hollow)
            made.wait_until_shown("kubectl get nodes -o name | wc -l", "^3$")
            yield made
        finally:
            made.close()


def five_minutes() -> list[str]:
    """Return what a new user types: two servers, then an apply, a get and a describe."""
    return [line for line in commands("Run a gang") if not line.startswith(("make ", "export "))]


def test_a_new_user_has_a_gang_bound_with_kubectl(terminal: Terminal) -> None:
    """The five minutes: a scheduler, a gang that runs and one that says why it waits."""
    emulator, scheduler, apply, get, describe = five_minutes()
    assert [line.split()[:2] for line in (emulator, scheduler)] == [
        ["pyroclast", "emulator"],
        ["pyroclast", "scheduler"],
    ]
    terminal.serve(scheduler)
    terminal.type(apply)

    for number in range(4):
        terminal.wait_until_shown(get, rf"^pod/train-{number} .* Running .* hollow-\d")
    terminal.wait_until_shown(get, r"^podgroup\S*/train +Running +4 +4 ")
    terminal.wait_until_shown(
        describe, r"too-big-2: .* 3 Insufficient cpu\. It can never run: the largest node has 32 cpu\.$"
    )
    assert re.search(r"^pod/too-big-0 .* Pending ", terminal.type(get), re.MULTILINE)

    (simulate,) = commands("Simulate a change")
    assert "default/too-big-2" in terminal.type(simulate)
