"""Owners and Reservations on a server: each rule of use once, decided by one daemon and followed by one controller."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pyroclast.model.wire import time_text, unix_seconds
from tests.e2e.cluster import Cluster
from tests.e2e.controllersprocess import controllers
from tests.e2e.daemon import Daemon
from tests.e2e.ground import Ground, standing_on
from tests.e2e.reserving import CONFIGURATION, CONTROLLER, LABELS, RESERVATIONS, reserve, status
from tests.reservations import ALLOCATED, affinity

S = "scheduling.koordinator.sh/"
FIRST, SECOND = "owners-0", "owners-1"
"""Nodes of eight CPUs."""


@pytest.fixture(scope="module")
def ground(cluster_with_crds: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """Two nodes, and controllers."""
    folder = tmp_path_factory.mktemp("owners")
    with (
        standing_on(cluster_with_crds, "owners", folder=folder, nodes=2) as ground,
        controllers(cluster_with_crds, folder, CONTROLLER),
    ):
        yield ground


@pytest.fixture(scope="module")
def daemon(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for all cases."""
    folder = tmp_path_factory.mktemp("owners-daemon")
    file = folder / "scheduler.yaml"
    file.write_text(CONFIGURATION)
    with ground.daemon(folder, f"--scheduler-conf={file}") as daemon:
        yield daemon


@pytest.fixture(autouse=True)
def _alone(ground: Ground) -> Iterator[None]:
    """Delete the Reservations of a case."""
    yield
    ground.kubectl("delete", RESERVATIONS, "--all")


def on(node: str) -> dict[str, Any]:
    """Return fields of a template with a node."""
    return {"template": {"nodeName": node}}


def place(ground: Ground, daemon: Daemon, name: str, **fields: Any) -> None:
    """Create a Reservation, and wait until it is Available."""
    reserve(ground, name, **fields)
    daemon.wait_for(lambda: status(ground, name).get("phase") == "Available")


def pod(ground: Ground, name: str, cpu: str = "1", **fields: Any) -> None:
    """Create a pod that matches the owners, unless it has other labels."""
    ground.group(name, 1)
    ground.pod(name, cpu, group=name, **{"labels": LABELS, **fields})


