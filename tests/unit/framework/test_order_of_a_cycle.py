"""A cycle opens a session, runs the actions in the order of the configuration, and closes the session."""

from typing import Any

import pytest

from pyroclast import Plugin, Session, contract
from pyroclast.testing import Scenario

JOBS = Scenario().node("n1").job("a", min_resources={"cpu": 1}).job("light", cpu=None, phase="Inqueue")
"""A job that waits for admission, and one without requests, which only backfill places."""


class Observing(Plugin):
    """A plugin that records the steps in which it is called."""

    name = "observing"

    def __init__(self, steps: list[str]) -> None:
        self.steps = steps

    def on_session_open(self, session: Session) -> None:
        """Register a vote on admission, and a predicate."""
        self.steps.append("open")

        def observe(*_: Any) -> None:
            if self.steps[-1] != session.action:
                self.steps.append(session.action)

        def vote(*_: Any) -> contract.Vote:
            observe()
            return contract.Vote.ABSTAIN

        session.extensions.register(contract.JOB_ENQUEUEABLE, self.name, vote)
        session.extensions.register(contract.PREDICATE, self.name, observe)

    def on_session_close(self, session: Session) -> None:  # noqa: ARG002  # the shape of a plugin
        """Record the end."""
        self.steps.append("close")


@pytest.mark.parametrize("actions", [("enqueue", "allocate", "backfill"), ("backfill", "enqueue", "allocate")])
def test_order_of_actions_is_that_of_the_configuration(actions: tuple[str, ...]) -> None:
    """The session is opened before the first action and closed after the last one."""
    steps: list[str] = []
    outcome = JOBS.run(*actions, plugins=(Observing(steps), "gang"))

    assert steps == ["open", *actions, "close"]
    assert outcome.bindings == {"a-0": "n1", "light-0": "n1"}
