"""A hollow node refuses what a kubelet would, in its words."""

from fractions import Fraction
from typing import Any

import pytest

from pyroclast.emulator.hollow.admission import Room, pod_requests
from pyroclast.kube.api.resources import NODES, PODS


def pod(uid: str = "u", *, requests: dict[str, Any] | None = None, **spec: Any) -> Any:
    """A pod with one container."""
    containers = [{"name": "c", "image": "i", "resources": {"requests": requests or {}}}]
    return PODS.decoder.convert(
        {"metadata": {"name": uid, "namespace": "d", "uid": uid}, "spec": {"containers": containers, **spec}}
    )


def room(taints: list[dict[str, str]] | None = None, *, resources: dict[str, str] | None = None, **labels: str) -> Room:
    """A node of 2 CPUs and 2 pods."""
    return Room(
        node=NODES.decoder.convert(
            {
                "metadata": {"name": "n1", "labels": labels},
                "spec": {"taints": taints or []},
                "status": {"allocatable": {"cpu": "2", "memory": "1Gi", "pods": "2", **(resources or {})}},
            }
        )
    )


def reason(where: Room, what: Any) -> str:
    """Why a pod is refused, empty when it is not."""
    refusal = where.refuse(what)
    return refusal.reason if refusal else ""


def test_the_sum_of_requests_may_fill_a_node_but_no_more() -> None:
    """Exactly full is allowed; a millicore more is `OutOfcpu`."""
    node = room()
    node.take(pod("a", requests={"cpu": "1500m"}))

    assert reason(node, pod("b", requests={"cpu": "500m"})) == ""
    assert reason(node, pod("b", requests={"cpu": "501m"})) == "OutOfcpu"
    assert reason(node, pod("b", requests={"memory": "2Gi"})) == "OutOfmemory"
    assert reason(node, pod("b", requests={"ephemeral-storage": 1})) == "OutOfephemeral-storage"


def test_extended_resources_that_a_node_publishes_are_counted() -> None:
    """Also where it publishes none of one."""
    node = room(resources={"nvidia.com/gpu": "1", "koordinator.sh/gpu-core": "0"})
    node.take(pod("a", requests={"nvidia.com/gpu": 1}))

    assert reason(node, pod("b", requests={"nvidia.com/gpu": 1})) == "OutOfnvidia.com/gpu"
    assert reason(node, pod("b", requests={"koordinator.sh/gpu-core": 50})) == "OutOfkoordinator.sh/gpu-core"


@pytest.mark.parametrize(
    "resource",
    ["koordinator.sh/gpu", "koordinator.sh/gpu-memory-ratio", "koordinator.sh/rdma", "koordinator.sh/fpga", "a.b/c"],
)
def test_extended_resources_that_a_node_does_not_publish_are_served_by_others(resource: str) -> None:
    """Kubelets leave them out of their sum: Koordinator's agents serve its devices."""
    assert reason(room(), pod("b", requests={resource: 100})) == ""


def test_resources_of_kubernetes_are_counted_although_a_node_does_not_publish_them() -> None:
    """Huge pages and names of `kubernetes.io` are no extended resources."""
    assert reason(room(), pod("b", requests={"hugepages-2Mi": "2Mi"})) == "OutOfhugepages-2Mi"
    assert reason(room(), pod("b", requests={"kubernetes.io/x": 1})) == "OutOfkubernetes.io/x"


def test_pods_are_counted() -> None:
    """The third of two is `OutOfpods`."""
    node = room()
    node.take(pod("a"))
    node.take(pod("b"))

    assert reason(node, pod("c")) == "OutOfpods"


def test_room_is_given_once_and_taken_back_once() -> None:
    """Events may come twice."""
    node = room()
    for _ in range(2):
        node.take(pod("a", requests={"cpu": "2"}))
    assert node.used["cpu"] == 2
    for _ in range(2):
        node.release("a")

    assert node.used["cpu"] == 0


def test_node_affinity_is_checked_again() -> None:
    """Labels may have changed since the decision."""
    wanted = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [
                    {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]},
                    {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]},
                ]
            }
        }
    }

    assert reason(room(zone="a"), pod(affinity=wanted)) == ""
    assert reason(room(zone="b"), pod(affinity=wanted)) == "NodeAffinity"
    assert reason(room(zone="b"), pod(nodeSelector={"zone": "a"})) == "NodeAffinity"


def test_no_execute_taints_must_be_tolerated() -> None:
    """`NoSchedule` is the scheduler's business alone."""
    taint = {"key": "broken", "value": "yes", "effect": "NoExecute"}
    toleration = {"key": "broken", "operator": "Equal", "value": "yes"}

    assert reason(room([taint]), pod()) == "TaintToleration"
    assert reason(room([taint]), pod(tolerations=[toleration])) == ""
    assert reason(room([taint | {"effect": "NoSchedule"}]), pod()) == ""


def test_a_host_port_belongs_to_one_pod() -> None:
    """The wildcard address collides with every other."""
    node = room()

    def on_port(uid: str, **port: Any) -> Any:
        return PODS.decoder.convert(
            {
                "metadata": {"name": uid, "uid": uid},
                "spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, **port}]}]},
            }
        )

    node.take(on_port("a", hostPort=80, hostIP="10.0.0.1"))

    assert reason(node, on_port("b", hostPort=80)) == "NodePorts"
    assert reason(node, on_port("b", hostPort=80, hostIP="10.0.0.2")) == ""
    assert reason(node, on_port("b", hostPort=80, protocol="UDP")) == ""
    assert reason(node, on_port("b")) == ""


def test_initialisation_sidecars_and_overhead_count() -> None:
    """The largest step counts, sidecars beside it, overhead on top."""

    def container(cpu: str, **more: str) -> dict[str, Any]:
        return {"name": "c", "resources": {"requests": {"cpu": cpu}}, **more}

    planned = PODS.decoder.convert(
        {
            "metadata": {"name": "a"},
            "spec": {
                "containers": [container("1")],
                "initContainers": [container("500m", restartPolicy="Always"), container("2")],
                "overhead": {"cpu": "100m"},
            },
        }
    )

    assert pod_requests(planned)["cpu"] == Fraction(26, 10)
