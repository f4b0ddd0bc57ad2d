"""The controllers as a process, beside the daemon: pods get groups and nodes, queues obey, a successor takes over."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import Controllers, controllers
from tests.e2e.ground import GROUP_API, Ground, standing_on

LEASE = (
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=300ms",
    "--leader-elect-resource-namespace=controlled",
)
"""Tests wait for it to run out; else it outlasts a machine that stands still for a second or two."""
LONG_LEASE = (
    "--leader-elect-lease-duration=60s",
    "--leader-elect-renew-deadline=40s",
    "--leader-elect-retry-period=100ms",
    "--leader-elect-resource-namespace=controlled",
)
"""For tests that do not."""
MANAGED_BY_NOBODY = {"managedBy": "pyroclast.test/nobody"}
"""Keeps the cluster's own Job controller, where it runs, from what the test made."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes of eight CPUs."""
    with standing_on(cluster_with_crds, "controlled", folder=tmp_path_factory.mktemp("controlled"), nodes=2) as ground:
        yield ground


def ours(ground: Ground) -> str:
    """The flag that makes pods of this ground ours."""
    return f"--scheduler-name={ground.name}"


def make_owner(ground: Ground, version: str, plural: str, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Create a workload that asks for gangs of three; return the reference to it."""
    labels = {"gang": plural}
    made = ground.create(
        f"/apis/{version}/namespaces/{ground.name}/{plural}",
        {
            "apiVersion": version,
            "kind": kind,
            "metadata": {"name": plural, "annotations": {"scheduling.volcano.sh/group-min-member": "3"}},
            "spec": {
                **spec,
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "schedulerName": ground.name,
                        "restartPolicy": "Never" if kind == "Job" else "Always",
                        "containers": [{"name": "c", "image": "none"}],
                    },
                },
            },
        },
    )
    return {
        "apiVersion": version,
        "kind": kind,
        "name": plural,
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def make_pod(ground: Ground, name: str, gang: str, owner: dict[str, Any] | None = None) -> None:
    """Create a pod without a group, as a workload's controller does."""
    ground.create(
        f"/api/v1/namespaces/{ground.name}/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {"gang": gang},
                "annotations": {"scheduling.volcano.sh/queue-name": ground.name},
                "ownerReferences": [owner] if owner else [],
            },
            "spec": {
                "schedulerName": ground.name,
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "c", "image": "none", "resources": {"requests": {"cpu": "1"}}}],
            },
        },
    )


def groups(ground: Ground) -> list[dict[str, Any]]:
    """Groups of the ground."""
    return ground.items(f"{GROUP_API}/namespaces/{ground.name}/podgroups")


def test_pods_without_groups_are_grouped_and_placed(ground: Ground, tmp_path: Path) -> None:
    """Bare pods each for themselves, those of a ReplicaSet and of a Job as gangs of three."""
    selector = {"replicas": 3, "selector": {"matchLabels": {"gang": "replicasets"}}}
    replica_set = make_owner(ground, "apps/v1", "replicasets", "ReplicaSet", selector)
    job = make_owner(ground, "batch/v1", "jobs", "Job", {"parallelism": 3, "completions": 3, **MANAGED_BY_NOBODY})
    with controllers(ground.cluster, tmp_path, ours(ground)) as process, ground.daemon(tmp_path):
        for number in range(3):
            make_pod(ground, f"bare-{number}", "bare")
            make_pod(ground, f"of-set-{number}", "replicasets", replica_set)
            make_pod(ground, f"of-job-{number}", "jobs", job)
        process.wait_for(lambda: all(ground.is_placed(gang) for gang in ("bare", "replicasets", "jobs")))

        sizes = {group["metadata"]["name"]: group["spec"]["minMember"] for group in groups(ground)}
        bare = {f"podgroup-{pod['metadata']['uid']}": 1 for pod in ground.pods("bare")}
        assert sizes == {**bare, f"podgroup-{replica_set['uid']}": 3, f"podgroup-{job['uid']}": 3}
        process.wait_for(lambda: {group["status"]["phase"] for group in groups(ground)} == {"Running"})
        assert 'workqueue_work_duration_seconds_count{name="podgroup"}' in process.metrics()
    for plural, version in (("replicasets", "apps/v1"), ("jobs", "batch/v1")):
        ground.client.send("DELETE", f"/apis/{version}/namespaces/{ground.name}/{plural}/{plural}")


