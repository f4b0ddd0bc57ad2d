"""The daemon as a process: probes, metrics, dumps, signals, exit statuses."""

import json
import signal
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from pyroclast.emulator.run import write_kubeconfig
from pyroclast.scheduler.monitoring.catalogue import OURS, VOLCANO
from tests.e2e.cluster import Cluster
from tests.e2e.daemon import Daemon
from tests.e2e.emulatorprocess import running_emulator
from tests.e2e.ground import Ground, standing_on
from tests.e2e.ports import free_ports
from tests.e2e.probes import answers_ok

LEASE = (
    "--leader-elect-lease-duration=60s",
    "--leader-elect-renew-deadline=40s",
    "--leader-elect-retry-period=100ms",
    "--leader-elect-resource-namespace=process",
)
"""No test waits for it to run out, so that no stop of the machine makes a leader lose it."""
COUNTED = (
    "e2e_scheduling_latency_milliseconds_count",
    "action_scheduling_latency_milliseconds_count",
    "plugin_scheduling_latency_milliseconds_count",
    "task_scheduling_latency_milliseconds_count",
    "schedule_attempts_total",
    "queue_allocated_milli_cpu",
    "queue_weight",
    "unschedule_job_count",
)
"""Metrics of Volcano's that its dashboards draw, and that a cluster as simple as this one has values of."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "process", folder=tmp_path_factory.mktemp("process"), nodes=2) as ground:
        yield ground


def test_a_scrape_has_the_names(ground: Ground, tmp_path: Path) -> None:
    """Every metric is served with help and type, and what happened is counted."""
    with ground.daemon(tmp_path) as daemon:
        ground.gang("counted", 2)
        ground.gang("waiting", 1, "12")
        daemon.wait_for(
            lambda: ground.phase_of("counted") == "Running" and bool(ground.condition_of("waiting-worker-0"))
        )
        daemon.wait_metric('pyroclast_binds_total{result="succeeded"}', 2)
        refused = 'pyroclast_refused_jobs{plugin="gang",reason="NotEnoughResources"}'
        daemon.wait_metric(refused, 1)
        text = daemon.get("/metrics")

        for name in [*(f"volcano_{name}" for name in VOLCANO), *OURS]:
            assert f"# TYPE {name.removesuffix('_total')}" in text or f"# TYPE {name}" in text
        for name in COUNTED:
            assert any(line.startswith(f"volcano_{name}") for line in text.splitlines()), name
        daemon.wait_metric('volcano_queue_allocated_milli_cpu{queue_name="process"}', 2000)
        daemon.wait_metric('pyroclast_backlog_tasks{queue_name="process"}', 1)


def test_stop_releases_the_lease(ground: Ground, tmp_path: Path) -> None:
    """SIGTERM ends the process with status 0, and the lease is free for the next at once."""
    with ground.daemon(tmp_path, *LEASE, "--leader-elect-resource-name=stop", is_alone=False) as daemon:
        daemon.wait_metric("pyroclast_leader", 1)
        daemon.signal(signal.SIGTERM)

        assert daemon.process.exit_status() == 0
        assert ground.kubectl("get", "lease", "stop", "-o", "jsonpath={.spec.holderIdentity}") == ""


def test_stop_in_the_middle_of_a_gang_finishes_it(ground: Ground, tmp_path: Path) -> None:
    """Plans in flight are carried out before the end: the gang is bound whole."""
    with ground.daemon(tmp_path) as daemon:
        ground.gang("whole", 16)
        daemon.wait_for(lambda: any(ground.nodes_of("whole")))
        daemon.signal(signal.SIGTERM)

        assert daemon.process.exit_status() == 0
        assert ground.is_placed("whole")


def test_lost_lease_ends_the_process(ground: Ground, tmp_path: Path) -> None:
    """If another process has taken the lease, this one ends with status 1."""
    with ground.daemon(tmp_path, *LEASE, "--leader-elect-resource-name=lost", is_alone=False) as daemon:
        daemon.wait_metric("pyroclast_leader", 1)
        taken = json.dumps({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3600}})
        ground.kubectl("patch", "lease", "lost", "--type=merge", "-p", taken)

        assert daemon.process.exit_status() == 1


def test_signal_writes_the_cluster_as_seen(ground: Ground, tmp_path: Path) -> None:
    """SIGUSR1 leaves a List of objects; /debug/snapshot gives the same kind of answer."""
    with ground.daemon(tmp_path) as daemon:
        daemon.signal(signal.SIGUSR1)
        daemon.wait_logged("snapshot_written")

        (file,) = tmp_path.glob("snapshot-*.json")
        written, served = json.loads(file.read_text()), daemon.get_json("/debug/snapshot")
        assert written["kind"] == served["kind"] == "List"
        assert {"process-0", "process-1"} <= {each["metadata"]["name"] for each in written["items"]}


@pytest.mark.parametrize(
    ("fault", "event"),
    [({"server": "http://127.0.0.1:1"}, "server_unreachable"), ({"token": "wrong"}, "credentials_refused")],
    ids=["away", "wrong token"],
)
def test_a_server_that_cannot_be_used_is_waited_for(tmp_path: Path, fault: dict[str, str], event: str) -> None:
    """The log names address, file, context and remedy; signals do their work meanwhile."""
    kubeconfig = tmp_path / "faulty"
    with running_emulator(tmp_path, "--token=right") as (url, _):
        address = fault.get("server", url)
        write_kubeconfig(kubeconfig, url=address, token=fault.get("token", "right"))
        daemon = Daemon(cast("Cluster", SimpleNamespace(kubeconfig=kubeconfig)), tmp_path)
        daemon.wait_logged(event)
        daemon.signal(signal.SIGUSR1)
        daemon.wait_logged("snapshot_written")
        daemon.signal(signal.SIGTERM)

        assert daemon.process.exit_status() == 0
        (told, *_) = (line for line in daemon.process.log.read_text().splitlines() if event in line)
        assert f"{address} (kubeconfig {kubeconfig}, context emulator)" in told
        assert "remedy" in told


def test_wrong_flags_end_the_start_with_every_fault(ground: Ground, tmp_path: Path) -> None:
    """Status 2, and each fault on a line."""
    daemon = Daemon(ground.cluster, tmp_path, "--nonsense", "--leader-elect-renew-deadline=1h")

    assert daemon.process.exit_status() == 2
    assert len(daemon.process.last_words().splitlines()) == 2


def test_a_broken_configuration_ends_the_start_with_every_fault(ground: Ground, tmp_path: Path) -> None:
    """Status 2, and each fault with its path."""
    file = tmp_path / "scheduler.yaml"
    file.write_text("actions: enqueue, alocate\ntiers:\n- plugins: [{name: gang, enableJobOrder: perhaps}]\n")
    daemon = Daemon(ground.cluster, tmp_path, f"--scheduler-conf={file}")

    assert daemon.process.exit_status() == 2
    assert "alocate" in daemon.process.last_words()
    assert "tiers[0].plugins[0]" in daemon.process.last_words()


def test_unreachable_server_leaves_the_daemon_alive_but_not_ready(tmp_path: Path) -> None:
    """The server is away: the process lives, reports what it waits for, and ends with 0 on SIGTERM."""
    (closed,) = free_ports(1)
    kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", url=f"http://127.0.0.1:{closed}")
    nowhere = Cluster(
        kind="none", url="", kubeconfig=kubeconfig, start_controllers=lambda: None, away=nullcontext, gone=nullcontext
    )
    daemon = Daemon(nowhere, tmp_path, "--leader-elect=false")
    try:
        daemon.wait_for(lambda: answers_ok(f"http://127.0.0.1:{daemon.health_port}/healthz"))

        assert not daemon.is_ready
        daemon.signal(signal.SIGTERM)
        assert daemon.process.exit_status() == 0
    finally:
        daemon.process.stop()
