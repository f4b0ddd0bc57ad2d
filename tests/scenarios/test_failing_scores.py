"""A score that fails costs no pod its place: neither one that asks for room nor one that asks for nothing."""

from typing import Any

from pyroclast import Plugin, Session
from pyroclast.framework.extension import contract
from pyroclast.testing import Scenario


class Broken(Plugin):
    """A plugin whose only score fails."""

    name = "broken"

    def on_session_open(self, session: Session) -> None:
        """Register it."""
        session.extensions.register(contract.NODE_ORDER, self.name, self.score)

    def score(self, *_: Any) -> float:
        """Fail."""
        raise RuntimeError("broken")


def test_pods_are_placed_without_the_score() -> None:
    """The result of allocate and of backfill; the plugin is named."""
    outcome = (
        Scenario()
        .node("n")
        .job("heavy")
        .job("light", cpu=None)
        .run("enqueue", "allocate", "backfill", plugins=(("gang", "predicates", Broken()),))
    )

    assert outcome.bindings == {"heavy-0": "n", "light-0": "n"}
    assert outcome.failed_plugins == ["broken"]
