"""Views that change nothing change no decision, on generated clusters."""

from typing import Any

from hypothesis import HealthCheck, given, settings

from pyroclast import Locality, NodeColumns, Plugin, Session, Task, contract
from pyroclast.framework.extension.contract import View
from pyroclast.testing import Scenario
from tests.drawing import examples
from tests.laws.clusters import ACTIONS, PLUGINS, clusters

STAGES = (contract.BEFORE_PRE_FILTER, contract.AFTER_PRE_FILTER, contract.BEFORE_FILTER, contract.BEFORE_SCORE)


def same(task: Task, nodes: NodeColumns | None = None) -> View:
    """Return a view with the parts that the task and the nodes have."""
    view: dict[str, Any] = {
        "labels": dict(task.pod.metadata.labels),
        "spec": task.template.spec,
        "request": task.template.request,
    }
    return View(**view)


def same_nodes(task: Task, nodes: NodeColumns) -> View:
    """Return a view with the amounts and the facts that nodes have."""
    amounts: dict[str, Any] = {name: getattr(nodes, name).copy() for name in ("allocatable", "used", "releasing")}
    return View(spec=task.template.spec, facts=nodes.facts, **amounts)


class Same(Plugin):
    """A plugin whose views change nothing."""

    name = "same"
    watches_clock = False
    locality: Locality | None = None

    def on_session_open(self, session: Session) -> None:
        """Register at all stages."""
        for point in STAGES:
            function: Any = same_nodes if point in STAGES[2:] else same
            session.extensions.register(point, self.name, function, locality=self.locality)


class SameOfEach(Same):
    """The same, about each task itself."""

    locality = Locality.GLOBAL


@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(clusters())
def test_views_that_change_nothing_change_no_decision(scenario: Scenario) -> None:
    """Placements one by one, and by what is asked about changed nodes, are those of the fast way."""
    alone = scenario.run(*ACTIONS, plugins=PLUGINS, cycles=2)
    beside = scenario.run(*ACTIONS, plugins=((Same,), *PLUGINS), cycles=2)
    of_each = scenario.run(*ACTIONS, plugins=((SameOfEach,), *PLUGINS), cycles=2)

    assert beside.failed_plugins == of_each.failed_plugins == []
    assert beside.bindings == of_each.bindings == alone.bindings
