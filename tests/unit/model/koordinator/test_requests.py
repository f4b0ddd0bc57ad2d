"""Requests for devices: which are valid, and what they come to for one GPU."""

from typing import Any

import pytest

from pyroclast.model.devices.koordinator.names import (
    CORE,
    FPGA_SHARE,
    MEMORY,
    NPU_CORE,
    NPU_CPU,
    NPU_DVPP,
    OFFERED,
    RATIO,
    RDMA_SHARE,
    SHARED,
    WHOLE_GPU,
)
from pyroclast.model.devices.koordinator.requests import GpuRequest, PodDeviceRequest, device_request, filled

GIB = 2**30
NAMES = {
    "amd": "amd.com/gpu",
    "core": CORE,
    "dcu": "dcu.com/gpu",
    "fpga": FPGA_SHARE,
    "gpu": WHOLE_GPU,
    "memory": MEMORY,
    "npu_core": NPU_CORE,
    "npu_cpu": NPU_CPU,
    "npu_dvpp": NPU_DVPP,
    "nvidia": "nvidia.com/gpu",
    "ratio": RATIO,
    "rdma": RDMA_SHARE,
    "shared": SHARED,
}


def asked(**amounts: int) -> PodDeviceRequest | None:
    """What so much comes to, whole units by short name."""
    return device_request({NAMES[name]: amount * 1000 for name, amount in amounts.items()})


def gpus(**amounts: int) -> GpuRequest:
    """What so much comes to of GPUs."""
    found = asked(**amounts)
    assert found is not None
    assert found.gpu is not None
    return found.gpu


def each(**amounts: int) -> tuple[int | None, ...]:
    """Amounts of one GPU."""
    named = {NAMES[name]: amount for name, amount in amounts.items()}
    return tuple(named.get(name) for name in OFFERED["gpu"])


@pytest.mark.parametrize(
    "amounts",
    [
        {"core": 101},
        {"gpu": 101},
        {"core": 100, "ratio": 101},
        {"core": 150, "ratio": 150},
        {"fpga": 201},
        {"rdma": 201},
        {"core": 100},
        {"ratio": 101, "shared": 1},
        {"ratio": 101, "shared": 2},
        {"core": 101, "memory": 64, "shared": 1},
        {"core": 101, "memory": 64, "shared": 2},
        {"npu_core": 4, "memory": 8},
        {"nvidia": 1, "core": 100},
        {"nvidia": 1, "gpu": 100},
        {"shared": 1},
        {"ratio": 300, "shared": 2},
        {"shared": 2, "npu_core": 4, "npu_cpu": 4, "memory": 8},
        {"shared": 1, "npu_core": 4, "npu_cpu": 4, "npu_dvpp": 101, "memory": 8},
    ],
)
def test_what_does_not_go_together_is_refused(amounts: Any) -> None:
    """With the name of a resource that is wrong, or of all of them."""
    with pytest.raises(ValueError, match="|".join(NAMES[name] for name in amounts)):
        asked(**amounts)


@pytest.mark.parametrize(
    "amounts",
    [
        {"nvidia": 2},
        {"gpu": 200},
        {"gpu": 50},
        {"core": 200, "memory": 64 * GIB},
        {"ratio": 200},
        {"memory": 64 * GIB},
        {"ratio": 200, "shared": 2},
        {"ratio": 100, "shared": 2},
        {"core": 100, "memory": 64 * GIB, "shared": 1},
        {"core": 100, "memory": 64 * GIB, "shared": 2},
        {"npu_core": 40, "ratio": 200},
        {"shared": 1, "npu_core": 4, "npu_cpu": 4, "npu_dvpp": 100, "memory": 8},
        {"fpga": 50},
        {"rdma": 50},
        {"rdma": 200},
    ],
)
def test_what_goes_together_is_taken(amounts: Any) -> None:
    """As Koordinator takes it."""
    assert asked(**amounts) is not None


@pytest.mark.parametrize(
    ("amounts", "count", "per_device", "is_shared"),
    [
        ({"nvidia": 1}, 1, {"core": 100, "ratio": 100}, False),
        ({"amd": 2}, 2, {"core": 100, "ratio": 100}, False),
        ({"dcu": 2}, 2, {"core": 100, "ratio": 100}, False),
        ({"gpu": 50}, 1, {"core": 50, "ratio": 50}, True),
        ({"shared": 2, "core": 100, "ratio": 100}, 2, {"core": 50, "ratio": 50}, True),
        ({"core": 200, "ratio": 200}, 2, {"core": 100, "ratio": 100}, False),
        ({"core": 50, "ratio": 50}, 1, {"core": 50, "ratio": 50}, True),
        ({"core": 100, "memory": 1024}, 1, {"core": 100, "memory": 1024}, True),
        ({"ratio": 200, "npu_core": 16}, 2, {"ratio": 100, "npu_core": 8}, False),
        ({"core": 200, "memory": 64 * GIB}, 1, {"core": 200, "memory": 64 * GIB}, True),
        ({"shared": 2, "memory": 3}, 2, {"memory": 1}, True),
    ],
)
def test_what_is_asked_of_one_gpu(amounts: Any, count: int, per_device: Any, is_shared: bool) -> None:
    """Amounts are divided among the GPUs, rounded down."""
    assert gpus(**amounts) == GpuRequest(count, each(**per_device), is_shared)


def test_percentages_of_other_devices_stand_as_they_are() -> None:
    """The number of devices depends on the node; parts of a unit are rounded up."""
    assert asked(rdma=50, fpga=200) == PodDeviceRequest(quantities=(("rdma", 50), ("fpga", 200)))
    assert device_request({RDMA_SHARE: 1500}) == PodDeviceRequest(quantities=(("rdma", 2),))


def test_a_pod_without_devices_asks_nothing() -> None:
    """Nor does one that asks for none of them."""
    assert device_request({"cpu": 1000, NAMES["nvidia"]: 0}) is None


@pytest.mark.parametrize(
    ("given", "memory", "expected"),
    [
        ({"ratio": 33}, 16 * GIB, {"ratio": 33, "memory": 5669356830}),
        ({"memory": 5 * GIB}, 16 * GIB, {"ratio": 31, "memory": 5 * GIB}),
        ({"memory": 20 * GIB}, 80 * GIB, {"ratio": 25, "memory": 20 * GIB}),
        ({"core": 30, "memory": 40 * GIB}, 80 * GIB, {"core": 30, "ratio": 50, "memory": 40 * GIB}),
        ({"core": 1, "ratio": 2, "memory": 3}, 80 * GIB, {"core": 1, "ratio": 2, "memory": 3}),
    ],
)
def test_memory_and_percent_follow_from_each_other(given: Any, memory: int, expected: Any) -> None:
    """Computed from the memory of a GPU; values given twice stay."""
    assert filled(each(**given), memory) == each(**expected)
