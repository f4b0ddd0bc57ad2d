"""Devices of nodes: what is read of them, and every way in which they cannot be."""

import json
from fractions import Fraction
from typing import Any

import pytest

from pyroclast.cache.files.objects import decoded
from pyroclast.cache.state import ClusterState
from pyroclast.model.devices.koordinator.layout import DevicePlace, NodeDevices, node_devices
from pyroclast.model.devices.koordinator.partitions import Partition
from tests.devices import device, fpga, gpu, rdma

PARTITIONS = "scheduling.koordinator.sh/gpu-partitions"
POLICY = "node.koordinator.sh/gpu-partition-policy"
MODEL = "node.koordinator.sh/gpu-model"


def read(*devices: Any, labels: Any = None, own: Any = None, name: str = "n", **metadata: Any) -> NodeDevices | None:
    """Read the devices of a node with labels; `own` are those of its Device."""
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels or {}}}
    books = ClusterState()
    for kind, each in decoded([node, device(name, *devices, labels=own or {}, **metadata)]):
        books.apply(kind, each)
    (found,) = books.snapshot().nodes.facts.nodes
    return node_devices(found)


def of(*devices: Any, **told: Any) -> NodeDevices:
    """Read devices that are there."""
    found = read(*devices, **told)
    assert found is not None
    return found


def test_devices_stand_by_type_and_number() -> None:
    """In any order, with the names beside them."""
    found = of(
        rdma(0), gpu(1, at=(1, "b")), {"type": "xpu", "minor": 7}, fpga(0), gpu(0, at=(0, "a"), labels={"k": "v"})
    )
    layout = found.layout

    assert [(each.type, each.minor) for each in layout.devices] == [("gpu", 0), ("gpu", 1), ("rdma", 0), ("fpga", 0)]
    assert found.ids == ("GPU-0", "GPU-1", "", "")
    assert layout.by_type == {"gpu": (0, 1), "rdma": (2,), "fpga": (3,)}
    assert layout.devices[0].total == (100, 80 * 2**30, 100, None, None, None)
    assert [each.place for each in layout.devices] == [DevicePlace(0, "a"), DevicePlace(1, "b"), None, None]
    assert layout.devices[0].labels == (("k", "v"),)
    assert layout.gpu_memory == 80 * 2**30


def test_unhealthy_devices_are_known_and_offer_nothing() -> None:
    """Without a word about its health a device is not healthy."""
    silent = {name: value for name, value in gpu(1).items() if name != "health"}
    found = of(gpu(0, health=False), silent, gpu(2, memory="16Gi"))

    assert [each.total is None for each in found.layout.devices] == [True, True, False]
    assert found.layout.gpu_memory == 16 * 2**30


def test_machines_of_one_build_share_what_is_known_of_them() -> None:
    """They differ in the names of their devices alone."""
    one, other = of(gpu(0, id="GPU-a")), of(gpu(0, id="GPU-b"), name="m")

    assert one.layout is other.layout
    assert one.ids != other.ids
    assert of(gpu(0), labels={MODEL: "A100"}).layout is not one.layout


def test_virtual_functions_stand_by_their_addresses() -> None:
    """Compared as texts, as Koordinator does."""
    (card,) = of(rdma(0, functions=["3d:00.3", "3d:00.2"])).layout.devices

    assert card.groups[0].functions == (("3d:00.2", 1), ("3d:00.3", 0))
    assert card.groups[0].labels == (("type", "general"),)


