"""A predicate over arrays whose reasons have words of the task in them."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from pyroclast import NodeColumns, Plugin, Reason, ReasonArray, Session, Task
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Locality
from pyroclast.testing import Scenario

CLUSTER = Scenario().node("n1").node("n2")


class Naming(Plugin):
    """Refuses the first node with the task's name in the reason."""

    name = "naming"
    watches_clock = False

    def __init__(self, reasons: Callable[[Task], Sequence[Reason]], verdict: int = 1) -> None:
        self.reasons = reasons
        self.verdict = verdict

    def on_session_open(self, session: Session) -> None:
        """Register the predicate."""
        session.extensions.register(
            contract.PREDICATE, self.name, self.verdicts, locality=Locality.FACTS, reasons=self.reasons
        )

    def verdicts(self, _task: Task, columns: NodeColumns) -> ReasonArray:
        """Refuse every node."""
        return np.full(len(columns), self.verdict, dtype=np.uint8)


def why(plugin: Any) -> str:
    """Reason of a job of one task."""
    return CLUSTER.job("train").run("allocate", plugins=("gang", plugin)).why("train")


def named(task: Task) -> list[Reason]:
    """A reason with the name of the first container."""
    return [Reason(f"node(s) without {task.template.spec.containers[0].name}")]


def test_the_reason_is_that_of_the_task() -> None:
    """Counted over nodes like any other."""
    assert "0/2 nodes are unavailable: 2 node(s) without main." in why(Naming(named))


@pytest.mark.parametrize("verdict", [2, 255])
def test_a_verdict_beyond_the_reasons_is_a_failure(verdict: int) -> None:
    """As where reasons are given once."""
    assert "2 plugin naming failed" in why(Naming(named, verdict))


def test_reasons_that_fail_are_the_plugins_failure() -> None:
    """The nodes are refused all the same."""

    def broken(_: Task) -> list[Reason]:
        raise RuntimeError("no words")

    outcome = CLUSTER.job("train").run("allocate", plugins=("gang", Naming(broken)))

    assert "2 plugin naming failed" in outcome.why("train")
    assert outcome.failed_plugins == ["naming"]
