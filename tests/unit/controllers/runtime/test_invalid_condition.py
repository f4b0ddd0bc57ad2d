"""FaultReporter: once while they are true, and in a condition that says when they began and ended."""

from typing import Any

import pytest

from pyroclast.controllers.runtime.invalid_condition import FaultReporter, grace_left, renewed_conditions
from pyroclast.controllers.runtime.store import key_of
from pyroclast.kube.api.resources import POD_GROUPS, QUEUES
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.scheduling import PodGroupCondition, Queue
from pyroclast.model.wire.times import time_text

NOW = 1_767_225_600.0


class Recorder:
    """An operator that notes events."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def record(self, _: Any, __: Any, ___: str, reason: str, message: str) -> None:
        """Note an event."""
        self.events.append((reason, message))


def queue(uid: str = "u") -> Queue:
    """A queue."""
    return Queue(metadata=ObjectMeta(name="q", uid=uid))


def test_a_lasting_fault_is_reported_once() -> None:
    """Another message, the same one after it was mended, and one about another object of the name are news."""
    recorder = Recorder()
    messages = FaultReporter(recorder, QUEUES)  # type: ignore[arg-type]  # as much as is used of one
    for text in ("a", "a", "b", "b", "", "b"):
        messages.report(queue(), text)
    messages.report(queue("v"), "b")

    assert recorder.events == [("Invalid", text) for text in ("a", "b", "b", "b")]


def test_what_is_gone_is_forgotten() -> None:
    """Memory does not grow with the history of a cluster."""
    recorder = Recorder()
    messages = FaultReporter(recorder, QUEUES)  # type: ignore[arg-type]  # as much as is used of one
    messages.report(queue(), "a")
    messages.keep([key_of(queue())])
    messages.report(queue(), "a")
    messages.keep([])
    messages.report(queue(), "a")
    messages.forget(key_of(queue()))
    messages.report(queue(), "a")

    assert len(recorder.events) == 3


def test_a_condition_begins_and_ends() -> None:
    """Its time is that of the change; those of other types stay, and nothing is written twice."""
    other = PodGroupCondition(type="Scheduled", status="True", last_transition_time=time_text(NOW - 60))
    begun = renewed_conditions([other], "no queue", NOW)
    assert begun == [
        {"type": "Scheduled", "status": "True", "lastTransitionTime": time_text(NOW - 60)},
        {
            "type": "Invalid",
            "status": "True",
            "reason": "Invalid",
            "message": "no queue",
            "lastTransitionTime": time_text(NOW),
        },
    ]
    group = POD_GROUPS.decoder.convert({"metadata": {"name": "g"}, "status": {"conditions": begun}})
    assert renewed_conditions(group.status.conditions, "no queue", NOW + 9) is None
    (_, changed) = renewed_conditions(group.status.conditions, "closed", NOW + 9) or []
    assert (changed["message"], changed["lastTransitionTime"]) == ("closed", time_text(NOW))
    (_, ended) = renewed_conditions(group.status.conditions, "", NOW + 9) or []
    assert (ended["status"], ended["reason"], ended["message"]) == ("False", "Valid", "")
    assert ended["lastTransitionTime"] == time_text(NOW + 9)


def test_an_object_in_order_has_no_condition() -> None:
    """Thousands of groups are not written for saying nothing."""
    assert renewed_conditions([], "", NOW) is None


@pytest.mark.parametrize(("age", "left"), [(-60.0, 0.0), (-1.0, 3.0), (0.0, 2.0), (1.0, 1.0), (2.0, 0.0), (900.0, 0.0)])
def test_new_objects_are_given_two_seconds(age: float, left: float) -> None:
    """Unless the server's clock is far from ours: then there would be no end to it."""
    assert grace_left(time_text(NOW - age), NOW) == left


def test_an_object_without_a_time_is_old() -> None:
    """So that nothing waits for ever."""
    assert grace_left("", NOW) == 0.0
