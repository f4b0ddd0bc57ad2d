"""Extender: what it refuses in one cycle it may permit in the next, though the cluster stands still."""

from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.unit.plugins.extending import AWAY, Service, arguments

MIND = {
    "onSessionOpen": (AWAY, {}),
    "predicate": ({"status": "drained", "code": 3}, {}),
    "batchPredicate": ({"errorMessage": "drained"}, {}),
    "prioritize": ({"errorMessage": "no model"}, {"nodeScore": {}}),
    "queueOverused": ({"overused": True}, {"overused": False}),
    "jobEnqueueable": ({"status": -1}, {"status": 1}),
    "jobReady": ({"status": False}, {"status": True}),
    "allocateFunc": ({"errorMessage": "no licence left"}, {}),
}
"""Answers by verb: one that refuses, and one that permits."""


@pytest.mark.parametrize("verb", MIND)
def test_a_refusal_ends_with_the_answer(verb: str) -> None:
    """Three cycles long it refuses and nothing else happens; the fourth places the gang."""
    refuses, permits = MIND[verb]
    cycle = 0

    def opened(_: Any) -> Any:
        nonlocal cycle
        cycle += 1
        return answer({}) if verb == "onSessionOpen" else {}

    def answer(_: Any) -> Any:
        return refuses if cycle <= 3 else permits

    service = Service(**{verb: answer, "onSessionOpen": opened})
    cluster = Scenario().node("n1").node("n2").job("a", tasks=2, min_available=2, min_resources={"cpu": 2})
    outcome = cluster.job("huge", cpu=1000).run(
        "enqueue",
        "allocate",
        "backfill",
        plugins=("gang", "predicates", "extender"),
        cycles=5,
        arguments={"extender": arguments(*service.answers)},
        outside={"extender": service},
    )

    assert [len(each.plans) for each in outcome.rounds] == [0, 0, 0, 1, 0]
    assert set(outcome.bindings) == {"a-0", "a-1"}
