"""What a job was admitted with stays reserved for it while only a part of it exists (Volcano issue 2037)."""

from typing import Any

import pytest

from pyroclast.testing import Scenario

GATE: dict[str, Any] = {"cpu": 2, "memory": "2Gi"}


@pytest.mark.parametrize("sharing", ["proportion", "capacity"])
def test_two_drivers_do_not_starve_both_their_executors(sharing: str) -> None:
    """Queue of 2 CPU; each application needs 2, a driver now and an executor when the driver runs."""
    plugins = (("priority", "gang", "conformance"), ("predicates", sharing, "nodeorder"))
    scenario = Scenario().queue("test", capability={"cpu": 2, "memory": "4Gi"}).node("n1", cpu=8, memory="16Gi")
    for name in ("spark1", "spark2"):
        scenario = scenario.job(name, tasks=0, min_available=1, queue="test", min_resources=GATE)
        scenario = scenario.pod(f"{name}-driver", job=name, memory="1Gi")
    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=plugins, cycles=3)

    assert outcome.bindings == {"spark1-driver": "n1"}
    assert outcome.phases == {"spark1": "Running", "spark2": "Pending"}
