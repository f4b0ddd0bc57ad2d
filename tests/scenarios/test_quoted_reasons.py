"""What a plugin says is quoted as it is: a text is never a format."""

from typing import Any

from pyroclast import Plugin, Session
from pyroclast.framework.extension import contract
from pyroclast.testing import Scenario

REASON = "disk 100% full of %s and {0}"


class Refusing(Plugin):
    """A plugin that refuses every node with an odd text."""

    name = "refusing"

    def on_session_open(self, session: Session) -> None:
        """Register it."""
        session.extensions.register(contract.PREDICATE, self.name, self.refuse)

    def refuse(self, *_: Any) -> str:
        """Say it."""
        return REASON


def test_signs_of_formats_stay() -> None:
    """In the reason, in the condition, and in the event."""
    outcome = Scenario().node("n").job("j").run("enqueue", "allocate", plugins=(("gang", Refusing()),))

    assert f"0/1 nodes are unavailable: 1 {REASON}" in outcome.why("j")
    assert REASON in outcome.conditions("j")["Unschedulable"].message
    assert all(REASON in event.message for event in outcome.events)
