"""Queue surplus: a plugin that limits victims of other queues in every tier."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task
from pyroclast.testing import Outcome, Scenario

FULL = (
    Scenario()
    .queue("a")
    .queue("b")
    .node("n1", cpu=2)
    .job("run", queue="a", cpu=1, tasks=2, min_available=0, running_on=["n1"] * 2)
    .job("wait", queue="b", cpu=1)
)


class Spares(Plugin):
    """A plugin that spares one pod of other queues."""

    name = "spares"
    spared: ClassVar[str] = "run-1"

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def limit(_: Task, victims: Sequence[Task]) -> Iterable[Task]:
            return (task for task in victims if task.name != self.spared)

        session.extensions.register(contract.QUEUE_SURPLUS, self.name, limit)


class Fails(Spares):
    """A plugin that fails."""

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def fail(_: Task, victims: Sequence[Task]) -> Iterable[Task]:
            raise RuntimeError(len(victims))

        session.extensions.register(contract.QUEUE_SURPLUS, self.name, fail)


def reclaim(action: str, plugin: Any) -> Outcome:
    """Run one action with the plugin in the second tier."""
    return FULL.run("allocate", action, plugins=(("gang", "conformance"), ("predicates", plugin)))


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_later_tier_narrows_what_the_first_one_chose(action: str) -> None:
    """The next victim in order goes instead."""
    assert reclaim(action, Spares()).evictions == ["run-0"]


@pytest.mark.parametrize("action", ["reclaim", "gangreclaim"])
def test_a_plugin_that_fails_spares_all(action: str) -> None:
    """It is named as failed."""
    outcome = reclaim(action, Fails())

    assert outcome.evictions == []
    assert outcome.failed_plugins == ["spares"]
