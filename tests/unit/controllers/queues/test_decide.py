"""What becomes of a queue follows from the queue, its parent, its gangs and the newest command."""

from itertools import product
from typing import Any

import pytest

from pyroclast.controllers.queues.decide import Decision, Situation, decide
from pyroclast.model.api import names
from pyroclast.model.api.meta import ObjectMeta
from pyroclast.model.api.scheduling import Queue, QueueStatus

ROOT = Queue(metadata=ObjectMeta(name="root"), status=QueueStatus(state="Open"))


def queue(state: str, note: str = "", name: str = "q") -> Queue:
    """A queue in a state, perhaps with the annotation that says why."""
    annotations = {names.CLOSED_BY_PARENT: note} if note else {}
    return Queue(metadata=ObjectMeta(name=name, annotations=annotations), status=QueueStatus(state=state))


def parent(state: str) -> Queue:
    """The queue above, in a state."""
    return queue(state, name="p")


def decided(state: str, *, note: str = "", above: Queue | None = ROOT, gangs: int = 0, **situation: Any) -> Decision:
    """What becomes of a queue."""
    return decide(Situation(queue=queue(state, note), parent=above, gangs=gangs, **situation))


@pytest.mark.parametrize(
    ("state", "action", "gangs", "then"),
    [
        ("", "", 0, "Open"),
        ("Open", "", 0, "Open"),
        ("Open", "", 3, "Open"),
        ("Open", "OpenQueue", 0, "Open"),
        ("Open", "CloseQueue", 0, "Closed"),
        ("", "CloseQueue", 0, "Closed"),
        ("Open", "CloseQueue", 1, "Closing"),
        ("Closing", "", 1, "Closing"),
        ("Closing", "", 0, "Closed"),
        ("Closing", "CloseQueue", 1, "Closing"),
        ("Closing", "CloseQueue", 0, "Closed"),
        ("Closing", "OpenQueue", 1, "Open"),
        ("Closed", "", 0, "Closed"),
        ("Closed", "", 2, "Closed"),
        ("Closed", "CloseQueue", 2, "Closed"),
        ("Closed", "OpenQueue", 0, "Open"),
        ("Unknown", "", 0, "Unknown"),
        ("Unknown", "OpenQueue", 0, "Open"),
        ("Unknown", "CloseQueue", 0, "Closed"),
        ("Unknown", "CloseQueue", 1, "Closing"),
    ],
)
def test_the_state_machine(state: str, action: str, gangs: int, then: str) -> None:
    """Every row of the table on the page."""
    assert decided(state, action=action, gangs=gangs).state == then


def test_closing_is_reported_once() -> None:
    """Reported by the event that Volcano's users know."""
    assert [(n.type, n.reason, n.message) for n in decided("Open", action="CloseQueue").notices] == [
        ("Normal", "CloseQueue", "Close queue succeed")
    ]
    assert decided("Closed", action="CloseQueue").notices == []
    assert decided("Closing").notices == []


def test_the_root_cannot_be_closed() -> None:
    """The command is refused with an event, not kept for ever."""
    decision = decide(Situation(queue=ROOT, parent=None, gangs=0, action="CloseQueue"))

    assert (decision.state, decision.takes_command) == ("Open", True)
    assert [(n.type, n.reason) for n in decision.notices] == [("Warning", "CloseQueue")]


def test_a_command_that_is_none_is_refused() -> None:
    """With what it may be."""
    decision = decided("Open", action="AbortJob")

    assert (decision.state, decision.takes_command) == ("Open", True)
    assert [n.message for n in decision.notices] == ["action: got 'AbortJob', expected OpenQueue or CloseQueue"]


@pytest.mark.parametrize("above", ["Closed", "Closing"])
def test_a_queue_closes_with_its_parent(above: str) -> None:
    """And notes that this is why."""
    decision = decided("Open", above=parent(above), gangs=1)

    assert (decision.state, decision.closed_by_parent, decision.annotates_first) == ("Closing", "true", True)


def test_a_queue_opens_with_the_parent_that_closed_it() -> None:
    """The note goes when the state is written."""
    decision = decided("Closed", note="true", above=parent("Open"))

    assert (decision.state, decision.closed_by_parent, decision.annotates_first) == ("Open", "false", False)


def test_a_queue_that_was_closed_by_hand_does_not_open_with_its_parent() -> None:
    """Any controller may close it; the same opens it."""
    assert decided("Closed", note="false", above=parent("Open")).state == "Closed"
    assert decided("Closed", above=parent("Open")).state == "Closed"


def test_a_queue_cannot_open_below_a_closed_one_and_waits_for_it_a_while() -> None:
    """The parent may have got the command to open at the same moment."""
    early = decided("Closed", above=parent("Closing"), action="OpenQueue", command_age_seconds=100)
    late = decided("Closed", above=parent("Closing"), action="OpenQueue", command_age_seconds=161)

    assert (early.state, early.takes_command, early.notices) == ("Closed", False, [])
    assert (late.state, late.takes_command) == ("Closed", True)
    assert [(n.type, n.reason, n.message) for n in late.notices] == [
        ("Warning", "OpenQueue", "Open queue failed: parent queue p is Closing; open it first")
    ]


def test_a_command_opens_a_queue_for_good_after_its_parent_closed_it() -> None:
    """Once the parent is open, the note says no more than that."""
    decision = decided("Closed", note="true", above=parent("Open"), action="OpenQueue")

    assert (decision.state, decision.closed_by_parent, decision.takes_command) == ("Open", "false", True)


def test_a_note_that_was_left_behind_does_not_undo_a_command() -> None:
    """Killed between note and state, then opened above: the next close by hand must stand."""
    decision = decided("Open", note="true", above=parent("Open"), action="CloseQueue")
    assert (decision.state, decision.closed_by_parent) == ("Closed", "false")

    assert decided("Open", note="true", above=parent("Open")).closed_by_parent == "false"


def test_closing_by_hand_below_a_closed_parent_keeps_the_note() -> None:
    """As in Volcano: the queue opens with its parent."""
    decision = decided("Closed", note="true", above=parent("Closed"), action="CloseQueue")

    assert (decision.state, decision.closed_by_parent) == ("Closed", "true")


def test_without_its_parent_a_queue_stays_as_it_is() -> None:
    """A missing parent closes nothing and opens nothing."""
    assert decided("Open", above=None).state == "Open"
    assert decided("Closed", note="true", above=None).state == "Closed"


STATES = ("", "Open", "Closing", "Closed", "Unknown")


@pytest.mark.parametrize(
    ("state", "note", "above", "gangs", "action"),
    list(product(STATES, ("", "true", "false"), STATES, (0, 1), ("", "OpenQueue", "CloseQueue"))),
)
def test_what_is_written_is_at_rest(state: str, note: str, above: str, gangs: int, action: str) -> None:
    """Decided again, without the command that had its effect, nothing changes; killed between the two writes, the end
    is the same.
    """  # noqa: D205 - one sentence, long
    decision = decided(state, note=note, above=parent(above), gangs=gangs, action=action)
    left = "" if decision.takes_command else action
    again = decided(decision.state, note=decision.closed_by_parent, above=parent(above), gangs=gangs, action=left)
    end = (decision.state, decision.closed_by_parent)
    assert (again.state, again.closed_by_parent) == end

    halfway = (state, decision.closed_by_parent) if decision.annotates_first else (decision.state, note)
    resumed = decided(halfway[0], note=halfway[1], above=parent(above), gangs=gangs, action=action)
    assert (resumed.state, resumed.closed_by_parent) == end
