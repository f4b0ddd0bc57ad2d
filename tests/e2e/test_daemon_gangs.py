"""Koordinator's gangs on a server: a group of two is bound together, and no PodGroup of Volcano is written for it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyroclast.model.gangs.names import BIND_ANNOTATIONS
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.ground import GROUP_API, Ground, standing_on
from tests.gangs import annotated, described_by, gang_pod_group

DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "podgroups.scheduling.sigs.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/scheduler-plugins/pull/50"},
    },
    "spec": {
        "group": "scheduling.sigs.k8s.io",
        "scope": "Namespaced",
        "names": {"plural": "podgroups", "singular": "podgroup", "kind": "PodGroup", "listKind": "PodGroupList"},
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}
"""What Koordinator brings along; away again after each test, and never seen by kubectl, which remembers kinds: its
plural is that of Volcano's PodGroups."""
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONTROLLERS = ("--controllers=pg-controller,gang-controller", "--leader-elect=false")
"""None that would take up jobs which others left on the server, whose pods the daemon would place, too."""
GANGS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/gangs/podgroups"


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """One node of eight CPUs, on a server that knows both kinds of PodGroups."""
    with standing_on(cluster_with_crds, "gangs", folder=tmp_path, nodes=1) as ground:
        ground.create(DEFINITIONS, DEFINITION)
        try:
            yield ground
        finally:
            ground.client.send("DELETE", f"{DEFINITIONS}/{DEFINITION['metadata']['name']}")


def configuration(folder: Path) -> str:
    """Write tiers with coscheduling; return the flag that names the file."""
    file = folder / "scheduler.yaml"
    plugins = [{"name": name} for name in ("coscheduling", "priority", "gang", "predicates", "nodeorder")]
    file.write_text(json.dumps({"actions": "enqueue, allocate, backfill", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def carried(ground: Ground, gang: str) -> set[tuple[str, ...]]:
    """What the pods of a gang carry of their binding."""
    keys = [key for keys in BIND_ANNOTATIONS for key in keys]
    return {tuple(pod["metadata"]["annotations"].get(key, "") for key in keys) for pod in ground.pods(gang)}


def test_two_gangs_of_one_group_are_bound_together(ground: Ground, tmp_path: Path) -> None:
    """The one waits until the other's PodGroup and pods are there; all four carry the group and their number."""
    groups = [f"{ground.name}/left", f"{ground.name}/right"]
    queue = {"scheduling.volcano.sh/queue-name": ground.name}
    with (
        ground.daemon(tmp_path, configuration(tmp_path)) as daemon,
        controllers(ground.cluster, tmp_path, *CONTROLLERS, f"--scheduler-name={ground.name}"),
    ):
        for number in range(2):
            said = {**annotated("left", 2, groups=groups), **queue}
            ground.pod(f"left-{number}", gang="left", annotations=said)
        lacking = f"the gang group is not complete: there is no gang {groups[1]}"
        daemon.wait_for(lambda: ground.condition_of("left-0").get("message") == lacking)

        for number in range(2):
            ground.pod(f"right-{number}", gang="right", labels=described_by("right"), annotations=queue)
        daemon.wait_for(lambda: "no PodGroup" in ground.condition_of("right-0").get("message", ""))
        assert ground.nodes_of("left") == ground.nodes_of("right") == ["", ""]

        group = gang_pod_group("right", 2, namespace=ground.name, groups=groups)
        daemon.wait_for(lambda: ground.client.send("GET", GANGS).code == 200)
        ground.create(GANGS, group)
        daemon.wait_for(lambda: ground.is_placed("left") and ground.is_placed("right"))
        assert carried(ground, "left") == carried(ground, "right") == {(",".join(groups), "4") * 2}
        assert ground.items(f"{GROUP_API}/namespaces/{ground.name}/podgroups") == []

        told = {"phase": "Running", "scheduled": 2, "running": 2}
        daemon.wait_for(lambda: told.items() <= ground.items(GANGS)[0].get("status", {}).items())

        later = {**annotated("left", 2, groups=groups), **queue}
        ground.pod("later", annotations=later)
        daemon.wait_for(lambda: ground.is_placed("later"))
        assert carried(ground, "later") == {("",) * 4}
        daemon.wait_metric('pyroclast_plans_total{result="assumed"}', 2)
