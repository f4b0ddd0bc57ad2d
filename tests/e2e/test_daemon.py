"""The daemon as a process: it binds gangs, says why it cannot, reloads, hands over, and ends in order."""

import json
import os
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulator.run import write_kubeconfig
from tests.e2e.cluster import Cluster
from tests.e2e.probes import answers_ok
from tests.e2e.processes import ServerProcess, free_ports, wait_until

PATIENCE = 90.0
"""Longest wait for anything; a second is usual, a machine that builds beside the tests takes many times that."""

NAMESPACE = "daemon"
SCHEDULER = "daemon-test"
"""A name of its own, so that daemons of other tests on this cluster leave its pods alone."""

QUICK_LEASE = (
    "--leader-elect-lease-duration=4s",
    "--leader-elect-renew-deadline=3s",
    "--leader-elect-retry-period=500ms",
    f"--leader-elect-resource-namespace={NAMESPACE}",
)


class Daemon:
    """One scheduler process."""

    def __init__(self, cluster: Cluster, folder: Path, *flags: str) -> None:
        """Start it; its probes and metrics are on ports of its own."""
        self.health_port, self.metrics_port = free_ports(2)
        self.process = ServerProcess(
            [
                *(sys.executable, "-m", "scheduler", "scheduler"),
                f"--kubeconfig={cluster.kubeconfig}",
                f"--scheduler-name={SCHEDULER}",
                "--node-selector=daemon-test:yes",
                "--schedule-period=100ms",
                "--enable-healthz",
                f"--healthz-address=127.0.0.1:{self.health_port}",
                "--enable-metrics",
                "--enable-pprof",
                f"--listen-address=127.0.0.1:{self.metrics_port}",
                f"--cache-dump-dir={folder}",
                *flags,
            ],
            log=folder / f"scheduler-{self.health_port}.log",
        )

    def wait_ready(self) -> None:
        """Wait until it says that it is ready."""
        url = f"http://127.0.0.1:{self.health_port}/readyz"
        wait_until(lambda: answers_ok(url), of=self.process, seconds=PATIENCE)

    def get(self, path: str) -> str:
        """Ask its second listener."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}{path}", timeout=10.0) as answer:
            text: str = answer.read().decode()
            return text

    def metric(self, series: str) -> float | None:
        """Return the value of a series, as it is written."""
        for line in self.get("/metrics").splitlines():
            if line.startswith(f"{series} "):
                return float(line.rpartition(" ")[2])
        return None

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Wait for something, while it lives."""
        wait_until(condition, of=self.process, seconds=PATIENCE)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal."""
        os.kill(self.process.pid, number)

    def exit_status(self) -> int:
        """Wait for its end."""
        return self.process._process.wait(PATIENCE)


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster with four hollow nodes for these tests, and their namespace and queue."""
    cluster = cluster_with_crds
    cluster.kubectl("create", "namespace", NAMESPACE)
    cluster.apply(
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\nmetadata: {name: daemon}\nspec: {weight: 1}\n"
    )
    nodes = ServerProcess(
        [
            *(sys.executable, "-m", "emulator.hollow", "--kubeconfig", cluster.kubeconfig),
            *("--nodes", "4", "--prefix", "daemon", "--cpu", "8", "--label", "daemon-test=yes"),
            *("--start-seconds", "0.1", "--termination-seconds", "0.1"),
        ],
        log=tmp_path_factory.mktemp("hollow") / "hollow.log",
    )
    try:
        wait_until(
            lambda: len(cluster.kubectl("get", "nodes", "-l", "daemon-test=yes", "-o", "name").split()) == 4,
            of=nodes,
            seconds=PATIENCE,
        )
        yield cluster
    finally:
        nodes.stop()


@contextmanager
def running(cluster: Cluster, folder: Path, *flags: str) -> Iterator[Daemon]:
    """Run a daemon for the length of a `with` block."""
    daemon = Daemon(cluster, folder, *flags)
    try:
        daemon.wait_ready()
        yield daemon
    finally:
        daemon.process.stop()


