"""A namespace with hundreds of unlike jobs that fit nowhere does not delay the job of another one."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.framework.session.namespace_windows import MOST_TEMPLATES, SHARE_USED
from tests.e2e.cluster import Cluster
from tests.e2e.ground import GROUP_API, Ground, standing_on

OTHER = "unlike-other"
JOBS = 4 * MOST_TEMPLATES
SETTINGS = (
    "actions: enqueue, allocate, backfill, preempt, reclaim\n"
    "tiers:\n"
    "- plugins: [{name: priority}, {name: gang}, {name: conformance}]\n"
    "- plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]\n"
)


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """Four nodes with two CPUs free on each, and many jobs of another namespace."""
    with standing_on(cluster_with_crds, "unlike", folder=tmp_path) as ground:
        for number, node in enumerate(ground.nodes()):
            name = node["metadata"]["name"]
            ground.pod(f"fills-{number}", "6", schedulerName="default-scheduler", nodeName=name)
        ground.create("/api/v1/namespaces", {"metadata": {"name": OTHER}})
        for number in range(JOBS):
            unlike_job(ground, number)
        yield ground
        ground.cluster.kubectl("-n", OTHER, "delete", "pods,podgroups", "--all", "--wait=false")


def unlike_job(ground: Ground, number: int) -> None:
    """Create a job of one pod that asks for more than is free, and for an amount of its own."""
    metadata = {"name": f"unlike-{number}", "namespace": OTHER}
    ground.create(
        f"{GROUP_API}/namespaces/{OTHER}/podgroups",
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": metadata,
            "spec": {"minMember": 1, "queue": ground.name},
        },
    )
    container = {"name": "c", "image": "none", "resources": {"requests": {"cpu": f"{3000 + number}m"}}}
    ground.create(
        f"/api/v1/namespaces/{OTHER}/pods",
        {
            "metadata": {**metadata, "annotations": {"scheduling.k8s.io/group-name": metadata["name"]}},
            "spec": {
                "schedulerName": ground.name,
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
            },
        },
    )


def first_reason(cycle: dict[str, Any], job: str) -> str:
    """Return why a job waits, in one cycle of a record."""
    told = cycle["report"]["refusals"].get(job)
    return told[0]["reason"] if told else ""


def test_a_small_job_is_bound_in_the_first_cycle(ground: Ground, tmp_path: Path) -> None:
    """It is the youngest of its queue; of the others a share is looked at, and in the end each has its turn."""
    ground.gang("small", 1)
    settings, record = tmp_path / "scheduler.yaml", tmp_path / "record.jsonl"
    settings.write_text(SETTINGS)
    with ground.daemon(tmp_path, f"--scheduler-conf={settings}", f"--record={record}") as daemon:
        daemon.wait_for(lambda: ground.is_placed("small"))
        daemon.wait_for(lambda: all(map(is_told_why, waiting_pods(ground))))
        series = f'pyroclast_deferred_jobs_total{{action="allocate",namespace="{OTHER}"}}'
        daemon.wait_for(lambda: (daemon.metric(series) or 0) > 0)
        daemon.process.stop()

    cycles = [entry for line in record.read_bytes().splitlines() if (entry := json.loads(line))["do"] == "cycle"]
    first = next(each for each in cycles if each["report"]["refusals"])
    bound = [bind["name"] for plan in first["report"]["plans"] for bind in plan["binds"]]
    assert bound == ["small-worker-0"]
    names = [f"{OTHER}/unlike-{number}" for number in range(JOBS)]
    assert sum(first_reason(first, name) == SHARE_USED for name in names) == JOBS - MOST_TEMPLATES


def waiting_pods(ground: Ground) -> list[dict[str, Any]]:
    """Return the pods of the other namespace."""
    return ground.items(f"/api/v1/namespaces/{OTHER}/pods")


def is_told_why(pod: dict[str, Any]) -> bool:
    """Return whether a pod says what it lacks, not only that it waits for its turn."""
    conditions = pod["status"].get("conditions", ())
    return any("nodes are unavailable" in each.get("message", "") for each in conditions)
