"""Requests of pods follow their volumes."""

import msgspec

from pyroclast.cache.state import ClusterState
from pyroclast.model import wire
from tests.unit.cache.builders import filled, group, node, pod, queue, task

LIMIT = "attachable-volumes-csi-disk.example.com"
CLAIM = wire.PersistentVolumeClaim(
    metadata=wire.ObjectMeta(name="c", namespace="ns"),
    spec=wire.PersistentVolumeClaimSpec(storage_class_name="fast", volume_name="v"),
)
VOLUME = wire.PersistentVolume(
    metadata=wire.ObjectMeta(name="v"),
    spec=wire.PersistentVolumeSpec(csi=wire.CSIVolume(driver="other.example.com")),
)
CLASS = wire.StorageClass(metadata=wire.ObjectMeta(name="fast"), provisioner="disk.example.com")
DRIVERS = tuple(wire.CSINodeDriver(name=name) for name in ("disk.example.com", "other.example.com"))
DRIVEN = wire.CSINode(metadata=wire.ObjectMeta(name="n1"), spec=wire.CSINodeSpec(drivers=DRIVERS))
CLAIMING = pod(
    "p",
    group="g",
    volumes=(wire.Volume(name="d", persistent_volume_claim=wire.PersistentVolumeClaimVolumeSource(claim_name="c")),),
)


def test_a_pod_follows_its_claim_class_and_volume() -> None:
    """Each new object changes the request without a change of the pod."""
    state = filled(ClusterState(), queue(), group("g"), CLAIMING, DRIVEN)
    assert task(state, "p").template.best_effort

    filled(state, CLAIM)
    assert LIMIT not in task(state, "p").template.request

    filled(state, CLASS)
    assert task(state, "p").template.request[LIMIT] == 1000

    filled(state, VOLUME)
    assert task(state, "p").template.request["attachable-volumes-csi-other.example.com"] == 1000
    assert LIMIT not in task(state, "p").template.request

    state.remove("PersistentVolumeClaim", CLAIM)
    assert task(state, "p").template.best_effort


def test_a_pod_follows_a_claim_that_moves_to_another_volume() -> None:
    """The old volume no longer affects the pod. The new one does, in any order of events."""
    moved = msgspec.structs.replace(CLAIM, spec=msgspec.structs.replace(CLAIM.spec, volume_name="w"))
    state = filled(ClusterState(), queue(), group("g"), CLAIMING, CLAIM, VOLUME, CLASS, DRIVEN, moved)
    assert task(state, "p").template.request[LIMIT] == 1000
    asked = task(state, "p")

    state.remove("PersistentVolume", VOLUME)
    assert task(state, "p") is asked

    other = msgspec.structs.replace(VOLUME, metadata=wire.ObjectMeta(name="w"))
    filled(state, other)
    assert task(state, "p").template.request["attachable-volumes-csi-other.example.com"] == 1000

    state.remove("PersistentVolume", other)
    assert task(state, "p").template.request[LIMIT] == 1000


def test_drivers_count_once_a_node_has_them() -> None:
    """A class can name a provisioner without a driver, as of a file server: its volumes are not attached."""
    state = filled(ClusterState(), queue(), group("g"), CLAIMING, CLAIM, CLASS)
    assert task(state, "p").template.best_effort

    filled(state, DRIVEN)
    assert task(state, "p").template.request[LIMIT] == 1000

    filled(state, msgspec.structs.replace(DRIVEN, spec=wire.CSINodeSpec(drivers=DRIVERS[1:])))
    assert LIMIT not in task(state, "p").template.request


def test_a_node_offers_its_drivers() -> None:
    """A CSINode that is created later adds its drivers to the node. Its deletion removes them."""
    state = filled(ClusterState(), node())
    filled(state, DRIVEN)
    snapshot = state.snapshot()

    assert snapshot.resources.amounts(snapshot.nodes.allocatable[:, 0])[LIMIT] == (2**31 - 1) * 1000
    assert LIMIT in snapshot.resources.amounts(snapshot.nodes.reported[:, 0])
    state.remove("CSINode", DRIVEN)
    snapshot = state.snapshot()
    assert LIMIT not in snapshot.resources.amounts(snapshot.nodes.allocatable[:, 0])
