"""What a plugin from outside keeps in a session is its own, and what was promised is not for it to give up."""

from typing import Any, ClassVar

from pyroclast import NodeView, Plugin, Reason, Session, Task, contract
from pyroclast.model.ids import TaskId
from pyroclast.testing import Scenario

CLUSTER = Scenario().node("n1", cpu=2).job("a", tasks=2, cpu=1)
OURS = (("priority", "gang"), ("predicates", "proportion", "nodeorder"))


class Keeper(Plugin):
    """A plugin that keeps values by keys that others use."""

    name: str = "keeper"
    found: ClassVar[dict[str, Any]] = {}

    def on_session_open(self, session: Session) -> None:
        """Keep, and note what is there at the end."""
        session.scratch["mine"] = self.name
        session.scratch["pods"] = None
        session.extensions.on_close(self.name, lambda: self.found.update({self.name: session.scratch.get("mine")}))


class Other(Keeper):
    """Another one."""

    name = "other"


def test_plugins_have_keys_of_their_own() -> None:
    """Neither reads nor replaces what the other keeps, nor what is kept by a key of ours."""
    outcome = CLUSTER.run("enqueue", "allocate", plugins=((Keeper, Other), *OURS))

    assert Keeper.found == {"keeper": "keeper", "other": "other"}
    assert outcome.failed_plugins == []
    assert set(outcome.bindings) == {"a-0", "a-1"}


class GivesUp(Plugin):
    """A plugin that gives up the place of a pod while it is asked."""

    name = "gives-up"

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def forbid(_task: Task, _node: NodeView) -> Reason | None:
            session.held.give_up(TaskId("any"))
            return None

        session.extensions.register(contract.PREDICATE, self.name, forbid)


def test_a_plugin_gives_up_no_place() -> None:
    """It is named, and its predicate refuses."""
    outcome = CLUSTER.run("enqueue", "allocate", plugins=((GivesUp,), *OURS))

    assert outcome.failed_plugins == ["gives-up"]
    assert "give_up" in outcome.why("a")
