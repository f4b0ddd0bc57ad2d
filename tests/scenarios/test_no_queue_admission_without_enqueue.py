"""Without the action enqueue no queue has a gate: every group may go on, also one whose pods are still to be made."""

import pytest

from pyroclast.testing import Scenario


@pytest.mark.parametrize("phase", ["", "Pending"])
def test_a_group_without_pods_is_let_in(phase: str) -> None:
    """The controller creates its pods in phase `Inqueue`."""
    scenario = Scenario().node("n").job("early", tasks=0, min_available=2, phase=phase)

    assert scenario.run("allocate", plugins=("gang",), cycles=2).phases == {"early": "Inqueue"}
    assert scenario.run("backfill", plugins=("gang",)).phases == {"early": "Pending"}
