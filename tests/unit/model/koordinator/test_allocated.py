"""The annotation of devices that a pod was given."""

import json
from typing import Any

import pytest

from pyroclast.model.devices.koordinator.allocated import Allocated, read_allocated, write_allocated
from pyroclast.model.devices.koordinator.names import ALLOCATED

GIB = 2**30
HALF = Allocated("gpu", 0, (50, 40 * GIB, 50, None, None, None), id="GPU-8b1c")
CARD = Allocated("rdma", 1, (100,), (("0000:3d:00.2", 0), ("0000:3d:00.3", 1)))


def test_what_stands_in_it() -> None:
    """Devices by type, amounts as quantities, and no empty fields: the address of a virtual function is enough."""
    assert json.loads(write_allocated([HALF, CARD])) == {
        "gpu": [
            {
                "minor": 0,
                "id": "GPU-8b1c",
                "resources": {
                    "koordinator.sh/gpu-core": "50",
                    "koordinator.sh/gpu-memory": "40Gi",
                    "koordinator.sh/gpu-memory-ratio": "50",
                },
            }
        ],
        "rdma": [
            {
                "minor": 1,
                "resources": {"koordinator.sh/rdma": "100"},
                "extension": {"vfs": [{"busID": "0000:3d:00.2"}, {"minor": 1, "busID": "0000:3d:00.3"}]},
            }
        ],
    }


@pytest.mark.parametrize(
    "devices",
    [
        (),
        (HALF,),
        (HALF, CARD),
        (Allocated("gpu", 3, (None, 5, 0, None, None, None)), Allocated("gpu", 1, (None, 5, 0, None, None, None))),
        (Allocated("gpu", 0, (None, 12 * GIB, 50, 4, 4, 50), template="vir04"),),
    ],
)
def test_what_was_written_is_read(devices: Any) -> None:
    """In the order in which it was written."""
    assert read_allocated({ALLOCATED: write_allocated(devices)}) == devices


def test_amounts_may_be_numbers_and_types_unknown() -> None:
    """As older agents write them; the reader knows the types."""
    told = '{"xpu":[{"minor":4}],"rdma":[{"minor":0,"resources":{"koordinator.sh/rdma":100}}],"fpga":null}'

    assert read_allocated({ALLOCATED: told}) == (Allocated("rdma", 0, (100,)), Allocated("xpu", 4, ()))
    assert read_allocated({}) == ()


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[]",
        '{"gpu": {}}',
        '{"gpu": [{"minor": "0"}]}',
        '{"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "half"}}]}',
        '{"rdma": [{"minor": 0, "extension": {"vfs": [{"busID": 3}]}}]}',
    ],
)
def test_invalid_values_are_reported(told: str) -> None:
    """With the name of the annotation."""
    with pytest.raises(ValueError, match=ALLOCATED):
        read_allocated({ALLOCATED: told})
