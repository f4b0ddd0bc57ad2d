"""Kept as it is: allocate places the tasks of a job in task order, also those that a role could do without."""

from pyroclast.testing import Scenario


def test_members_beyond_a_minimum_can_take_the_room_of_another_role() -> None:
    """Two places and three workers before the one server: nothing is bound, and the job says what lacks."""
    scenario = Scenario().node("n1", cpu=2)
    scenario = scenario.job("gang", tasks=0, min_available=2, min_by_role={"worker": 1, "server": 1}, phase="Inqueue")
    for number, role in enumerate(("worker", "worker", "worker", "server")):
        scenario = scenario.pod(f"gang-{number}", job="gang", role=role, priority=5)

    outcome = scenario.run("allocate", plugins=(("priority", "gang", "predicates"),))

    assert outcome.bindings == {}
    assert "Insufficient cpu" in outcome.why("gang")
