"""An action may be listed twice; what follows is what follows the running one."""

import pytest

from pyroclast.framework.configuration import Profile
from pyroclast.testing import Scenario

PLUGINS = (("gang", "priority"), ("predicates", "proportion"))


def test_an_allocate_after_backfill_waits_for_no_backfill() -> None:
    """The gang is admitted after backfill, and its light member is placed by the second allocate itself."""
    gang = Scenario().node("n1").job("gang", tasks=1, min_available=2).pod("light", job="gang", cpu=None)
    outcome = gang.run("allocate", "backfill", "enqueue", "allocate", plugins=("gang", "predicates"))

    assert outcome.bindings == {"gang-0": "n1", "light": "n1"}


def test_a_reclaim_after_allocate_leaves_nothing_to_an_allocate() -> None:
    """The job is admitted after allocate, so the second reclaim holds the free room for the next cycle."""
    scenario = (
        Scenario().queue("a").queue("b").node("n1", cpu=4).running("old", on=["n1"], queue="a").job("new", queue="b")
    )
    outcome = scenario.run("reclaim", "allocate", "enqueue", "reclaim", plugins=PLUGINS)

    assert outcome.pipelined == {"new-0": "n1"}


LENDING = (
    Scenario()
    .queue("a")
    .queue("b")
    .node("n", cpu=10)
    .job("first", queue="a", tasks=6, phase="Inqueue")
    .job("second", queue="b", tasks=6)
)
"""Two queues of equal shares with one gang each beyond its share; the second gang waits for admission."""


def test_an_allocate_after_enqueue_lets_idle_room_be_lent() -> None:
    """The second allocate has offered the room to the job that enqueue admitted, so the rest is lent in this cycle."""
    outcome = LENDING.run("allocate", "enqueue", "allocate", plugins=PLUGINS)
    assert len(outcome.bindings) == 6


@pytest.mark.parametrize(
    ("actions", "admits"),
    [
        ("allocate", False),
        ("enqueue allocate", False),
        ("allocate enqueue", True),
        ("allocate enqueue allocate", False),
        ("enqueue allocate enqueue", True),
        ("enqueue backfill", False),
    ],
)
def test_the_last_allocate_decides_what_waits_for_the_next_cycle(actions: str, admits: bool) -> None:
    """Only an enqueue after it admits jobs that no allocate offers room to."""
    assert Profile(actions=tuple(actions.split())).admits_after_allocate is admits
