"""The example of docs/actions/enqueue.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells, listed

CPU, NEEDED, FACTOR = 4, 2, 1.2


def test_the_page() -> None:
    """Two of three that need half of the node pass, and one that says nothing."""
    scenario = Scenario().node("n", cpu=CPU)
    for name in ("a", "b", "c"):
        scenario = scenario.job(name, tasks=0, min_resources={"cpu": NEEDED})
    outcome = scenario.job("d", tasks=0).run("enqueue", plugins=("overcommit",))
    passed = [name for name, phase in outcome.phases.items() if phase == "Inqueue"]
    (told,) = {event.message for event in outcome.events}

    assert_tells(
        "actions/enqueue",
        f"A node of {CPU} CPU, of which overcommit admits {CPU * FACTOR:g}.",
        f"{listed('abc')} need {NEEDED} CPU each, `d` does not say what it needs:",
        f"{listed(passed)} are admitted, `c` waits with the reason `{told}`.",
    )
