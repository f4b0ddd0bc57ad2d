"""The example of docs/actions/gangreclaim.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells, listed

WEIGHT, CPU, PODS, MINIMUM, GANG = 1, 4, 4, 1, 2


def test_the_page() -> None:
    """Each queue deserves half."""
    scenario = Scenario().node("n", cpu=CPU).queue("a", weight=WEIGHT).queue("b", weight=WEIGHT)
    scenario = scenario.running("rich", on=["n"] * PODS, queue="a", min_available=MINIMUM)
    scenario = scenario.job("poor", tasks=GANG, queue="b", phase="Inqueue")
    outcome = scenario.run("gangreclaim", plugins=(("gang", "proportion"), ("predicates",)))

    deserved = {
        dict(each.labels)["queue_name"]: each.value / 1000
        for each in outcome.report.samples
        if each.metric == "queue_deserved_milli_cpu"
    }
    assert deserved["a"] == deserved["b"]
    assert_tells(
        "actions/gangreclaim",
        f"Two queues of weight {WEIGHT} share a node of {CPU} CPU.",
        f"Queue `a` runs `rich`, {PODS} pods of 1 CPU with a minimum of {MINIMUM};",
        f"queue `b` has `poor`, a gang of {GANG}.",
        f"Each deserves {deserved['a']:g}: {listed(outcome.evictions)} are evicted.",
    )
