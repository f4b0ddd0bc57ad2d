"""The example of docs/actions/preempt.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells, listed

CPU, PODS, GANG = 4, 4, 2
LOW, HIGH = 1, 10
SPARING, WHOLE = 2, 4


def victims(minimum: int) -> list[str]:
    """Victims of the more important gang."""
    scenario = Scenario().priority_class("low", LOW).priority_class("high", HIGH).node("n", cpu=CPU)
    scenario = scenario.running("low", on=["n"] * PODS, min_available=minimum, priority_class="low")
    scenario = scenario.job("high", tasks=GANG, priority_class="high", phase="Inqueue")
    return scenario.run("preempt", plugins=(("priority", "gang"), ("predicates",))).evictions


def test_the_page() -> None:
    """A gang that can spare two loses two; one that can spare none loses none."""
    assert victims(WHOLE) == []
    assert_tells(
        "actions/preempt",
        f"A node of {CPU} CPU is full: gang `low` (priority {LOW}, minimum {SPARING}) runs {PODS} pods of 1 CPU.",
        f"Gang `high` (priority {HIGH}, minimum {GANG}) requests {GANG} pods of 1 CPU:",
        f"{listed(victims(SPARING))} are evicted, in this order, and `low` keeps its minimum.",
        f"Were the minimum of `low` {WHOLE}, the gang plugin would protect all four",
    )
