"""The example of docs/actions/reclaim.md."""

from pyroclast.testing import Outcome, Scenario
from tests.unit.examples.page import assert_tells, listed

WEIGHT, CPU, MINIMUM, GANG = 1, 8, 1, 2


def decided(asked: int) -> Outcome:
    """What comes of a gang of so many pods."""
    scenario = Scenario().node("n", cpu=CPU).queue("a", weight=WEIGHT).queue("b", weight=WEIGHT)
    scenario = scenario.running("a", on=["n"] * CPU, queue="a", min_available=MINIMUM)
    scenario = scenario.job("b", tasks=asked, queue="b", phase="Inqueue")
    return scenario.run("reclaim", plugins=(("gang", "proportion"), ("predicates",)))


def deserved(outcome: Outcome, queue: str) -> float:
    """CPUs that a queue deserves."""
    return next(
        each.value / 1000
        for each in outcome.report.samples
        if each.metric == "queue_deserved_milli_cpu" and dict(each.labels)["queue_name"] == queue
    )


def test_the_page() -> None:
    """What one queue does not ask for the other one deserves."""
    outcome, half = decided(GANG), CPU // 2
    assert [deserved(decided(asked), "b") for asked in (half, half + 1)] == [half, half]

    assert_tells(
        "actions/reclaim",
        f"Two queues of weight {WEIGHT} share {CPU} CPU. Queue `a` runs {CPU} pods of 1 CPU, minimum {MINIMUM};",
        f"queue `b` has a gang of {GANG} such pods.",
        f"Each deserves {half} when `b` requests {half} or more; it requests {GANG},",
        f"so `a` deserves {deserved(outcome, 'a'):g} and two of its pods are evicted: {listed(outcome.evictions)}.",
    )
