"""A gang that fits starts: where an assignment of its minimum to free room exists, allocate finds one."""

from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.laws.fitting_gangs import fitting_gang, minimum_of

PLUGINS = (
    ("priority", "gang", "conformance"),
    ("drf", "predicates", "proportion", "nodeorder", "network-topology-aware"),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 1 << 32))
def test_a_gang_that_fits_starts(seed: int) -> None:
    """Members are bound, at least as many as the minimum, in the first cycle."""
    scenario = fitting_gang(Random(seed))

    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS)

    assert len(outcome.bindings) >= minimum_of(scenario), outcome.why("gang")
