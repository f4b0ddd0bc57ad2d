"""NUMA hints and the NUMA plan: a new kind of device takes part in it by a plugin."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pyroclast import Change, Ledger, NumaHint, Plugin, Refusal, Session, Task
from tests.nodenuma import node, pinned, run, status_of

ALIGNED = pinned(node(), "p", 2, numa="SingleNUMANode")


def card(answer: Any, places: list[int | None] | None = None) -> type[Plugin]:
    """A plugin whose only card is in the NUMA nodes of the answer; `places` receives the plan of each placement."""

    class Places(Ledger):
        def __init__(self, session: Session) -> None:
            self._session = session

        def apply(self, change: Change) -> Refusal | None:
            if places is not None:
                places.append(self._session.extensions.numa_plan(change.tasks[0], change.columns[0], in_future=False))
            return None

        def revert(self, change: Change) -> None:
            pass

    class Card(Plugin):
        name = "card"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register_ledger(self.name, Places(session))
            session.extensions.register_numa_hints(self.name, self.hints)

        @staticmethod
        def hints(
            _task: Task, _column: int, nodes: Sequence[int], _in_future: bool
        ) -> Mapping[str, Sequence[NumaHint]] | None:
            assert tuple(nodes) == (0, 1)
            found: Mapping[str, Sequence[NumaHint]] | None = answer() if callable(answer) else answer
            return found

    return Card


@pytest.mark.parametrize("first", [True, False])
def test_a_plugin_gives_hints_and_follows_the_plan(first: bool) -> None:
    """The only card is in the second NUMA node, so the CPUs come from there; both ledgers see the same plan."""
    places: list[int | None] = []
    mine = card({"card": [NumaHint(0b10)]}, places)
    plugins = ("gang", mine, "nodenuma") if first else ("gang", "nodenuma", mine)
    outcome = run(ALIGNED, plugins=plugins)

    assert status_of(outcome)["cpuset"] == "2,6"
    assert set(places) == {0b10}


def test_a_plugin_without_hints_is_no_concern() -> None:
    """None stands for a task that it allocates nothing to."""
    assert status_of(run(ALIGNED, plugins=("gang", card(None), "nodenuma")))["cpuset"] == "0,4"


def test_no_set_of_numa_nodes() -> None:
    """The pod waits with the reason."""
    outcome = run(ALIGNED, plugins=("gang", card({"card": []}), "nodenuma"))

    assert "Insufficient NUMA Scoped Devices" in outcome.why_pod("p-0")


@pytest.mark.parametrize(
    "answer",
    [
        7,
        {"card": 7},
        {"card": [7]},
        {7: []},
        {"card": [NumaHint(0)]},
        {"card": [NumaHint(1 << 64)]},
        {"card": [NumaHint(True)]},
        {"card": [NumaHint(1, score="high")]},  # type: ignore[arg-type]  # what is refused
        {str(number): [] for number in range(65)},
        lambda: 1 / 0,
    ],
)
def test_wrong_hints_are_a_failure_of_the_plugin(answer: Any) -> None:
    """It has no set of NUMA nodes then, and is named."""
    outcome = run(ALIGNED, plugins=("gang", card(answer), "nodenuma"))

    assert outcome.bindings == {}
    assert "Insufficient NUMA Scoped Devices" in outcome.why_pod("p-0")
    assert "card" in outcome.rounds[0].report.failures