def gang(name: str, size: int, cpu: str) -> str:
    """Return the manifests of a gang."""
    documents: list[dict[str, Any]] = [
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"minMember": size, "queue": "daemon"},
        }
    ]
    documents += [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{number}",
                "namespace": NAMESPACE,
                "labels": {"gang": name},
                "annotations": {"scheduling.k8s.io/group-name": name},
            },
            "spec": {
                "schedulerName": SCHEDULER,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": cpu}}}],
            },
        }
        for number in range(size)
    ]
    return "\n---\n".join(json.dumps(document) for document in documents)


def nodes_of(cluster: Cluster, name: str) -> list[str]:
    """Return where the pods of a gang are; empty for those that wait."""
    listed = json.loads(cluster.kubectl("-n", NAMESPACE, "get", "pods", "-l", f"gang={name}", "-o", "json"))
    return [pod["spec"].get("nodeName", "") for pod in listed["items"]]


def phase_of(cluster: Cluster, name: str) -> str:
    """Return the phase of a gang's group."""
    return cluster.kubectl("-n", NAMESPACE, "get", "podgroup", name, "-o", "jsonpath={.status.phase}")


def remove(cluster: Cluster, name: str) -> None:
    """Delete a gang, so that the next test has its room."""
    cluster.kubectl("-n", NAMESPACE, "delete", "pods", "-l", f"gang={name}", "--wait=true", "--timeout=60s")
    cluster.kubectl("-n", NAMESPACE, "delete", "podgroup", name)


def test_gang_that_fits_runs(ground: Cluster, tmp_path: Path) -> None:
    """All pods get nodes, run, and the group says so; events and metrics tell of it."""
    with running(ground, tmp_path, "--leader-elect=false") as daemon:
        ground.apply(gang("fits", 4, "4"))
        daemon.wait_for(lambda: phase_of(ground, "fits") == "Running")

        assert all(node.startswith("daemon-") for node in nodes_of(ground, "fits"))
        daemon.wait_for(lambda: "Successfully assigned" in ground.kubectl("-n", NAMESPACE, "get", "events"))
        assert daemon.metric('pyroclast_binds_total{result="succeeded"}') == 4
        remove(ground, "fits")


def test_gang_that_cannot_fit_binds_nothing_and_says_why(ground: Cluster, tmp_path: Path) -> None:
    """Two pods of 12 CPUs on nodes of eight: none is bound; condition and explain give the reason."""
    with running(ground, tmp_path, "--leader-elect=false") as daemon:
        ground.apply(gang("large", 2, "12"))
        conditions = ("-n", NAMESPACE, "get", "podgroup", "large", "-o", "jsonpath={.status.conditions}")
        daemon.wait_for(lambda: "Insufficient cpu" in ground.kubectl(*conditions))

        assert nodes_of(ground, "large") == ["", ""]
        explained = json.loads(daemon.get(f"/debug/explain?job={NAMESPACE}/large"))
        assert "Insufficient cpu" in json.dumps(explained["taskRefusals"])
        remove(ground, "large")


