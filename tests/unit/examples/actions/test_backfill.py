"""The example of docs/actions/backfill.md."""

from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells, listed

PLACES, LIGHT, MINIMUM = 3, 3, 1


def test_the_page() -> None:
    """A node without CPU left has places for two pods."""
    scenario = Scenario().node("n", cpu=1, pods=PLACES).running("full", on=["n"])
    scenario = scenario.job("light", tasks=LIGHT, min_available=MINIMUM, cpu=None)
    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=("gang", "predicates"))
    told = outcome.why_pod("light-2").partition(": ")[2]

    assert_tells(
        "actions/backfill",
        f"A node of 1 CPU accepts {PLACES} pods and runs one, which uses the CPU.",
        f"`light` has {LIGHT} best-effort pods and a minimum of {MINIMUM}:",
        f"{listed(outcome.bindings)} are bound, `light-2` has the reason `{told}`.",
    )