def test_a_queue_is_closed_and_opened_by_commands(ground: Ground, tmp_path: Path) -> None:
    """Closing while it holds a gang, closed when it is gone, open again; nothing of it is left to do."""

    def state() -> str:
        found: str = (
            ground.client.send("GET", f"{GROUP_API}/queues/{ground.name}").body.get("status", {}).get("state", "")
        )
        return found

    def issue(action: str) -> None:
        uid = ground.client.send("GET", f"{GROUP_API}/queues/{ground.name}").body["metadata"]["uid"]
        ground.cluster.kubectl(
            "-n",
            ground.name,
            "create",
            "-f",
            "-",
            input=json.dumps(
                {
                    "apiVersion": "bus.volcano.sh/v1alpha1",
                    "kind": "Command",
                    "metadata": {"generateName": f"{ground.name}-{action.lower()}-"},
                    "action": action,
                    "target": {
                        "apiVersion": "scheduling.volcano.sh/v1beta1",
                        "kind": "Queue",
                        "name": ground.name,
                        "uid": uid,
                    },
                }
            ),
        )

    with controllers(ground.cluster, tmp_path, ours(ground)) as process:
        process.wait_for(lambda: state() == "Open")
        ground.group("holding", 1)
        counted = f'volcano_queue_pod_group_pending_count{{queue_name="{ground.name}"}} 1.0'
        process.wait_for(lambda: counted in process.metrics())
        issue("CloseQueue")
        process.wait_for(lambda: state() == "Closing")
        ground.remove("holding")
        process.wait_for(lambda: state() == "Closed")
        issue("OpenQueue")
        process.wait_for(lambda: state() == "Open")
        commands = f"/apis/bus.volcano.sh/v1alpha1/namespaces/{ground.name}/commands"
        process.wait_for(lambda: ground.items(commands) == [])


def test_a_standby_takes_over_when_the_leader_is_killed(ground: Ground, tmp_path: Path) -> None:
    """It is ready before, works after, and what the leader left undone is done."""
    name = "--leader-elect-resource-name=taken-over"
    first = Controllers(ground.cluster, tmp_path, *LEASE, name, ours(ground))
    try:
        first.wait_for(lambda: first.said("reconciling"))
        with controllers(ground.cluster, tmp_path, *LEASE, name, ours(ground)) as second:
            make_pod(ground, "before", "before")
            first.wait_for(lambda: len(groups(ground)) == 1)
            assert not second.said("reconciling")
            assert "pyroclast_controllers_leader 1.0" in first.metrics()
            assert "pyroclast_controllers_leader 0.0" in second.metrics()
            first.process.kill()
            make_pod(ground, "after", "after")
            second.wait_for(lambda: len(groups(ground)) == 2)
            second.wait_for(lambda: second.said("reconciling"))
    finally:
        first.process.stop()


def test_a_leader_that_slept_ends_when_it_wakes(ground: Ground, tmp_path: Path) -> None:
    """Another leads by then: the first writes nothing more, and ends with status 1."""
    name = "--leader-elect-resource-name=slept"
    first = Controllers(ground.cluster, tmp_path, *LEASE, name, ours(ground))
    try:
        first.wait_for(lambda: first.said("reconciling"))
        with controllers(ground.cluster, tmp_path, *LEASE, name, ours(ground)) as second:
            with first.process.stopped():
                make_pod(ground, "meanwhile", "meanwhile")
                second.wait_for(lambda: len(groups(ground)) == 1)
            assert first.process.exit_status() == 1
            make_pod(ground, "later", "later")
            second.wait_for(lambda: len(groups(ground)) == 2)
    finally:
        first.process.stop()


def test_it_stops_and_releases_the_lease_on_request(ground: Ground, tmp_path: Path) -> None:
    """SIGTERM: status 0, and the next leads at once."""
    name = "--leader-elect-resource-name=released"
    with controllers(ground.cluster, tmp_path, *LONG_LEASE, name, ours(ground)) as process:
        process.wait_for(lambda: process.said("reconciling"))
        process.signal(signal.SIGTERM)

        assert process.process.exit_status() == 0
        assert ground.kubectl("get", "lease", "released", "-o", "jsonpath={.spec.holderIdentity}") == ""


def test_a_lost_lease_ends_the_process(ground: Ground, tmp_path: Path) -> None:
    """The lease has another holder: status 1, and nothing more is written."""
    name = "--leader-elect-resource-name=stolen"
    with controllers(ground.cluster, tmp_path, *LONG_LEASE, name, ours(ground)) as process:
        process.wait_for(lambda: process.said("reconciling"))
        taken = json.dumps({"spec": {"holderIdentity": "somebody-else", "leaseDurationSeconds": 3600}})
        ground.kubectl("patch", "lease", "stolen", "--type=merge", "-p", taken)

        assert process.process.exit_status() == 1
