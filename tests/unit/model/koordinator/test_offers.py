"""What the devices of a node come to together."""

from typing import Any

import pytest

from pyroclast.model.devices.koordinator.names import (
    CORE,
    FPGA_SHARE,
    MEMORY,
    NPU_CORE,
    RATIO,
    RDMA_SHARE,
    SHARED,
    WHOLE_GPU,
)
from pyroclast.model.devices.koordinator.offers import offers_of
from pyroclast.model.requests import LARGEST_REQUEST
from tests.devices import fpga, gpu, rdma
from tests.unit.model.koordinator.test_layout import of


@pytest.mark.parametrize(("vendor", "is_whole"), [("", True), ("nvidia", True), ("huawei", False)])
def test_healthy_devices_add_up(vendor: str, is_whole: bool) -> None:
    """Amounts by names of resources, in thousandths; percentages of GPUs for the vendors that Koordinator lists."""
    labels: dict[str, Any] = {"node.koordinator.sh/gpu-vendor": vendor} if vendor else {}
    found = offers_of(of(gpu(0), gpu(1), gpu(2, health=False), rdma(0), fpga(0), fpga(1), labels=labels))
    whole = {WHOLE_GPU: 200_000} if is_whole else {}

    assert found == {
        CORE: 200_000,
        FPGA_SHARE: 200_000,
        MEMORY: 160 * 2**30 * 1000,
        RATIO: 200_000,
        RDMA_SHARE: 100_000,
        SHARED: 200_000,
        **whole,
    }


def test_unlisted_resources_are_not_offered() -> None:
    """Nor is anything where there are none; more than counts is cut."""
    npu = {"type": "gpu", "minor": 0, "health": True, "resources": {NPU_CORE: "8", MEMORY: "9Pi"}}

    assert offers_of(of()) == {}
    assert offers_of(of(npu)) == {
        MEMORY: LARGEST_REQUEST * 1000,
        NPU_CORE: 8_000,
        SHARED: 100_000,
        WHOLE_GPU: 0,
    }