@pytest.mark.parametrize(
    ("devices", "fault"),
    [
        ([{"type": "gpu", "health": True}], r"spec\.devices\[0\]\.minor: None, expected a number of at least 0"),
        ([gpu(0), gpu(-1)], r"spec\.devices\[1\]\.minor: -1, expected"),
        ([gpu(0), rdma(0), gpu(0)], r"spec\.devices\[2\]\.minor: gpu 0 is there twice"),
        ([gpu(0, memory="much")], r"spec\.devices\[0\]\.resources\.koordinator\.sh/gpu-memory: "),
        ([gpu(0, memory="-1Gi")], r"spec\.devices\[0\]\.resources\.koordinator\.sh/gpu-memory: -1Gi is negative"),
        ([rdma(0, functions=["a", "a"])], r"spec\.devices\[0\]\.vfGroups\[0\]\.vfs\[1\]\.busID: 'a', is there twice"),
        ([rdma(0, functions=[""])], r"vfs\[0\]\.busID: '', expected an address"),
        ([gpu(minor) for minor in range(1025)], r"spec\.devices: 1025 are more than 1024"),
    ],
)
def test_invalid_values_are_reported_with_their_path(devices: Any, fault: str) -> None:
    """None of the devices is used then."""
    with pytest.raises(ValueError, match=fault):
        read(*devices)


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("{", "gpu-partitions: "),
        ("[]", "gpu-partitions: Expected `object`"),
        ('{"two": []}', "gpu-partitions: 'two' is no number of GPUs"),
        ('{"0": []}', "gpu-partitions: '0' is no number of GPUs"),
        ('{"2": [{"minors": [0]}]}', r"gpu-partitions: \[0\] are not 2 GPUs"),
        ('{"2": [{"minors": [0, 0]}]}', r"gpu-partitions: \[0, 0\] are not 2 GPUs"),
        ('{"1": [{"allocationScore": 1}]}', "gpu-partitions: .*minors"),
        ('{"1": [{"minors": [0], "ringBusBandwidth": "wide"}]}', "gpu-partitions: ringBusBandwidth: "),
        ('{"1": [{"minors": [0], "allocationScore": "1"}]}', "gpu-partitions: .*allocationScore"),
    ],
)
def test_an_invalid_table_is_reported(table: str, fault: str) -> None:
    """As the rest of the Device is."""
    with pytest.raises(ValueError, match=fault):
        read(gpu(0), annotations={PARTITIONS: table})


def test_a_table_of_partitions() -> None:
    """Scores and bandwidth may be left out; numbers of GPUs that it does not speak of are not served."""
    told = {"2": [{"minors": [0, 1], "allocationScore": 3, "ringBusBandwidth": "1Ki"}], "1": [{"minors": [0]}]}
    table = of(gpu(0), annotations={PARTITIONS: json.dumps(told)}, labels={POLICY: "Honor"}).layout.partitions
    assert table is not None
    assert table.of(2) == (Partition((0, 1), 3, Fraction(1024)),)
    assert table.of(1) == (Partition((0,)),)
    assert table.of(3) is None
    assert not table.is_mandatory

    table = of(gpu(0), annotations={PARTITIONS: "{}"}, own={POLICY: "Honor"}).layout.partitions
    assert table is not None
    assert table.of(1) is None
    assert table.is_mandatory


@pytest.mark.parametrize("policy", ["", "Honor", "Prefer"])
def test_gpus_that_are_known_have_a_table_without_more(policy: str) -> None:
    """Cards by the exact name of their model on the node, which has the policy, too."""
    table = of(gpu(0), labels={MODEL: "H800", POLICY: policy}).layout.partitions

    assert table is not None
    assert [each.minors for each in table.of(4) or ()] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert [len(table.of(size) or ()) for size in (1, 2, 8)] == [8, 4, 1]
    assert {each.score for each in table.of(1) or ()} == {1}
    assert table.is_mandatory is (policy == "Honor")
    assert of(gpu(0), labels={MODEL: "H800-SXM"}).layout.partitions is None
    assert of(gpu(0), labels={MODEL: "H800", "node.koordinator.sh/gpu-vendor": "huawei"}).layout.partitions is None


def test_a_node_without_a_device_has_none() -> None:
    """Nothing is known of its devices, which is not the same as knowing of none."""
    books = ClusterState()
    for kind, each in decoded([{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}]):
        books.apply(kind, each)
    (node,) = books.snapshot().nodes.facts.nodes

    assert node_devices(node) is None
    assert of().layout.devices == ()
