"""Native groups on a server: all or nothing, the condition of the group, one label value, eviction of a whole group."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.cluster import Cluster
from tests.e2e.conftest import emulated, real
from tests.e2e.ground import GROUP_API, Ground, standing_on
from tests.native import native_group, of_native

API = "/apis/scheduling.k8s.io/v1alpha2"
CLASS = "natives-high"


GATES = "GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"
"""Feature gates with which Kubernetes 1.36 serves PodGroups, with topology, disruption mode and priority."""


@pytest.fixture(scope="module", params=["emulator", pytest.param("realserver", marks=pytest.mark.realserver)])
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster that serves native groups. In other clusters `kubectl get podgroups` means those of Volcano."""
    folder = tmp_path_factory.mktemp("natives")
    gates = f"--feature-gates={','.join(f'{gate}=true' for gate in GATES)}"
    served = "--runtime-config=scheduling.k8s.io/v1alpha2=true"
    with (
        emulated(folder, "--native-groups=v1alpha2")
        if request.param == "emulator"
        else real(folder, request.getfixturevalue("assets"), served, gates)
    ) as running:
        running.serve_custom_resources()
        yield running


@pytest.fixture
def ground(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path) -> Iterator[Ground]:
    """Two nodes of eight CPUs, each with a value of the label `rack`."""
    name = f"natives-{request.node.originalname.rpartition('_')[2]}"
    with standing_on(cluster, name, folder=tmp_path, nodes=2) as ground:
        for number, node in enumerate(ground.nodes()):
            ground.kubectl("label", "--overwrite", "node", node["metadata"]["name"], f"rack=r{number}")
        yield ground
        for path in (path_of(ground, "podgroups"), path_of(ground, "workloads")):
            for each in ground.items(path):
                ground.client.send("DELETE", f"{path}/{each['metadata']['name']}")
        ground.client.send("DELETE", f"/apis/scheduling.k8s.io/v1/priorityclasses/{CLASS}")


def path_of(ground: Ground, plural: str) -> str:
    """Return the path of a kind in the namespace."""
    return f"{API}/namespaces/{ground.name}/{plural}"


def configuration(folder: Path) -> str:
    """Write tiers with preemption; return the flag that names the file."""
    file = folder / "scheduler.yaml"
    plugins = [{"name": name} for name in ("priority", "gang", "predicates", "nodeorder")]
    file.write_text(json.dumps({"actions": "enqueue, allocate, preempt, backfill", "tiers": [{"plugins": plugins}]}))
    return f"--scheduler-conf={file}"


def create(ground: Ground, name: str, minimum: int, **spec: Any) -> None:
    """Create a group."""
    ground.create(
        path_of(ground, "podgroups"), native_group(name, minimum, version="v1alpha2", namespace=ground.name, **spec)
    )


def member(ground: Ground, group: str, number: int, cpu: str = "1", **spec: Any) -> None:
    """Create a pod of a group."""
    queue = {"scheduling.volcano.sh/queue-name": ground.name}
    ground.pod(f"{group}-{number}", gang=group, cpu=cpu, annotations=queue, **of_native(group), **spec)


def condition(ground: Ground, name: str) -> dict[str, Any]:
    """Return the condition of a group; empty if it has none."""
    found = (
        ground.client.send("GET", f"{path_of(ground, 'podgroups')}/{name}").body.get("status", {}).get("conditions", [])
    )
    return next((each for each in found if each["type"] == "PodGroupScheduled"), {})


def test_a_native_group_is_bound_whole_and_has_its_condition(ground: Ground, tmp_path: Path) -> None:
    """It waits for its last pod, and no PodGroup of Volcano is written for it."""
    template = {"name": "workers", "schedulingPolicy": {"gang": {"minCount": 3}}}
    ground.create(
        path_of(ground, "workloads"),
        {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "Workload",
            "metadata": {"name": "train"},
            "spec": {"podGroupTemplates": [template]},
        },
    )
    reference = {"workload": {"workloadName": "train", "podGroupTemplateName": "workers"}}
    with ground.daemon(tmp_path, configuration(tmp_path)) as daemon:
        member(ground, "whole", 0)
        member(ground, "whole", 1)
        daemon.wait_for(
            lambda: "of scheduling.k8s.io does not exist" in ground.condition_of("whole-0").get("message", "")
        )

        create(ground, "whole", 3, podGroupTemplateRef=reference)
        lacking = "Not enough valid tasks for gang-scheduling, valid: 2, min: 3"
        daemon.wait_for(lambda: lacking in ground.condition_of("whole-0").get("message", ""))
        assert ground.nodes_of("whole") == ["", ""]
        assert condition(ground, "whole") == {}

        member(ground, "whole", 2)
        daemon.wait_for(lambda: ground.is_placed("whole"))
        daemon.wait_for(lambda: condition(ground, "whole").get("status") == "True")
        assert condition(ground, "whole")["reason"] == "Scheduled"
        assert ground.items(f"{GROUP_API}/namespaces/{ground.name}/podgroups") == []


def test_a_group_lies_on_one_value_of_its_label(ground: Ground, tmp_path: Path) -> None:
    """Nine CPUs are free on both nodes together, and eight on each."""
    constraints = {"topology": [{"key": "rack"}]}
    with ground.daemon(tmp_path, configuration(tmp_path)) as daemon:
        create(ground, "large", 3, schedulingConstraints=constraints)
        create(ground, "small", 2, schedulingConstraints=constraints)
        for number in range(3):
            member(ground, "large", number, cpu="3")
        daemon.wait_for(lambda: "label rack" in condition(ground, "large").get("message", ""))
        assert condition(ground, "large")["reason"] == "Unschedulable"
        for number in range(2):
            member(ground, "small", number, cpu="3")
        daemon.wait_for(lambda: ground.is_placed("small"))

        assert len(set(ground.nodes_of("small"))) == 1
        assert set(ground.nodes_of("large")) == {""}


def test_a_group_with_the_mode_pod_group_is_evicted_whole(ground: Ground, tmp_path: Path) -> None:
    """A pod of a higher priority needs one node; the group has pods on both."""
    ground.create(
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": CLASS}, "value": 1000},
    )
    with ground.daemon(tmp_path, configuration(tmp_path)) as daemon:
        create(ground, "low", 1, disruptionMode="PodGroup")
        for number in range(2):
            member(ground, "low", number, cpu="5")
        daemon.wait_for(lambda: ground.is_placed("low"))

        create(ground, "high", 1, priorityClassName=CLASS)
        member(ground, "high", 0, cpu="5", priorityClassName=CLASS)
        daemon.wait_for(lambda: ground.is_placed("high") and ground.pods("low") == [])