def test_configuration_is_reloaded_and_a_bad_one_refused(ground: Cluster, tmp_path: Path) -> None:
    """A changed file is in force without a restart; a broken one changes nothing, and metric and event tell of it."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue\n")
    with running(ground, tmp_path, "--leader-elect=false", f"--scheduler-conf={file}") as daemon:
        ground.apply(gang("later", 2, "1"))
        file.write_text("actions: alocate\n")
        daemon.wait_for(lambda: daemon.metric("pyroclast_configuration_reload_ok") == 0)
        daemon.wait_for(lambda: "ConfigurationRefused" in ground.kubectl("get", "events", "-n", "default"))
        assert nodes_of(ground, "later") == ["", ""]

        file.write_text("actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: gang\n")
        daemon.wait_for(lambda: all(nodes_of(ground, "later")))
        assert daemon.metric("pyroclast_configuration_generation") == 2
        assert daemon.metric("pyroclast_configuration_reload_ok") == 1
        remove(ground, "later")


def test_standby_takes_over_from_a_killed_leader(ground: Cluster, tmp_path: Path) -> None:
    """Both are ready, one leads; when it is killed, the other binds what comes after."""
    with ExitStack() as stack:
        first = stack.enter_context(running(ground, tmp_path, *QUICK_LEASE))
        first.wait_for(lambda: first.metric("pyroclast_leader") == 1)
        second = stack.enter_context(running(ground, tmp_path, *QUICK_LEASE))
        assert second.metric("pyroclast_leader") == 0

        first.signal(signal.SIGKILL)
        first.exit_status()
        ground.apply(gang("orphan", 4, "1"))
        second.wait_for(lambda: all(nodes_of(ground, "orphan")))

        assert second.metric("pyroclast_leader") == 1
        remove(ground, "orphan")


def test_stop_releases_the_lease(ground: Cluster, tmp_path: Path) -> None:
    """SIGTERM ends the process with status 0, and the lease is free for the next at once."""
    with running(ground, tmp_path, *QUICK_LEASE, "--leader-elect-resource-name=stop") as daemon:
        daemon.wait_for(lambda: daemon.metric("pyroclast_leader") == 1)
        daemon.signal(signal.SIGTERM)

        assert daemon.exit_status() == 0
        holder = ("-n", NAMESPACE, "get", "lease", "stop", "-o", "jsonpath={.spec.holderIdentity}")
        assert ground.kubectl(*holder) == ""


def test_lost_lease_ends_the_process(ground: Cluster, tmp_path: Path) -> None:
    """When somebody else has taken the lease, the process ends with status 1."""
    with running(ground, tmp_path, *QUICK_LEASE, "--leader-elect-resource-name=lost") as daemon:
        daemon.wait_for(lambda: daemon.metric("pyroclast_leader") == 1)
        taken = json.dumps({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3600}})
        ground.kubectl("-n", NAMESPACE, "patch", "lease", "lost", "--type=merge", "-p", taken)

        assert daemon.exit_status() == 1


def test_signal_writes_the_cluster_as_seen(ground: Cluster, tmp_path: Path) -> None:
    """SIGUSR1 leaves a List of objects; /debug/snapshot gives the same kind of answer."""
    with running(ground, tmp_path, "--leader-elect=false") as daemon:
        daemon.signal(signal.SIGUSR1)
        daemon.wait_for(lambda: bool(list(tmp_path.glob("snapshot-*.json"))))
        time.sleep(0.2)  # the file is there before it is whole

        (file,) = tmp_path.glob("snapshot-*.json")
        written, served = json.loads(file.read_text()), json.loads(daemon.get("/debug/snapshot"))
        assert written["kind"] == served["kind"] == "List"
        assert "Node" in {each["kind"] for each in written["items"]}


def test_wrong_flags_end_the_start_with_every_fault(ground: Cluster, tmp_path: Path) -> None:
    """Status 2, and each fault on a line."""
    daemon = Daemon(ground, tmp_path, "--nonsense", "--leader-elect-renew-deadline=1h")

    assert daemon.exit_status() == 2
    assert len(daemon.process.last_words().splitlines()) == 2


def test_gate_of_the_queue_goes_when_the_gang_is_admitted(ground: Cluster, tmp_path: Path) -> None:
    """With its feature gate on, pods behind the queue's gate lose it and run."""
    gate = "scheduling.volcano.sh/queue-allocation-gate"
    manifests = [json.loads(document) for document in gang("gated", 2, "1").split("\n---\n")]
    for pod in manifests[1:]:
        pod["spec"]["schedulingGates"] = [{"name": gate}]
        pod["metadata"]["annotations"][gate] = "true"
    feature = "--feature-gates=SchedulingGatesQueueAdmission=true"
    with running(ground, tmp_path, "--leader-elect=false", feature) as daemon:
        ground.apply("\n---\n".join(json.dumps(each) for each in manifests))
        daemon.wait_for(lambda: all(nodes_of(ground, "gated")))
        remove(ground, "gated")


def test_unreachable_server_leaves_the_daemon_alive_but_not_ready(tmp_path: Path) -> None:
    """Nothing listens there: the process lives, says what it waits for, and ends with 0 when told to."""
    (closed,) = free_ports(1)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", url=f"http://127.0.0.1:{closed}")
    nowhere = Cluster(kind="none", url="", kubeconfig=kubeconfig, start_controllers=lambda: None)
    daemon = Daemon(nowhere, tmp_path, "--leader-elect=false")
    try:
        health = f"http://127.0.0.1:{daemon.health_port}"
        daemon.wait_for(lambda: answers_ok(f"{health}/healthz"))

        assert not answers_ok(f"{health}/readyz")
        daemon.signal(signal.SIGTERM)
        assert daemon.exit_status() == 0
    finally:
        daemon.process.stop()
