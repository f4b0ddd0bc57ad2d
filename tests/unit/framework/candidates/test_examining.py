"""Examining: the tables show the scores that decide, and the rules that refuse."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Locality, NodeColumns, Plugin, Session, Task, contract
from pyroclast.framework.candidates.examining import Examined, examine
from pyroclast.model.arrays import FloatArray
from pyroclast.testing import Scenario, open_session
from tests.unit.framework.asking import Saying, always, failing, tasks_of
from tests.unit.framework.candidates.test_candidates import crowds

PLUGINS: tuple[tuple[Any, ...], ...] = (
    ("predicates",),
    ("predicates", "binpack", "nodeorder"),
    ("predicates", "resource-strategy-fit"),
    ("predicates", "nodeorder", Saying("pair", {contract.NODE_ORDER: lambda _, node: float(len(node.name))})),
    ("predicates", Saying("batch", {contract.BATCH_NODE_ORDER: lambda _, views: {views[-1].name: 7.0}})),
)


def examined(session: Session, task: Task, *, chosen: int | None = None, limit: int = 100) -> Examined:
    """Examine a task of a session."""
    nodes = session.candidates
    return examine(nodes.answers, nodes.of(task), task, chosen=chosen, refusal=None, limit=limit)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(crowds(), st.sampled_from(PLUGINS))
def test_the_best_total_is_the_node_that_is_chosen(scenario: Scenario, plugins: tuple[Any, ...]) -> None:
    """Whatever kinds of scores there are, the first row is the node that the scheduler takes."""
    session = open_session(scenario, plugins=plugins)
    task = tasks_of(session)[0]
    choice = session.candidates.of(task).choose(task)
    found = examined(session, task)

    if choice is None:
        assert found.scores == ()
    else:
        assert found.scores[0].node == session.nodes.table.names[choice.column]
    assert all(row.total == pytest.approx(sum(row.weighted)) for row in found.scores)
    assert sum(rule.count for rule in found.refusals) + sum(
        session.candidates.of(task).allowed & session.candidates.of(task).fits_future
    ) == len(session.nodes)


def test_scores_have_a_column_for_each_plugin_and_part() -> None:
    """A sum of several weighted scores is shown part by part, each with its weight."""
    nodeorder = {"name": "nodeorder", "arguments": {"leastrequested.weight": 2, "mostrequested.weight": 3}}
    session = open_session(
        Scenario().node("n", cpu=8).job("a", cpu=2),
        plugins=("predicates", nodeorder, {"name": "binpack", "arguments": {"binpack.weight": 5}}),
    )
    found = examined(session, tasks_of(session)[0])
    columns = {(column.plugin, column.part): column.weight for column in found.columns}

    assert columns["nodeorder", "least requested"] == 2
    assert columns["nodeorder", "most requested"] == 3
    assert columns["nodeorder", "balanced resources"] == 1
    assert columns["nodeorder", "taints"] == 3
    assert columns["binpack", ""] == 5


def test_every_rule_has_its_nodes() -> None:
    """Each node is under the first rule that refuses it; names are as many as asked for."""
    scenario = Scenario().node("large", cpu=8).job("a", cpu=4)
    for number in range(3):
        scenario = scenario.node(f"small{number}", cpu=2)
    session = open_session(scenario.node("no", cpu=8, labels={"role": "other"}), plugins=("predicates",))
    task = tasks_of(session)[0]
    session.extensions._is_sealed = False
    session.extensions.register(
        contract.PREDICATE, "predicates", lambda _, node: node.labels.get("role") is None, part="by role"
    )
    found = examined(session, task, limit=2)

    by_plugin = {(rule.plugin, rule.reason): rule for rule in found.refusals}
    assert by_plugin["resources", "Insufficient cpu"].nodes == ("small0", "small1")
    assert by_plugin["resources", "Insufficient cpu"].count == 3
    assert by_plugin["predicates", "refused by predicates"].nodes == ("no",)
    assert [row.node for row in found.scores] == ["large"]


def test_another_process_is_not_asked() -> None:
    """Functions that are marked as answered by another process are named and not called."""
    outside = Saying("far", {contract.BATCH_NODE_ORDER: (failing, {"is_outside": True})})
    also = Saying("near", {contract.PREDICATE: (failing, {"is_outside": True})})
    session = open_session(Scenario().node("n").job("a"), plugins=("predicates", outside, also))
    found = examined(session, tasks_of(session)[0])

    assert found.not_asked == ("near", "far")
    assert session.extensions.failures == {}
    assert found.candidate_count == 1


def test_addends_of_a_plugin_are_checked() -> None:
    """Addends of another shape add nothing and are a failure of the plugin; the table has the other plugins."""

    class Odd(Plugin):
        name = "odd"

        def on_session_open(self, session: Session) -> None:
            def scores(_: Task, columns: NodeColumns) -> FloatArray:
                return np.zeros(len(columns))

            session.extensions.register(
                contract.NODE_ORDER,
                self.name,
                scores,
                locality=Locality.NODE,
                addends=always([contract.Addend("x", 1.0, np.zeros(3))]),
            )

    session = open_session(Scenario().node("n").job("a"), plugins=("predicates", "binpack", Odd()))
    found = examined(session, tasks_of(session)[0])

    assert "odd" not in {column.plugin for column in found.columns}
    assert "odd" in session.extensions.failures


def test_mapped_scores_are_shown() -> None:
    """Scores by a pair of functions have one column."""
    maps: dict[Any, Any] = {
        contract.NODE_MAP: lambda _, node: 3.5 if node.name == "b" else 0.0,
        contract.NODE_REDUCE: lambda _, raw: raw.update({name: value * 10 for name, value in raw.items()}),
    }
    session = open_session(Scenario().node("a").node("b").job("a"), plugins=("predicates", Saying("mr", maps)))
    found = examined(session, tasks_of(session)[0])

    assert [(row.node, row.total) for row in found.scores] == [("b", 30.0), ("a", 0.0)]


def test_the_chosen_node_is_always_shown() -> None:
    """A node far down the table, or one that does not even fit, is in it when it is the node of the pod."""
    session = open_session(
        Scenario().node("a", cpu=8).node("b", cpu=8).node("tiny", cpu=1).job("a", cpu=2), plugins=("predicates",)
    )
    task = tasks_of(session)[0]
    column: Mapping[str, int] = session.nodes.table.column  # type: ignore[assignment]  # names as text

    assert [row.node for row in examined(session, task, chosen=column["b"], limit=1).scores] == ["a", "b"]
    assert "tiny" in [row.node for row in examined(session, task, chosen=column["tiny"]).scores]
