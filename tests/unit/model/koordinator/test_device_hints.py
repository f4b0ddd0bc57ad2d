"""Wishes of pods: what annotations say of devices, and every way in which they cannot be read."""

import json
from fractions import Fraction
from typing import Any

import pytest

from pyroclast.model import wire
from pyroclast.model.devices.koordinator.device_hints import NO_HINT, DeviceHints, Joint, PartitionWish, wishes_of

HINT = "device-allocate-hint"
JOINT = "device-joint-allocate"
PARTITION = "gpu-partition-spec"
NUMA = "numa-topology-spec"


def wishes(**told: Any) -> DeviceHints:
    """Read annotations, by their names with `_` for `-`; texts as they are."""
    annotations = {
        f"scheduling.koordinator.sh/{name.replace('_', '-')}": value if isinstance(value, str) else json.dumps(value)
        for name, value in told.items()
    }
    return wishes_of(wire.Pod(metadata=wire.ObjectMeta(name="p", annotations=annotations)))


def test_a_pod_without_annotations_has_no_hints() -> None:
    """Nor one whose fields say nothing."""
    assert wishes() == DeviceHints()
    assert wishes(device_joint_allocate={"deviceTypes": None}, device_allocate_hint={"gpu": None}) == DeviceHints()
    assert wishes().hint("gpu") == NO_HINT


def test_all_hints_together() -> None:
    """Amounts of each type of device, and of all together."""
    hints = {
        "rdma": {
            "selector": {"matchLabels": {"pool": "a"}},
            "vfSelector": {},
            "allocateStrategy": "RequestsAsCount",
            "exclusivePolicy": "DeviceLevel",
        },
        "gpu": {"requiredTopologyScope": "PCIe", "exclusivePolicy": "PCIeLevel"},
    }
    found = wishes(
        device_allocate_hint=hints,
        device_joint_allocate={"deviceTypes": ["rdma", "gpu"], "requiredScope": "SamePCIe"},
        gpu_partition_spec={"allocatePolicy": "Restricted", "ringBusBandwidth": "1Ki"},
        numa_topology_spec={"numaTopologyPolicy": "SingleNUMANode", "singleNUMANodeExclusive": "Preferred"},
    )
    card = found.hint("rdma")

    assert (card.strategy, card.exclusive, card.scope) == ("RequestsAsCount", "DeviceLevel", "")
    assert card.selector.matches({"pool": "a"})
    assert not card.selector.matches({})
    assert card.functions is not None
    assert card.functions.matches({})
    assert (found.hint("gpu").scope, found.hint("gpu").exclusive) == ("PCIe", "PCIeLevel")
    assert found.partition == PartitionWish(is_restricted=True, bandwidth=Fraction(1024))
    assert found.numa_policy == "SingleNUMANode"
    assert found.joint_of(("gpu", "rdma")) == Joint(("rdma", "gpu"), same_pcie=True)
    assert wishes(gpu_partition_spec="{}").partition == PartitionWish()


@pytest.mark.parametrize(
    ("listed", "asked", "hints", "joint"),
    [
        (["gpu", "rdma"], ("gpu", "rdma"), {}, ("gpu", "rdma")),
        (["gpu", "rdma", "gpu"], ("gpu", "rdma"), {}, ("gpu", "rdma")),
        (["gpu", "rdma"], ("rdma",), {}, None),
        (["gpu"], ("gpu", "rdma"), {}, None),
        (["gpu", "rdma"], ("gpu", "rdma"), {"rdma": {"allocateStrategy": "ApplyForAll"}}, None),
        (
            ["gpu", "rdma", "fpga"],
            ("gpu", "rdma", "fpga"),
            {"rdma": {"allocateStrategy": "ApplyForAll"}},
            ("gpu", "fpga"),
        ),
    ],
)
def test_types_that_are_to_be_near_each_other(listed: Any, asked: Any, hints: Any, joint: Any) -> None:
    """Devices that the pod requests, not all of them; a single one is near no other."""
    found = wishes(device_joint_allocate={"deviceTypes": listed}, device_allocate_hint=hints).joint_of(asked)

    assert found == (None if joint is None else Joint(joint, same_pcie=False))


@pytest.mark.parametrize(
    ("name", "told", "fault"),
    [
        (HINT, "{", f"{HINT}: "),
        (HINT, "[]", f"{HINT}: Expected `object`"),
        (HINT, '{"gpus": {}}', f"{HINT}: 'gpus' is none of gpu, rdma, fpga"),
        (HINT, '{"gpu": {"requiredTopologyScope": "Rack"}}', f"{HINT}: .*'Rack'.*requiredTopologyScope"),
        (HINT, '{"gpu": {"allocateStrategy": "All"}}', f"{HINT}: .*'All'.*allocateStrategy"),
        (HINT, '{"gpu": {"exclusivePolicy": "Node"}}', f"{HINT}: .*'Node'.*exclusivePolicy"),
        (
            HINT,
            '{"rdma": {"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}}',
            rf"{HINT}: rdma\.selector\.matchExpressions\[0\]\.operator: 'Near' is none of",
        ),
        (
            HINT,
            '{"rdma": {"vfSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}}}',
            rf"{HINT}: rdma\.vfSelector\.matchExpressions\[0\]\.values: In without values",
        ),
        (JOINT, '{"deviceTypes": "gpu"}', f"{JOINT}: Expected `array`"),
        (JOINT, '{"deviceTypes": ["gpu", "nic"]}', f"{JOINT}: 'nic' is none of gpu, rdma, fpga"),
        (JOINT, '{"requiredScope": "SameNode"}', f"{JOINT}: .*'SameNode'.*requiredScope"),
        (PARTITION, '{"allocatePolicy": "Strict"}', f"{PARTITION}: .*'Strict'.*allocatePolicy"),
        (PARTITION, '{"ringBusBandwidth": "wide"}', f"{PARTITION}: ringBusBandwidth: "),
        (NUMA, '{"numaTopologyPolicy": "Near"}', f"{NUMA}: .*'Near'.*numaTopologyPolicy"),
    ],
)
def test_invalid_values_are_reported(name: str, told: str, fault: str) -> None:
    """With the annotation, and the place in it."""
    with pytest.raises(ValueError, match=fault):
        wishes(**{name.replace("-", "_"): told})
