"""Controllers, killed at random points while they group pods and close queues: their successor ends what they began.

Each point is a number of pods that have been made when the signal goes out, drawn from a seed: controllers group as
pods come, so that some are grouped, some are on the way, and the rest meets the successor. Afterwards every pod is in
the group it belongs to, groups are as many as they should be, the daemon has bound them all, and the queue is closed
when they are gone.
"""

import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drawing import examples
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import PATIENCE
from tests.e2e.emulatorprocess import clear_faults, tell_faults
from tests.e2e.ground import GROUP_API, Ground, standing_on
from tests.e2e.processes import ServerProcess

BARE = 24
MEMBERS = 12
POINTS = {"emulator": examples(8, deep=20), "realserver": 5}
SEED = 20_261
SLOW_PATCHES = {"resource": "pods", "verb": "patch", "effect": "hold", "delay_seconds": 0.02, "chance": 0.6}
"""The emulator annotates all pods in the time that a signal takes: some patches wait, so that they come in turns."""
GROUP_NAME = "scheduling.k8s.io/group-name"
CONTAINER = {"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Eight nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "regrouped", folder=tmp_path_factory.mktemp("regrouped"), nodes=8) as ground:
        yield ground


class Line:
    """Controllers of one ground, one after the other."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self._ground, self._folder = ground, folder
        self._number = 0
        self._process = self.start()

    def start(self) -> ServerProcess:
        """Start the next."""
        self._number += 1
        self._process = ServerProcess.of_module(
            *("pyroclast.scheduler", "controllers"),
            f"--kubeconfig={self._ground.cluster.kubeconfig}",
            f"--scheduler-name={self._ground.name}",
            "--controllers=pg-controller,queue-controller",
            "--leader-elect=false",
            log=self._folder / f"controllers-{self._number}.log",
        )
        return self._process

    def kill(self) -> None:
        """End the present one, as `kill -9` does."""
        self._process.kill()


def make_replica_set(ground: Ground, point: int) -> dict[str, Any]:
    """Create a ReplicaSet without a controller, and return it."""
    labels = {"gang": f"of-{point}"}
    return ground.create(
        f"/apis/apps/v1/namespaces/{ground.name}/replicasets",
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"set-{point}",
                "annotations": {"scheduling.volcano.sh/group-min-member": str(MEMBERS)},
            },
            "spec": {
                "replicas": MEMBERS,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {"schedulerName": ground.name, "containers": [CONTAINER]},
                },
            },
        },
    )


def make_pods(ground: Ground, replica_set: dict[str, Any]) -> Iterator[None]:
    """Create pods of the ReplicaSet and bare ones, two of them after each; one pod at each turn."""
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": replica_set["metadata"]["name"],
        "uid": replica_set["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    labels = replica_set["spec"]["selector"]["matchLabels"]
    names: list[tuple[str, dict[str, str], list[dict[str, Any]]]] = []
    for number in range(MEMBERS):
        names.append((f"{labels['gang']}-{number}", labels, [owner]))
        names += [(f"bare-{number}-{which}", {"gang": "bare"}, []) for which in range(BARE // MEMBERS)]
    for name, marks, owners in names:
        ground.create(
            f"/api/v1/namespaces/{ground.name}/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "labels": marks,
                    "ownerReferences": owners,
                    "annotations": {"scheduling.volcano.sh/queue-name": ground.name},
                },
                "spec": {
                    "schedulerName": ground.name,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [CONTAINER],
                },
            },
        )
        yield


def all_pods(ground: Ground) -> list[dict[str, Any]]:
    """Pods of the ground."""
    return ground.items(f"/api/v1/namespaces/{ground.name}/pods")


def grouped(ground: Ground) -> int:
    """How many pods have a group."""
    return sum(GROUP_NAME in pod["metadata"].get("annotations", {}) for pod in all_pods(ground))


def wait_for(condition: Any, what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + PATIENCE
    poll = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, what
        poll.wait(0.05)


def kill_inside(ground: Ground, line: Line, point: int, made: int) -> None:
    """Kill the controllers when so many pods have been made, and look at what their successor makes of it."""
    workload = make_replica_set(ground, point)
    pods = make_pods(ground, workload)
    next(pods)
    wait_for(lambda: grouped(ground) == 1, "controllers at work")
    for _ in range(made - 1):
        next(pods)
    line.kill()
    for _ in pods:
        pass
    assert 0 < grouped(ground) < BARE + MEMBERS, "killed while there was work"
    line.start()
    wait_for(lambda: all(pod["spec"].get("nodeName") for pod in all_pods(ground)), "every pod on a node")

    expected = {
        pod["metadata"]["name"]: f"podgroup-{(pod['metadata'].get('ownerReferences') or [pod['metadata']])[0]['uid']}"
        for pod in all_pods(ground)
    }
    assert {pod["metadata"]["name"]: pod["metadata"]["annotations"][GROUP_NAME] for pod in all_pods(ground)} == expected
    groups = ground.items(f"{GROUP_API}/namespaces/{ground.name}/podgroups")
    assert {group["metadata"]["name"] for group in groups} == set(expected.values())
    assert sorted(group["spec"]["minMember"] for group in groups) == [1] * BARE + [MEMBERS]
    path = f"/apis/apps/v1/namespaces/{ground.name}/replicasets/{workload['metadata']['name']}"
    ground.client.send("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan"})
    ground.clear_workload()
    wait_for(lambda: not all_pods(ground), "no pod left")


def test_killed_at_any_point_pods_are_grouped_once(ground: Ground, tmp_path: Path) -> None:
    """Many deaths: each pod in its group, no group too many, everything bound."""
    chance = random.Random(SEED)
    is_emulator = ground.cluster.kind == "emulator"
    with ground.daemon(tmp_path):
        if is_emulator:
            tell_faults(ground.cluster.url, {"seed": SEED}, {**SLOW_PATCHES, "namespace": ground.name})
        line = Line(ground, tmp_path)
        try:
            for point in range(POINTS[ground.cluster.kind]):
                kill_inside(ground, line, point, made=chance.randint(1, BARE + MEMBERS - 1))
        finally:
            line.kill()
            if is_emulator:
                clear_faults(ground.cluster.url)


def test_killed_again_and_again_a_queue_closes_with_its_children(ground: Ground, tmp_path: Path) -> None:
    """A tree of ten queues with commands to close and open, while controllers die every few hundredths of a second."""
    names = [f"{ground.name}-{number}" for number in range(10)]
    for name, parent in zip(names, ["root", *names], strict=False):
        ground.create(
            f"{GROUP_API}/queues",
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "metadata": {"name": name},
                "spec": {"parent": parent},
            },
        )

    def states() -> set[str]:
        queues = ground.items(f"{GROUP_API}/queues")
        return {queue.get("status", {}).get("state", "") for queue in queues if queue["metadata"]["name"] in names}

    def notes() -> set[str | None]:
        queues = ground.items(f"{GROUP_API}/queues")
        return {
            queue["metadata"].get("annotations", {}).get("volcano.sh/closed-by-parent")
            for queue in queues
            if queue["metadata"]["name"] in names
        }

    chance = random.Random(SEED)
    commands = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{ground.name}/commands"
    line = Line(ground, tmp_path)
    try:
        wait_for(lambda: states() == {"Open"}, "all open")
        top = ground.client.send("GET", f"{GROUP_API}/queues/{names[0]}").body
        for action, state in (("CloseQueue", "Closed"), ("OpenQueue", "Open")):
            target = {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "Queue",
                "name": names[0],
                "uid": top["metadata"]["uid"],
            }
            ground.create(
                commands,
                {
                    "apiVersion": "bus.volcano.sh/v1alpha1",
                    "kind": "Command",
                    "metadata": {"generateName": "told-"},
                    "action": action,
                    "target": target,
                },
            )
            deaths = 0
            while states() != {state} and deaths < 30:
                threading.Event().wait(0.2 * chance.random())
                line.kill()
                deaths += 1
                line.start()
                threading.Event().wait(0.4 * chance.random())
            wait_for(lambda state=state: states() == {state}, f"all {state}")
            wait_for(lambda: ground.items(commands) == [], "no command left")
        wait_for(lambda: notes() == {"false"}, "no queue closed by its parent")
    finally:
        line.kill()
    for name in reversed(names):
        ground.client.send("DELETE", f"{GROUP_API}/queues/{name}")
