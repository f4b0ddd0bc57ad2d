"""What processes log at their most talkative, on the emulator and a real server: nothing that opens a door."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import Ground, standing_on

JOB_API = "/apis/batch.volcano.sh/v1alpha1"
PASSWORD = "correct-horse-battery-staple"


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """Four nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "secretive", folder=tmp_path) as ground:
        yield ground


def job(ground: Ground) -> dict[str, Any]:
    """Describe a Job with a key of its own, and a password in its template."""
    container = {
        "name": "main",
        "image": "none",
        "env": [{"name": "PASSWORD", "value": PASSWORD}],
        "resources": {"requests": {"cpu": "1"}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {
            "schedulerName": ground.name,
            "queue": ground.name,
            "plugins": {"svc": [], "ssh": []},
            "tasks": [{"name": "worker", "replicas": 2, "template": template}],
        },
    }


def secrets_of(ground: Ground) -> set[str]:
    """Gather the lines of keys and tokens that the processes have in hand, as they are and as they are sent."""
    (user,) = (each["user"] for each in yaml.safe_load(Path(ground.cluster.kubeconfig).read_text())["users"])
    found = {str(value) for key, value in user.items() if key in {"token", "password", "client-key-data"}}
    for secret in ground.items(f"/api/v1/namespaces/{ground.name}/secrets"):
        for name, value in secret["data"].items():
            if name == "id_rsa":
                found |= {value, *base64.b64decode(value).decode().splitlines()[1:-1]}
    return found - {""}


def test_secrets_stay_out_of_the_logs(ground: Ground, tmp_path: Path) -> None:
    """Neither keys of Jobs, nor passwords in templates, nor what opens the API server."""
    flags = f"--scheduler-name={ground.name}", "--controllers=job-controller", "--v=9"
    with ground.daemon(tmp_path, "--v=9") as daemon, controllers(ground.cluster, tmp_path, *flags) as process:
        ground.create(f"{JOB_API}/namespaces/{ground.name}/jobs", job(ground))
        path = f"{JOB_API}/namespaces/{ground.name}/jobs/train"
        process.wait_for(
            lambda: ground.client.send("GET", path).body.get("status", {}).get("state", {}).get("phase") == "Running"
        )
        secrets = {PASSWORD, *secrets_of(ground)}
        logs = daemon.process.log.read_text() + process.process.log.read_text()

    assert len(secrets) > 10  # the lines of a key are among them
    assert '"level": "debug"' in logs
    assert {each for each in secrets if each in logs} == set()
