"""Resized pods never overcommit a node, and each cycle counts what the one before has placed, on generated clusters."""

from collections.abc import Mapping

from hypothesis import HealthCheck, given, settings

from pyroclast import Plugin, Session, Task, contract
from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS, clusters


class Overhead(Plugin):
    """Half a CPU more for each pod, and two on nodes with odd columns."""

    name = "overhead"
    watches_clock = False

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def resized(task: Task, column: int) -> Mapping[str, int]:
            return {"cpu": task.template.request.get("cpu", 0) + (2000 if column % 2 else 500)}

        session.extensions.register(contract.RESIZE_POD, self.name, resized)


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_no_node_is_overcommitted_by_what_pods_count_as(scenario: Scenario) -> None:
    """Also after the bind, when the amounts are read from annotations; no plan is refused."""
    outcome = scenario.run(*ACTIONS, "preempt", plugins=((Overhead,), *PLUGINS), cycles=3)
    tables = [each.snapshot.nodes for each in outcome.rounds]

    assert outcome.failed_plugins == []
    assert outcome.warnings == ()
    for table in tables:
        assert (table.state[table.rows.used] <= table.allocatable).all()
