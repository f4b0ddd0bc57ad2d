"""A gang is scheduled or it is not: of the two conditions of its group the one that does not hold any more is False."""

import pytest

from pyroclast.testing import Scenario


def group(condition: str) -> dict[str, object]:
    """A gang of two of which some earlier cycle has said something."""
    said = {"type": condition, "status": "True", "reason": "Earlier", "message": "", "transitionID": "1"}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"minMember": 2, "queue": "default"},
        "status": {"phase": "Inqueue", "conditions": [said]},
    }


@pytest.mark.parametrize(
    ("cpu", "before", "now"), [(2, "Unschedulable", "Scheduled"), (1, "Scheduled", "Unschedulable")]
)
def test_the_other_one_turns_false(cpu: int, before: str, now: str) -> None:
    """With room for both it is scheduled, with room for one it cannot be."""
    scenario = Scenario().node("n", cpu=cpu).add(group(before)).pod("a", job="gang").pod("b", job="gang")

    told = scenario.run("allocate", plugins=("gang", "predicates")).conditions("gang")

    assert {name: condition.status for name, condition in told.items()} == {now: "True", before: "False"}


def test_the_cycle_that_binds_says_so_without_a_warning() -> None:
    """Not that the group cannot be scheduled, with a text that says that it is ready."""
    outcome = (
        Scenario().node("n", cpu=2).job("gang", tasks=2).run("enqueue", "allocate", plugins=("gang", "predicates"))
    )

    assert [name for name, each in outcome.conditions("gang").items() if each.status == "True"] == ["Scheduled"]
    assert [(event.type, event.reason) for event in outcome.events] == [("Normal", "Scheduled")]


def test_what_has_not_changed_is_no_event() -> None:
    """A gang that waits tells why once, however many cycles pass."""
    outcome = (
        Scenario().node("n").job("gang", cpu=9).run("enqueue", "allocate", plugins=("gang", "predicates"), cycles=3)
    )

    assert [[event.reason for event in each.report.events] for each in outcome.rounds] == [
        ["Unschedulable", "FailedScheduling"],
        [],
        [],
    ]
