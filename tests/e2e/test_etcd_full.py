"""etcd without room: every write is refused with 500, reads go on; once there is room again nothing was lost."""

from pathlib import Path

import pytest

from tests.e2e.controllersprocess import controllers
from tests.e2e.controlplane import ControlPlane
from tests.e2e.ground import GROUP_API, Ground, standing_on
from tests.e2e.probes import answers_ok

JOB_API = "/apis/batch.volcano.sh/v1alpha1"
QUOTA_BYTES = 24 * 2**20
PODS = 4
FULL = "database space exceeded"


def fill(ground: Ground) -> list[str]:
    """Write until etcd refuses; return what was written."""
    written: list[str] = []
    while True:
        name = f"filling-{len(written)}"
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "a" * 1_000_000}}
        answer = ground.client.send("POST", f"/api/v1/namespaces/{ground.name}/configmaps", body)
        if answer.code != 201:
            assert FULL in answer.body["message"], answer.body
            return written
        written.append(name)


def bound(ground: Ground) -> int:
    """Return how many pods have a node."""
    pods = ground.items(f"/api/v1/namespaces/{ground.name}/pods")
    return sum(bool(pod["spec"].get("nodeName")) for pod in pods)


@pytest.mark.realserver
def test_pods_are_bound_once_there_is_room_again(tmp_path: Path, assets: Path) -> None:
    """Meanwhile the scheduler lives, says that binds fail, and binds nothing twice; the gang is bound whole."""
    with ControlPlane(tmp_path, assets=assets, etcd_flags=(f"--quota-backend-bytes={QUOTA_BYTES}",)) as plane:
        cluster = plane.cluster()
        cluster.serve_custom_resources()
        with standing_on(cluster, "fullness", folder=tmp_path, nodes=1) as ground:
            ground.group("gang", PODS)
            for number in range(PODS):
                ground.pod(f"gang-{number}", group="gang")
            written = fill(ground)
            with ground.daemon(tmp_path) as daemon:
                daemon.wait_for(lambda: FULL in (tmp_path / f"scheduler-{daemon.health_port}.log").read_text())
                assert answers_ok(f"http://127.0.0.1:{daemon.health_port}/livez")
                assert bound(ground) == 0

                for name in written:
                    ground.client.send("DELETE", f"/api/v1/namespaces/{ground.name}/configmaps/{name}")
                plane.make_room()

                daemon.wait_for(lambda: bound(ground) == PODS)
                assert daemon.is_ready


def make_job(ground: Ground) -> None:
    """Create a Job of as many pods."""
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}}
    pod = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "containers": [container]}
    spec = {
        "schedulerName": ground.name,
        "queue": ground.name,
        "tasks": [{"name": "worker", "replicas": PODS, "template": {"spec": pod}}],
    }
    body = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "gang"}, "spec": spec}
    ground.create(f"{JOB_API}/namespaces/{ground.name}/jobs", body)


@pytest.mark.realserver
def test_a_job_gets_its_pods_once_there_is_room_again(tmp_path: Path, assets: Path) -> None:
    """Meanwhile the controllers live, report the refused writes, and create nothing; each pod is created once."""
    with ControlPlane(tmp_path, assets=assets, etcd_flags=(f"--quota-backend-bytes={QUOTA_BYTES}",)) as plane:
        cluster = plane.cluster()
        cluster.serve_custom_resources()
        with standing_on(cluster, "fullness", folder=tmp_path, nodes=1) as ground:
            make_job(ground)
            written = fill(ground)
            flags = f"--scheduler-name={ground.name}", "--controllers=job-controller"
            with controllers(cluster, tmp_path, *flags) as running:
                running.wait_for(lambda: running.process.has_logged(FULL))
                assert answers_ok(f"http://127.0.0.1:{running.health_port}/livez")
                assert not ground.items(f"/api/v1/namespaces/{ground.name}/pods")

                for name in written:
                    ground.client.send("DELETE", f"/api/v1/namespaces/{ground.name}/configmaps/{name}")
                plane.make_room()

                with ground.daemon(tmp_path):  # which admits the Job's group
                    running.wait_for(lambda: bound(ground) == PODS)
                assert len(ground.items(f"/api/v1/namespaces/{ground.name}/pods")) == PODS
                assert len(ground.items(f"{GROUP_API}/namespaces/{ground.name}/podgroups")) == 1
