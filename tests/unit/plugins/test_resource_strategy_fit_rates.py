"""Resource strategy fit keeps room beside devices at the very rate that was written."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from tests.unit.plugins.policies import node, opened, pod


@pytest.mark.parametrize(("cpu", "is_refused"), [("4300m", False), ("4299m", True)])
def test_eleven_tenths_of_a_core_for_each_of_three_devices(cpu: str, is_refused: bool) -> None:
    """They keep 3.3 CPU, to the thousandth: a float makes it a little more."""
    kept: dict[str, Any] = {
        "enable": True,
        "resources": "nvidia.com/gpu",
        "resourceProportion": {"nvidia.com/gpu.cpu": 1.1, "nvidia.com/gpu.memory": 0},
    }
    option = {"name": "resource-strategy-fit", "arguments": {"proportional": kept}}
    there = opened(node("n", cpu=cpu, gpu="3"), pod("p", cpu="1"), plugins=[option])

    answer = there.function(contract.PREDICATE).function(there.task("p"), there.session.nodes.columns())

    assert 1.1 * 3 > 3.3
    assert (answer is not None and bool(answer[0])) is is_refused
