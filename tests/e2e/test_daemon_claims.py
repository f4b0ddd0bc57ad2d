"""Resource claims on a server: devices are allocated before the bind, wait for a free one, and outlive the process."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.device_claims import claim, device, device_class, exactly, resource_slice
from tests.e2e.cluster import Cluster
from tests.e2e.ground import Ground, standing_on

API = "/apis/resource.k8s.io/v1"
BUSY = "node(s) cannot allocate all resourceclaims"


@pytest.fixture
def ground(cluster_with_crds: Cluster, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Ground]:
    """Two nodes, the first one with two devices, for one test. Class and driver are those of the test."""
    name = "claims-" + request.node.originalname.rpartition("_")[2]
    with standing_on(cluster_with_crds, name, folder=tmp_path, nodes=2) as ground:
        made = device_class(
            name,
            f'device.driver == "{name}.example.com" && device.capacity["{name}.example.com"]'
            '.memory.isGreaterThan(quantity("20Gi"))',
        )
        ground.create(f"{API}/deviceclasses", made)
        (node, *_) = sorted(each["metadata"]["name"] for each in ground.nodes())
        devices = [device("small", memory="16Gi"), device("g0", memory="80Gi"), device("g1", memory="80Gi")]
        offered = resource_slice(node, *devices)
        offered["spec"]["driver"] = f"{name}.example.com"
        ground.create(f"{API}/resourceslices", offered)
        yield ground
        ground.client.send("DELETE", f"{API}/resourceslices/{node}")
        ground.client.send("DELETE", f"{API}/deviceclasses/{name}")


def create_claim(ground: Ground, name: str) -> None:
    """Create a claim for one device."""
    body = claim(name, exactly("r", deviceClassName=ground.name))
    body["metadata"] = {"name": name, "namespace": ground.name}
    body.pop("status")
    ground.create(f"{API}/namespaces/{ground.name}/resourceclaims", body)


def pod(ground: Ground, name: str, group: str, **named: str) -> None:
    """Create a pod with a claim, which `resourceClaimName` or `resourceClaimTemplateName` names."""
    ground.pod(name, group=group, resourceClaims=[{"name": "gpu", **named}])


def claims(ground: Ground) -> list[dict[str, Any]]:
    """The claims of the namespace."""
    return ground.items(f"{API}/namespaces/{ground.name}/resourceclaims")


def devices_by_pod(ground: Ground) -> dict[str, str]:
    """The device of each pod that has one."""
    found: dict[str, str] = {}
    for each in claims(ground):
        status = each.get("status", {})
        for result in status.get("allocation", {}).get("devices", {}).get("results", []):
            found |= {pod["name"]: result["device"] for pod in status.get("reservedFor", [])}
    return found


def gang_of_two(ground: Ground) -> None:
    """Create two pods of a gang, and a third pod, each with a claim of its own."""
    for name in ("a", "b", "c"):
        create_claim(ground, name)
    ground.group("pair", 2)
    ground.group("late", 1)
    for name in ("a", "b"):
        pod(ground, name, "pair", resourceClaimName=name)


def test_a_gang_gets_its_devices(ground: Ground, tmp_path: Path) -> None:
    """Both pods run where the devices are; a further pod waits with the reason."""
    (node, *_) = sorted(each["metadata"]["name"] for each in ground.nodes())
    gang_of_two(ground)
    with ground.daemon(tmp_path) as daemon:
        daemon.wait_for(lambda: ground.is_placed("pair"))
        pod(ground, "c", "late", resourceClaimName="c")
        daemon.wait_for(lambda: BUSY in ground.condition_of("c").get("message", ""))

    assert ground.nodes_of("pair") == [node, node]
    assert sorted(devices_by_pod(ground).items()) in (
        [("a", "g0"), ("b", "g1")],
        [("a", "g1"), ("b", "g0")],
    )


def test_a_restart_gives_no_device_twice(ground: Ground, tmp_path: Path) -> None:
    """A later process reads what is allocated from the claims."""
    gang_of_two(ground)
    with ground.daemon(tmp_path) as daemon:
        daemon.wait_for(lambda: ground.is_placed("pair"))
    before = devices_by_pod(ground)
    pod(ground, "c", "late", resourceClaimName="c")
    with ground.daemon(tmp_path) as daemon:
        daemon.wait_for(lambda: BUSY in ground.condition_of("c").get("message", ""))

    assert devices_by_pod(ground) == before


def test_a_claim_of_a_template_is_free_when_its_pod_is_gone(ground: Ground, tmp_path: Path) -> None:
    """Kubernetes' controller creates claims, and deallocates them; the pod that waits then gets the device."""
    if ground.cluster.kind == "emulator":
        pytest.skip("the emulator has no controller of resource claims")
    ground.cluster.start_controllers()
    body = claim("gpus", exactly("r", deviceClassName=ground.name, count=2))
    template = {"metadata": {"name": "gpus", "namespace": ground.name}, "spec": {"spec": body["spec"]}}
    ground.create(
        f"{API}/namespaces/{ground.name}/resourceclaimtemplates",
        {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", **template},
    )
    ground.group("first", 1)
    ground.group("second", 1)
    with ground.daemon(tmp_path) as daemon:
        pod(ground, "a", "first", resourceClaimTemplateName="gpus")
        daemon.wait_for(lambda: ground.is_placed("first"))
        pod(ground, "b", "second", resourceClaimTemplateName="gpus")
        daemon.wait_for(lambda: BUSY in ground.condition_of("b").get("message", ""))
        ground.kubectl("delete", "pod", "a", "--grace-period=0", "--force")
        daemon.wait_for(lambda: ground.is_placed("second"))

    assert sorted(devices_by_pod(ground)) == ["b"]
