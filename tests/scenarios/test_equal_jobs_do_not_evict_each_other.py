"""Jobs that are all alike do not evict each other without end when half of them must wait (Volcano issue 377)."""

from pyroclast.testing import Scenario

PLUGINS = (("priority", "gang", "conformance"), ("drf", "predicates", "proportion", "nodeorder"))


def test_twelve_of_twenty_four_run_and_stay() -> None:
    """Four nodes of 3 CPU, all evicting actions configured, and no evictions."""
    scenario = Scenario().queue("q1").queue("q2")
    for number in range(4):
        scenario = scenario.node(f"n{number}", cpu=3)
    for number in range(24):
        scenario = scenario.job(f"j{number:02d}", queue=f"q{number % 2 + 1}")
    outcome = scenario.run(
        *("enqueue", "allocate", "preempt", "reclaim", "gangpreempt", "gangreclaim", "backfill"),
        plugins=PLUGINS,
        cycles=20,
        recreate_evicted=True,
    )

    assert outcome.evictions == []
    assert len(outcome.bindings) == 12
    assert sum(int(pod[1:3]) % 2 for pod in outcome.bindings) == 6
    assert outcome.is_at_rest