def used(ground: Ground, name: str) -> str:
    """Return the Reservation that a pod uses; empty if it uses none."""
    text = ground.pods(name)[0]["metadata"].get("annotations", {}).get(ALLOCATED)
    return str(json.loads(text)["name"]) if text else ""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A pod beside a Reservation `r` of two CPUs on the first node."""

    reservation: Mapping[str, Any] = field(default_factory=dict)
    cpu: str = "1"
    pod: Mapping[str, Any] = field(default_factory=dict)
    expected: str | None = "r"
    """What it uses; empty for none; None if it waits."""
    why: str = ""
    """Part of the reason if it waits."""


def required(**fields: Any) -> dict[str, Any]:
    """Return the annotation of a pod that must use a Reservation."""
    return {"annotations": affinity(**fields)}


ONE_CPU = {"requests": {"cpu": "1"}}
TAINT = {"taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
EXACT = f"{S}exact-match-reservation"
CASES = {
    "object": Case(reservation={"owners": [{"object": {"name": "case", "namespace": "owners"}}]}),
    "another object": Case(reservation={"owners": [{"object": {"name": "other"}}]}, expected=""),
    "any pod": Case(reservation={"owners": [{}]}, pod={"labels": {"app": "z"}}),
    "label": Case(),
    "another label": Case(pod={"labels": {"app": "z"}}, expected=""),
    "another label that must use one": Case(
        pod={"labels": {"app": "z"}, **required()}, expected=None, why="no reservations match reservation affinity"
    ),
    "aligned borrows": Case(cpu="3", reservation={"allocatePolicy": "Aligned"}, pod=required()),
    "restricted does not": Case(
        cpu="3", reservation={"allocatePolicy": "Restricted"}, pod=required(), expected=None, why="r: Insufficient cpu"
    ),
    "restricted by a name that is not reserved": Case(
        cpu="3",
        reservation={
            "allocatePolicy": "Restricted",
            "annotations": {f"{S}reservation-restricted-options": '{"resources":["memory"]}'},
        },
        pod=required(),
        expected=None,
        why="r: Insufficient cpu",
    ),
    "exact": Case(cpu="2", pod={"annotations": {EXACT: '{"resourceNames":["cpu"]}'}}),
    "not exact": Case(pod={"annotations": {EXACT: '{"resourceNames":["cpu"]}'}}, expected=""),
    "exact in neither": Case(pod={"annotations": {EXACT: '{"resourceNames":["memory"]}'}}),
    "unschedulable": Case(reservation={"unschedulable": True}, expected=""),
    "unschedulable tolerated": Case(
        reservation={"unschedulable": True},
        pod=required(tolerations=[{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]),
    ),
    "taint untolerated": Case(reservation=TAINT, pod=required(), expected=None, why="untolerated taint {k: v}"),
    "name wins over taints": Case(reservation=TAINT, pod=required(name="r")),
    "ignored": Case(cpu="8", pod={"labels": {"app": "z", f"{S}reservation-ignored": "true"}}, expected=""),
    "pods reserved": Case(
        reservation={"allocatePolicy": "Restricted", "resources": {"pods": "1"}, "allocateOnce": False}
    ),
    "an affinity that cannot be parsed": Case(
        pod={"annotations": dict.fromkeys(affinity(), "{")}, expected=None, why="reservation-affinity"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_pod_uses(ground: Ground, daemon: Daemon, name: str) -> None:
    """A pod of each kind, on the first node for lack of another: a stranger fills the second one."""
    case = CASES[name]
    pod(ground, "stranger", "8", labels={"app": "z"}, nodeSelector={"kubernetes.io/hostname": SECOND})
    place(ground, daemon, "r", **{**on(FIRST), **case.reservation})
    daemon.wait_for(lambda: ground.is_placed("stranger"))
    pod(ground, "case", case.cpu, **case.pod)

    if case.expected is None:
        daemon.wait_for(lambda: case.why in ground.condition_of("case").get("message", ""))
        assert not ground.is_placed("case")
    else:
        daemon.wait_for(lambda: ground.is_placed("case"))
        assert used(ground, "case") == case.expected
    assert daemon.get_json("/debug/audit")["differences"] == []


@pytest.mark.parametrize(("namespace", "expected"), [("owners", "r"), ("elsewhere", "")])
def test_a_controller_is_the_owner(ground: Ground, daemon: Daemon, namespace: str, expected: str) -> None:
    """The pod has the controller that the owners name."""
    described = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"web-{namespace}"}}
    made = ground.create(f"/api/v1/namespaces/{ground.name}/configmaps", described)
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"web-{namespace}", "uid": made["metadata"]["uid"]}
    place(ground, daemon, "r", owners=[{"controller": {**owner, "namespace": namespace}}], **on(FIRST))
    ground.group("a", 1)
    spec = {"schedulerName": ground.name, "containers": [{"name": "c", "image": "none", "resources": ONE_CPU}]}
    metadata: dict[str, Any] = {
        "name": "a",
        "labels": {"gang": "a"},
        "annotations": {"scheduling.k8s.io/group-name": "a"},
    }
    metadata |= {"ownerReferences": [{**owner, "controller": True}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    ground.create(f"/api/v1/namespaces/{ground.name}/pods", body)
    daemon.wait_for(lambda: ground.is_placed("a"))

    assert used(ground, "a") == expected


def test_two_pods_and_a_reservation_for_one(ground: Ground, daemon: Daemon) -> None:
    """The first one spends it."""
    place(ground, daemon, "r", **on(FIRST))
    ground.gang("both", 2, labels=LABELS)
    daemon.wait_for(lambda: ground.is_placed("both"))
    notes = [each["metadata"].get("annotations", {}).get(ALLOCATED) for each in ground.pods("both")]
    assert sum(bool(note) for note in notes) == 1
    daemon.wait_for(lambda: status(ground, "r")["phase"] == "Succeeded")


def test_three_owners_and_the_end_of_one(ground: Ground, daemon: Daemon) -> None:
    """What an owner leaves is for the next one, and deletion of the Reservation touches no owner."""
    pod(ground, "stranger", "8", labels={"app": "z"}, nodeSelector={"kubernetes.io/hostname": SECOND})
    place(ground, daemon, "r", cpu=6, allocateOnce=False, **on(FIRST))
    for name in ("a", "b", "c"):
        pod(ground, name, "2", **required())
    daemon.wait_for(lambda: status(ground, "r").get("allocated") == {"cpu": "6"})
    assert len(status(ground, "r")["currentOwners"]) == 3
    pod(ground, "z", "4", labels={"app": "z"})
    pod(ground, "d", "4", **required())
    daemon.wait_for(lambda: "r: Insufficient cpu by node" in ground.condition_of("d").get("message", ""))
    ground.succeed("a")
    daemon.wait_for(lambda: ground.is_placed("d"))
    assert not ground.is_placed("z")
    daemon.wait_for(lambda: status(ground, "r").get("allocated") == {"cpu": "8"})

    for name in ("b", "d"):
        ground.remove(name)
    daemon.wait_for(lambda: status(ground, "r").get("allocated") == {"cpu": "2"})
    ground.kubectl("delete", RESERVATIONS, "r")
    daemon.wait_for(lambda: ground.is_placed("z"))
    assert ground.is_placed("c")


def test_the_lowest_order_wins_on_all_nodes(ground: Ground, daemon: Daemon) -> None:
    """The other Reservation would be fuller."""
    place(ground, daemon, "r", cpu=4, labels={f"{S}reservation-order": "1"}, **on(FIRST))
    place(ground, daemon, "s", cpu=2, labels={f"{S}reservation-order": "2"}, **on(SECOND))
    pod(ground, "a", "2")
    daemon.wait_for(lambda: ground.is_placed("a"))

    assert (used(ground, "a"), ground.nodes_of("a")) == ("r", [FIRST])


def test_policies_conflict_on_a_node(ground: Ground, daemon: Daemon) -> None:
    """The condition has the reason."""
    place(ground, daemon, "r", **on(FIRST))
    reserve(ground, "s", allocatePolicy="Restricted", **on(FIRST))

    def message() -> str:
        conditions = status(ground, "s").get("conditions", [])
        return str(conditions[0]["message"]) if conditions else ""

    daemon.wait_for(lambda: "reservation allocate policy conflict" in message())


def test_a_port_is_for_the_owner(ground: Ground, daemon: Daemon) -> None:
    """A stranger that needs it runs on the other node."""
    ports = [{"containerPort": 80, "hostPort": 8080}]
    with_port = [{"name": "c", "image": "none", "resources": ONE_CPU, "ports": ports}]
    place(ground, daemon, "r", template={"nodeName": FIRST, "containers": with_port})
    pod(ground, "stranger", labels={"app": "z"}, containers=with_port)
    pod(ground, "owner", containers=with_port, **required())
    daemon.wait_for(lambda: ground.is_placed("stranger") and ground.is_placed("owner"))

    assert (ground.nodes_of("stranger"), ground.nodes_of("owner"), used(ground, "owner")) == ([SECOND], [FIRST], "r")


def test_an_end_before_the_ttl(ground: Ground, daemon: Daemon) -> None:
    """It fails, and its capacity is free; a ttl of 0 disables both ends."""
    (node, _) = ground.nodes()
    past = time_text(unix_seconds(node["metadata"]["creationTimestamp"]) - 60)
    place(ground, daemon, "kept", cpu=8, ttl="0", expires=past, **on(FIRST))
    reserve(ground, "late", cpu=8, ttl="24h", expires=past, **on(SECOND))
    daemon.wait_for(lambda: status(ground, "late").get("phase") == "Failed")
    pod(ground, "stranger", "8", labels={"app": "z"})
    daemon.wait_for(lambda: ground.is_placed("stranger"))

    assert ground.nodes_of("stranger") == [SECOND]
    assert status(ground, "kept")["phase"] == "Available"


def test_a_node_is_deleted(ground: Ground, daemon: Daemon, tmp_path: Path) -> None:
    """The Reservation ends, and is deleted without a wait."""
    lost = {"metadata": {"name": "owners-lost", "labels": ground.nodes()[0]["metadata"]["labels"]}}
    ground.create("/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **lost})
    amounts = json.dumps({"status": {key: {"cpu": "4", "pods": "10"} for key in ("capacity", "allocatable")}})
    ground.kubectl("patch", "node", "owners-lost", "--subresource=status", "--type=merge", "-p", amounts)
    tolerates = [{"operator": "Exists"}]
    place(ground, daemon, "r", template={"nodeName": "owners-lost", "tolerations": tolerates})
    ground.kubectl("delete", "node", "owners-lost")

    daemon.wait_for(lambda: not ground.items("/apis/scheduling.koordinator.sh/v1alpha1/reservations"))


@pytest.mark.parametrize("is_required", [False, True])
def test_several_pods_are_taken_over(ground: Ground, daemon: Daemon, is_required: bool) -> None:
    """Two pods of three CPUs fill most of the node, and the Reservation of seven has one CPU beside them."""
    labels = {f"{S}pre-allocation-required": "true"} if is_required else {}
    for name in ("a", "b"):
        pod(ground, name, "3", nodeSelector={"kubernetes.io/hostname": FIRST})
    daemon.wait_for(lambda: ground.is_placed("a") and ground.is_placed("b"))
    several: dict[str, Any] = {"preAllocation": True, "preAllocationPolicy": {"enableMultiple": True}}
    place(
        ground,
        daemon,
        "r",
        cpu=7,
        allocatePolicy="Restricted",
        allocateOnce=False,
        labels=labels,
        **several,
        **on(FIRST),
    )
    daemon.wait_for(lambda: status(ground, "r").get("allocated") == {"cpu": "6"})

    assert [used(ground, name) for name in ("a", "b")] == ["r", "r"]


def test_a_pod_must_be_taken_over_and_there_is_none(ground: Ground, daemon: Daemon) -> None:
    """Free capacity would be enough."""
    labels = {f"{S}pre-allocation-required": "true"}
    reserve(ground, "r", preAllocation=True, allocatePolicy="Restricted", labels=labels)

    def message() -> str:
        conditions = status(ground, "r").get("conditions", [])
        return str(conditions[0]["message"]) if conditions else ""

    daemon.wait_for(lambda: "no pod match reservation with pre allocation required" in message())
