"""Reclaim looks at queue order and overuse again after each job, so no queue is emptied before the next is served."""

from pyroclast.testing import Scenario


def test_two_poor_queues_take_turns() -> None:
    """Each of three queues deserves a third of 8 CPU: two jobs of one CPU each for both, one after the other."""
    scenario = Scenario().node("n", cpu=8).queue("rich").queue("p").queue("q")
    scenario = scenario.running("rich", on=["n"] * 8, queue="rich")
    for name in ("p0", "p1", "p2", "q0", "q1", "q2"):
        scenario = scenario.job(name, queue=name[0], phase="Inqueue")

    outcome = scenario.run("reclaim", plugins=(("priority", "gang", "conformance"), ("predicates", "proportion")))

    assert [str(plan.job) for plan in outcome.report.plans] == [f"default/{name}" for name in ("p0", "q0", "p1", "q1")]
    assert outcome.evictions == ["rich-7", "rich-6", "rich-5", "rich-4"]
