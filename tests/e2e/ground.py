"""Ground: a test's own part of a shared cluster.

A namespace, a queue, nodes that carry a label, and a scheduler name, all called after the ground, so that tests that
share a server do not meet.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.e2e.cluster import Cluster
from tests.e2e.daemon import PATIENCE, Daemon
from tests.e2e.processes import ServerProcess, wait_until
from tests.e2e.rawhttp import Client

__all__ = ["AT_ONCE", "GROUP_API", "LABEL", "Ground", "Object", "queue", "standing_on"]

GROUP_API = "/apis/scheduling.volcano.sh/v1beta1"
LABEL = "pyroclast.test/ground"
AT_ONCE = {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ground:
    """A part of a cluster; `name` is its namespace, its queue, its scheduler's name and its nodes' prefix."""

    cluster: Cluster
    name: str
    folder: Path
    node_flags: tuple[str, ...] = field(default=())
    """Flags of the hollow nodes, beside the usual ones."""

    @cached_property
    def client(self) -> Client:
        """The administrator, speaking JSON."""
        return Client(self.cluster)

    def kubectl(self, *arguments: str, input: str | None = None) -> str:  # noqa: A002 - named as in `subprocess`
        """Run kubectl in the namespace."""
        return self.cluster.kubectl("-n", self.name, *arguments, input=input)

    @contextmanager
    def daemon(
        self,
        folder: Path,
        *flags: str,
        environment: Mapping[str, str] | None = None,
        is_alone: bool = True,
        seen: Cluster | None = None,
    ) -> Iterator[Daemon]:
        """Run a daemon for this ground.

        Args:
            folder: Where its log and its dumps go.
            flags: Its command line, beside the usual flags of tests.
            environment: Variables it sees beside those of the tests.
            is_alone: Whether it needs no lease.
            seen: The cluster as it sees it; as the test sees it where None.
        """
        alone = ("--leader-elect=false",) if is_alone else ()
        mine = (f"--scheduler-name={self.name}", f"--node-selector={LABEL}:{self.name}")
        daemon = Daemon(seen or self.cluster, folder, *mine, *alone, *flags, environment=environment)
        try:
            daemon.wait_ready()
            yield daemon
        finally:
            daemon.process.stop()

    @contextmanager
    def hollow_nodes(self, count: int) -> Iterator[ServerProcess]:
        """Run hollow nodes for the length of a block; afterwards the nodes stay on the server without a kubelet."""
        nodes = ServerProcess.of_module(
            *("pyroclast.emulator.hollow", "--kubeconfig", self.cluster.kubeconfig),
            *("--nodes", str(count), "--prefix", self.name, "--cpu", "8", "--label", f"{LABEL}={self.name}"),
            *("--start-seconds", "0.1", "--termination-seconds", "0.1", *self.node_flags),
            log=self.folder / "hollow.log",
        )
        try:
            wait_until(lambda: len(self.nodes()) == count, of=nodes, seconds=PATIENCE)
            yield nodes
        finally:
            nodes.stop()

    def nodes(self) -> list[Object]:
        """Return this ground's nodes."""
        return self.items(f"/api/v1/nodes?labelSelector={LABEL}%3D{self.name}")

    def items(self, path: str) -> list[Object]:
        """Return a list's items."""
        found: list[Object] = self.client.send("GET", path).body["items"]
        return found

    def create(self, path: str, body: Object) -> Object:
        """Create an object."""
        answer = self.client.send("POST", path, body)
        assert answer.code == 201, answer.body
        return answer.body

    def group(self, name: str, members: int, **spec: Any) -> Object:
        """Create a PodGroup."""
        return self.create(
            f"{GROUP_API}/namespaces/{self.name}/podgroups",
            {
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": name, "namespace": self.name},
                "spec": {"minMember": members, "queue": self.name, **spec},
            },
        )

    def pod(
        self,
        name: str,
        cpu: str = "1",
        *,
        group: str = "",
        gang: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        **spec: Any,
    ) -> Object:
        """Create a pod; with a group, it names that PodGroup."""
        return self.create(
            f"/api/v1/namespaces/{self.name}/pods",
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": self.name,
                    "labels": {"gang": gang or group or name, **(labels or {})},
                    "annotations": {
                        **({"scheduling.k8s.io/group-name": group} if group else {}),
                        **(annotations or {}),
                    },
                },
                "spec": {
                    "schedulerName": self.name,
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
                    **spec,
                },
            },
        )

    def gang(self, name: str, members: int, cpu: str = "1", **spec: Any) -> None:
        """Create a PodGroup and its pods, `<name>-worker-<number>`: so called, they are placed in their order."""
        self.group(name, members)
        for number in range(members):
            self.pod(f"{name}-worker-{number}", cpu, group=name, **spec)

    def pods(self, gang: str) -> list[Object]:
        """Return the pods of a gang, or the one pod of that name."""
        return self.items(f"/api/v1/namespaces/{self.name}/pods?labelSelector=gang%3D{gang}")

    def nodes_of(self, gang: str) -> list[str]:
        """Return where the pods of a gang are; empty for those that wait."""
        return [pod["spec"].get("nodeName", "") for pod in self.pods(gang)]

    def is_placed(self, gang: str) -> bool:
        """Return whether each pod of a gang has a node."""
        return all(self.nodes_of(gang))

    def phases_of(self, gang: str) -> list[str]:
        """Return the phases of the pods of a gang."""
        return [pod["status"].get("phase", "") for pod in self.pods(gang)]

    def succeed(self, gang: str) -> None:
        """End the pods of a gang well, as their kubelets do."""
        for pod in self.pods(gang):
            path = f"/api/v1/namespaces/{self.name}/pods/{pod['metadata']['name']}/status"
            ended = {"status": {"phase": "Succeeded"}}
            answer = self.client.send("PATCH", path, ended, as_type="application/merge-patch+json")
            assert answer.code == 200, answer.body

    def read_group(self, name: str) -> Object:
        """Read a PodGroup."""
        return self.client.send("GET", f"{GROUP_API}/namespaces/{self.name}/podgroups/{name}").body

    def phase_of(self, name: str) -> str:
        """Return the phase of a PodGroup."""
        phase: str = self.read_group(name).get("status", {}).get("phase", "")
        return phase

    def condition_of(self, pod: str) -> Object:
        """Return a pod's condition `PodScheduled`; empty where it has none."""
        found: list[Object] = (
            self.client.send("GET", f"/api/v1/namespaces/{self.name}/pods/{pod}").body["status"].get("conditions", [])
        )
        return next((each for each in found if each["type"] == "PodScheduled"), {})

    def events_of(self, name: str) -> list[tuple[str, str]]:
        """Return reasons and messages of the events about an object."""
        found = self.items(f"/api/v1/namespaces/{self.name}/events")
        return [(each["reason"], each["message"]) for each in found if each["involvedObject"]["name"] == name]

    def remove(self, gang: str) -> None:
        """Delete a gang, so that the next test has its room."""
        for pod in self.pods(gang):
            path = f"/api/v1/namespaces/{self.name}/pods/{pod['metadata']['name']}"
            self.client.send("DELETE", path, {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        self.client.send("DELETE", f"{GROUP_API}/namespaces/{self.name}/podgroups/{gang}")

    def clear_workload(self) -> None:
        """Delete all pods and groups: what a queue holds, other daemons count against theirs."""
        for path in (f"/api/v1/namespaces/{self.name}/pods", f"{GROUP_API}/namespaces/{self.name}/podgroups"):
            self.client.send("DELETE", path, AT_ONCE)

    def clear(self) -> None:
        """Delete the nodes too."""
        self.clear_workload()
        self.client.send("DELETE", f"/api/v1/nodes?labelSelector={LABEL}%3D{self.name}", AT_ONCE)


@contextmanager
def standing_on(
    cluster: Cluster, name: str, *, folder: Path, nodes: int = 4, node_flags: tuple[str, ...] = ()
) -> Iterator[Ground]:
    """Make a ground with hollow nodes of eight CPUs, and keep them alive for the length of a block."""
    ground = Ground(cluster=cluster, name=name, folder=folder, node_flags=node_flags)
    ground.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    ground.create(f"{GROUP_API}/queues", queue(name))
    try:
        with ground.hollow_nodes(nodes):
            yield ground
    finally:
        ground.clear()


def queue(name: str) -> Object:
    """Describe a queue."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": name},
        "spec": {"weight": 1},
    }
