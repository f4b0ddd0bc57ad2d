"""The example of docs/actions/gangpreempt.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells, listed

CPU, PODS, GANG = 4, 4, 2
SPARING, WHOLE = 2, 4


def victims(minimum: int) -> list[str]:
    """Victims of the more important gang."""
    scenario = Scenario().priority_class("higher", 10).node("n", cpu=CPU)
    scenario = scenario.running("low", on=["n"] * PODS, min_available=minimum)
    scenario = scenario.job("high", tasks=GANG, priority_class="higher", phase="Inqueue")
    outcome = scenario.run("gangpreempt", plugins=(("priority", "gang"), ("predicates",)))
    assert set(outcome.pipelined) == {"high-0", "high-1"}
    return outcome.evictions


def test_the_page() -> None:
    """A gang that can spare two loses two; one that can spare none goes whole."""
    assert len(victims(WHOLE)) == PODS
    assert_tells(
        "actions/gangpreempt",
        f"A node of {CPU} CPU runs `low`, a gang of {PODS} pods of 1 CPU with a minimum of {SPARING}.",
        f"is a gang of {GANG} such pods.",
        f"{listed(victims(SPARING))} are evicted, and `high` runs in their place.",
        f"Were the minimum of `low` {WHOLE}, it could spare none and would be evicted whole.",
    )
