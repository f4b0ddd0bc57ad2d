"""Jobs from creation to their end, on the emulator and a real server; all that takes part is a process of its own."""

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import AT_ONCE, Ground, standing_on

JOB_API = "/apis/batch.volcano.sh/v1alpha1"
SEED = 20_261
DEATHS = 4


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "jobs", folder=tmp_path_factory.mktemp("jobs")) as ground:
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground) -> Iterator[Daemon]:
    """One daemon for all tests of this file."""
    with ground.daemon(ground.folder) as daemon:
        yield daemon


def flags(ground: Ground) -> tuple[str, ...]:
    """The flags that make a process of controllers ours."""
    return f"--scheduler-name={ground.name}", "--controllers=job-controller"


def make_job(ground: Ground, name: str, *, life: dict[str, str], **spec: Any) -> str:
    """Create a Job of three pods; return its UID."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    annotations = {f"emulator.pyroclast.io/{key}": value for key, value in life.items()}
    template = {"metadata": {"annotations": annotations, "labels": {"gang": name}}, "spec": pod}
    made = ground.create(
        f"{JOB_API}/namespaces/{ground.name}/jobs",
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {
                "schedulerName": ground.name,
                "queue": ground.name,
                "tasks": [{"name": "worker", "replicas": 3, "template": template}],
                **spec,
            },
        },
    )
    uid: str = made["metadata"]["uid"]
    return uid


def status(ground: Ground, name: str) -> Any:
    """Read the status of a Job."""
    return ground.client.send("GET", f"{JOB_API}/namespaces/{ground.name}/jobs/{name}").body.get("status", {})


def phase(ground: Ground, name: str) -> str:
    """Read the phase of a Job."""
    found: str = status(ground, name).get("state", {}).get("phase", "")
    return found


def test_a_job_runs_to_completion(ground: Ground, daemon: Daemon, tmp_path: Path) -> None:
    """With plugins; users see what they know from Volcano."""
    with controllers(ground.cluster, tmp_path, *flags(ground)) as process:
        make_job(ground, "train", life={}, plugins={"svc": [], "ssh": [], "env": []})
        process.wait_for(lambda: phase(ground, "train") == "Running")
        columns = ground.kubectl("get", "vcjob", "train", "--no-headers").split()
        assert columns[:4] == ["train", "Running", "3", "3"]
        assert "VC_WORKER_HOSTS" in ground.kubectl("get", "configmap", "train-svc", "-o", "yaml")
        ground.succeed("train")
        process.wait_for(lambda: phase(ground, "train") == "Completed")
        assert status(ground, "train")["succeeded"] == 3
        process.wait_for(lambda: not ground.items(f"/api/v1/namespaces/{ground.name}/secrets"))
        assert "volcano_job_completed_phase_count" in process.metrics()


def test_killed_at_random_moments_each_retry_counts_once(ground: Ground, daemon: Daemon, tmp_path: Path) -> None:
    """Pods that always fail are tried three times, however often the controller dies meanwhile."""
    chance = random.Random(SEED)
    make_job(
        ground,
        "unlucky",
        life={"duration": "0.5", "result": "Failed"},
        maxRetry=3,
        policies=[{"event": "PodFailed", "action": "RestartJob"}],
    )
    for _ in range(DEATHS):
        process = Controllers(ground.cluster, tmp_path, "--leader-elect=false", *flags(ground))
        process.wait_for(process.is_ready)
        time.sleep(chance.random() * 1.5)
        process.signal(signal.SIGKILL)
        process.process.stop()
    with controllers(ground.cluster, tmp_path, *flags(ground)) as last:
        last.wait_for(lambda: phase(ground, "unlucky") == "Failed")
    end = status(ground, "unlucky")
    assert (end["retryCount"], end["version"]) == (3, 3)


def test_an_eviction_between_two_decisions_gets_a_response(ground: Ground, daemon: Daemon, tmp_path: Path) -> None:
    """A pod is deleted between two processes: the second restarts the Job, once."""
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    with controllers(ground.cluster, tmp_path, *flags(ground)) as first:
        make_job(ground, "evicted", life={}, policies=policies)
        first.wait_for(lambda: phase(ground, "evicted") == "Running")
        first.signal(signal.SIGKILL)
    ground.client.send("DELETE", f"/api/v1/namespaces/{ground.name}/pods/evicted-worker-1", AT_ONCE)
    with controllers(ground.cluster, tmp_path, *flags(ground)) as second:
        second.wait_for(lambda: status(ground, "evicted").get("retryCount") == 1)
        second.wait_for(lambda: phase(ground, "evicted") == "Running")
    assert status(ground, "evicted")["version"] == 1
