"""The example of docs/actions/shuffle.md."""

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.testing import Scenario
from tests.unit.examples.page import assert_tells

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"name": "budget", "namespace": "default"},
    "spec": {"selector": {"matchLabels": {"app": "a"}}},
    "status": {"disruptionsAllowed": 2},
}


class NamesAll(Plugin):
    """A strategy that names every task it is asked about."""

    name = "names-all"

    def on_session_open(self, session: Session) -> None:
        """Register."""
        session.extensions.register(contract.VICTIM_TASKS, self.name, lambda tasks: tasks)


def gone(most: int) -> list[str]:
    """Which of three pods leave."""
    scenario = Scenario().node("n").running("a", on=["n"] * 3, labels={"app": "a"}).add(BUDGET)
    arguments = {"shuffle": {"maxEvictions": most}}
    return scenario.run("shuffle", plugins=("pdb", NamesAll()), arguments=arguments).evictions


def test_the_page() -> None:
    """The budget allows two, the argument one."""
    assert (gone(0), gone(1)) == (["a-0", "a-1"], ["a-0"])
    assert_tells(
        "actions/shuffle",
        "Three pods that may run alone, all proposed by a strategy, have a disruption budget that allows two: "
        "the first two are evicted; with `maxEvictions: 1` only the first.",
    )
