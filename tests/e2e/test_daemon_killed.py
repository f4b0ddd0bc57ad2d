"""The daemon, killed at random points inside the placing of a gang: its successor ends what it began.

Each point is a number of pods that are bound when the signal goes out, drawn from a seed. Afterwards all pods are
bound, each once, phases are those of an undisturbed gang, and the successor's books equal a rebuild.
"""

import json
import random
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.drawing import examples
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import PATIENCE
from tests.e2e.emulatorprocess import clear_faults, tell_faults
from tests.e2e.ground import LABEL, Ground, standing_on
from tests.e2e.ports import free_ports
from tests.e2e.processes import ServerProcess

MEMBERS = 100
POINTS = examples(15, deep=50)
SEED = 20_260
HELD_BINDS = {"resource": "pods", "subresource": "binding", "effect": "hold", "delay_seconds": 1.0}
"""The emulator binds a hundred pods in the time that a signal takes: those beyond the point wait, so that the daemon is
killed before them, on machines of any speed; some come when it is dead, as from a network that was slow."""
CALM = {"phase": "Running", "running": MEMBERS, "succeeded": 0, "failed": 0}
"""What the group of an undisturbed gang says."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Sixteen nodes of eight CPUs, for a hundred pods of one."""
    with standing_on(cluster_with_crds, "killed", folder=tmp_path_factory.mktemp("killed"), nodes=16) as ground:
        yield ground


@dataclass
class Places:
    """What a watch of the gang's pods has seen."""

    by_pod: dict[str, set[str]] = field(default_factory=dict)
    """Nodes that a pod was seen on, by UID: one, if all is well."""
    seen: threading.Condition = field(default_factory=threading.Condition)

    def note(self, pod: dict[str, Any]) -> None:
        """Take a pod in."""
        node = pod["spec"].get("nodeName")
        if node:
            with self.seen:
                self.by_pod.setdefault(pod["metadata"]["uid"], set()).add(node)
                self.seen.notify_all()

    def wait(self, bound: int) -> None:
        """Wait until so many pods have been bound."""
        with self.seen:
            assert self.seen.wait_for(lambda: len(self.by_pod) >= bound, PATIENCE), f"{len(self.by_pod)} of {bound}"


@contextmanager
def watched(ground: Ground) -> Iterator[Places]:
    """Watch the ground's pods from now on."""
    places = Places()
    path = f"/api/v1/namespaces/{ground.name}/pods"
    version = ground.client.send("GET", path).body["metadata"]["resourceVersion"]
    stream = ground.client.open(f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=300")

    over = threading.Event()

    def follow() -> None:
        # A stream is closed by who reads it: another thread would wait for the read to end.
        with closing(stream):
            for line in stream:
                if over.is_set():
                    return
                places.note(json.loads(line)["object"])

    threading.Thread(target=follow, daemon=True).start()
    try:
        yield places
    finally:
        over.set()  # heard with the next event


class Line:
    """Daemons of one ground, one after the other."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self._ground, self._folder = ground, folder
        self._number = 0
        self._port = 0
        self._process = self.start()

    def start(self) -> ServerProcess:
        """Start the next."""
        (self._port,) = free_ports(1)
        self._number += 1
        self._process = ServerProcess.of_module(
            *("pyroclast.scheduler", "scheduler"),
            f"--kubeconfig={self._ground.cluster.kubeconfig}",
            f"--scheduler-name={self._ground.name}",
            f"--node-selector={LABEL}:{self._ground.name}",
            "--leader-elect=false",
            "--schedule-period=20ms",
            "--enable-pprof",
            f"--listen-address=127.0.0.1:{self._port}",
            log=self._folder / f"scheduler-{self._number}.log",
        )
        return self._process

    def kill(self) -> None:
        """End the present one, as `kill -9` does."""
        self._process.kill()

    def differences(self) -> Any:
        """Ask the present one for its audit."""
        answer = self._ground.client.open(f"http://127.0.0.1:{self._port}/debug/audit")
        with closing(answer):
            return json.load(answer)["differences"]


def test_killed_at_any_point_the_gang_is_placed_whole(ground: Ground, tmp_path: Path) -> None:
    """The same pods are bound, each once, phases as if uninterrupted, books equal to a rebuild."""
    chance = random.Random(SEED)
    bound_at_death = []
    line = Line(ground, tmp_path)
    try:
        for point in range(POINTS):
            wanted = chance.randint(0, MEMBERS)
            bound_at_death.append(kill_inside(ground, line, f"point-{point}", wanted))
    finally:
        line.kill()

    # Points lie where it matters, on machines of any speed: some members bound, some not.
    assert sum(0 < bound < MEMBERS for bound in bound_at_death) > POINTS / 10, bound_at_death


@contextmanager
def held_after(ground: Ground, binds: int) -> Iterator[None]:
    """Let the emulator carry out so many binds, and take its time for the rest."""
    if ground.cluster.kind != "emulator":
        yield
        return
    tell_faults(ground.cluster.url, {**HELD_BINDS, "namespace": ground.name, "skip": binds})
    try:
        yield
    finally:
        clear_faults(ground.cluster.url)


def kill_inside(ground: Ground, line: Line, gang: str, wanted: int) -> int:
    """Kill the daemon when so many pods of a gang are bound, and look at what its successor makes of it.

    Returns:
        How many pods were bound when the daemon was gone.
    """
    with watched(ground) as places:
        with held_after(ground, wanted):
            ground.gang(gang, MEMBERS)
            places.wait(wanted)
            line.kill()
        bound = sum(bool(node) for node in ground.nodes_of(gang))
        line.start()
        wait_calm(ground, gang)

        pods = ground.pods(gang)
        assert len(pods) == MEMBERS
        assert all(pod["status"]["phase"] == "Running" for pod in pods)
        assert {pod["metadata"]["uid"]: {pod["spec"]["nodeName"]} for pod in pods} == places.by_pod
        assert line.differences() == [], f"killed with {wanted} bound"
    ground.clear_workload()  # and with it the watch ends
    return bound


def wait_calm(ground: Ground, gang: str) -> None:
    """Wait until a group says what that of an undisturbed gang says."""
    poll = threading.Event()
    for _ in range(int(PATIENCE / 0.05)):
        status = ground.read_group(gang).get("status", {})
        said = {key: status.get(key, 0) for key in CALM}
        if said == CALM:
            return
        poll.wait(0.05)
    pytest.fail(f"{gang}: {said}")
