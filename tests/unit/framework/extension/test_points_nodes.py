"""Points about nodes: each is asked, and its answers combine as `framework/extension/contract.py` says."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from pyroclast import Locality, NodeColumns, NodeView, Reason, Refusal, Session, Task, contract
from pyroclast.testing import Outcome, Scenario
from tests.unit.framework.asking import Saying, always, failing, job_of, session_of, tasks_of

THREE = Scenario().node("n1").node("n2").node("n3").job("a")


def placed(*plugins: Any) -> str | None:
    """Return where the one task goes with these plugins in one tier."""
    return outcome(*plugins).bindings.get("a-0")


def outcome(*plugins: Any) -> Outcome:
    """Run allocate with these plugins in one tier."""
    return THREE.run("allocate", plugins=("gang", *plugins))


def saying(point: Any, function: Any, name: str = "test", **options: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying(name, {point: (function, options)})


def on(name: str) -> Any:
    """Return a function that says True for one node."""
    return lambda _, node: node.name == name


# Predicates -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("permit", [True, None])
@pytest.mark.parametrize(
    ("refuse", "text"),
    [
        (False, "refused by test"),
        ("wrong colour", "wrong colour"),
        (Reason("too far"), "too far"),
        (Refusal(plugin="test", reason="TooOld", message="too old"), "too old"),
        (Refusal(plugin="test", reason="TooOld"), "TooOld"),
    ],
)
def test_predicate_of_a_pair(permit: bool | None, refuse: Any, text: str) -> None:
    """True and None permit; everything else refuses, with its text counted over nodes."""
    plugin = saying(contract.PREDICATE, lambda _, node: permit if node.name == "n2" else refuse)
    session = session_of(THREE, (plugin,))
    (task,) = tasks_of(session)

    assert placed(plugin) == "n2"
    assert session.candidates.explain(task).counts == {text: 2}


def test_predicate_of_a_pair_that_fails() -> None:
    """The exception refuses the node and names the plugin."""
    told = outcome(saying(contract.PREDICATE, failing))

    assert told.bindings == {}
    assert "plugin test failed: RuntimeError: broken" in told.why_pod("a-0")
    assert told.failed_plugins == ["test"]


@pytest.mark.parametrize("locality", list(Locality))
def test_predicate_over_arrays(locality: Locality) -> None:
    """Verdict 0 permits, the n-th verdict is the n-th reason."""

    def verdicts(_: Task, nodes: NodeColumns) -> Any:
        return np.array([{"n1": 1, "n2": 2, "n3": 0}[name] for name in names_of(nodes)], dtype=np.uint8)

    reasons = [Reason("one"), Reason("two", resolvable=False)]
    plugin = saying(contract.PREDICATE, verdicts, locality=locality, reasons=reasons)
    session = session_of(THREE, (plugin,))
    (task,) = tasks_of(session)

    assert placed(plugin) == "n3"
    assert session.candidates.explain(task).counts == {"one": 1, "two": 1}


def names_of(nodes: NodeColumns) -> list[str]:
    """Return the names of the columns of a bundle."""
    return [("n1", "n2", "n3")[index] for index in np.asarray(nodes.index).tolist()]


@pytest.mark.parametrize("locality", list(Locality))
def test_predicate_over_arrays_that_has_nothing_to_say(locality: Locality) -> None:
    """None permits every node."""
    assert placed(saying(contract.PREDICATE, always(None), locality=locality)) == "n1"


@pytest.mark.parametrize("locality", list(Locality))
def test_predicate_over_arrays_that_fails(locality: Locality) -> None:
    """Refuses every node."""
    assert placed(saying(contract.PREDICATE, failing, locality=locality)) is None


def test_a_node_counts_under_the_first_rule_that_refuses_it() -> None:
    """Room first, then plugins in the order of the configuration."""
    small = Scenario().node("n0", cpu=1).node("n1").node("n2").job("a", cpu=4)
    one = saying(contract.PREDICATE, lambda _, node: "first" if node.name != "n2" else None, name="one")
    two = saying(contract.PREDICATE, always("second"), name="two")
    session = session_of(small, (one,), (two,))
    refusal = session.candidates.explain(tasks_of(session)[0])

    assert refusal.counts == {"Insufficient cpu": 1, "first": 1, "second": 1}
    assert refusal.message == "0/3 nodes are unavailable: 1 Insufficient cpu, 1 first, 1 second."


def test_a_global_predicate_is_asked_anew_for_each_task() -> None:
    """It may look at the task itself."""
    plugin = saying(
        contract.PREDICATE,
        lambda task, nodes: np.array([name[-1] != str(int(task.name[-1]) + 1) for name in names_of(nodes)], np.uint8),
        locality=Locality.GLOBAL,
        reasons=[Reason("not yours")],
    )

    assert Scenario().node("n1").node("n2").node("n3").job("a", tasks=3).run(
        "allocate", plugins=("gang", plugin)
    ).bindings == {"a-0": "n1", "a-1": "n2", "a-2": "n3"}


def test_pre_predicate_spares_looking_at_nodes() -> None:
    """A refusal stands for the task; no plugin is asked about nodes."""
    asked: list[str] = []
    refusal = Refusal(plugin="test", reason="NotNow", message="not now")
    plugin = Saying(
        "test",
        {contract.PRE_PREDICATE: always(refusal), contract.PREDICATE: lambda _, node: asked.append(node.name)},
    )

    assert outcome(plugin).why_pod("a-0") == "test: not now"
    assert asked == []


# Scores ---------------------------------------------------------------------------------------------------------------


def test_node_order_of_pairs_adds_up() -> None:
    """Nothing is clamped."""
    one = saying(contract.NODE_ORDER, lambda _, node: {"n1": 500.0, "n2": 300.0}.get(node.name, 0.0), name="one")
    two = saying(contract.NODE_ORDER, lambda _, node: {"n1": -300.0}.get(node.name, 0.0), name="two")

    assert placed(one) == "n1"
    assert placed(one, two) == "n2"


@pytest.mark.parametrize("locality", list(Locality))
def test_node_order_over_arrays(locality: Locality) -> None:
    """One score a column."""

    def scores(_: Task, nodes: NodeColumns) -> Any:
        return np.array([{"n1": 1.0, "n2": 3.0, "n3": 2.0}[name] for name in names_of(nodes)])

    assert placed(saying(contract.NODE_ORDER, scores, locality=locality)) == "n2"


@pytest.mark.parametrize("locality", list(Locality))
def test_node_order_rescaled_over_the_candidates(locality: Locality) -> None:
    """`normalise` sees the raw scores of nodes that fit, and only those."""
    seen: list[list[float]] = []

    def normalise(raw: Any) -> Any:
        seen.append(raw.tolist())
        return raw.max() - raw

    def scores(_: Task, nodes: NodeColumns) -> Any:
        return np.array([{"n1": 1.0, "n2": 3.0, "n3": 2.0}[name] for name in names_of(nodes)])

    not_n1 = saying(contract.PREDICATE, lambda _, node: node.name != "n1", name="not-n1")
    assert placed(not_n1, saying(contract.NODE_ORDER, scores, locality=locality, normalise=normalise)) == "n3"
    assert seen[-1] == [3.0, 2.0]


@pytest.mark.parametrize("locality", [*Locality, None])
def test_node_order_that_fails_adds_nothing(locality: Locality | None) -> None:
    """The others decide, and the plugin is named."""
    other = saying(contract.NODE_ORDER, on("n3"), name="other")
    told = outcome(saying(contract.NODE_ORDER, failing, locality=locality), other)

    assert told.bindings == {"a-0": "n3"}
    assert told.failed_plugins == ["test"]


def test_batch_node_order() -> None:
    """All candidates at once, scores by name; a name left out has 0."""

    def scores(_: Task, nodes: Sequence[NodeView]) -> dict[str, float]:
        return {node.name: 5.0 for node in nodes if node.name == "n2"}

    assert placed(saying(contract.BATCH_NODE_ORDER, scores)) == "n2"


def test_node_map_is_floored_and_reduced() -> None:
    """The reducing half edits the raw scores of the candidates in place."""
    raw: list[dict[str, float]] = []

    def reduce(_: Task, scores: dict[Any, float]) -> None:
        raw.append(dict(scores))
        scores.update({name: 100 - score for name, score in scores.items()})

    plugin = Saying(
        "test",
        {
            contract.NODE_MAP: lambda _, node: {"n1": 2.9, "n2": 1.9, "n3": 2.1}[node.name],
            contract.NODE_REDUCE: reduce,
        },
    )

    assert placed(plugin) == "n2"
    assert raw == [{"n1": 2.0, "n2": 1.0, "n3": 2.0}]


def test_node_map_without_reduce_counts_nothing() -> None:
    """As in Volcano."""
    assert placed(saying(contract.NODE_MAP, on("n3"))) == "n1"


def test_best_node_chooses_among_the_scored() -> None:
    """It sees nodes by score, array scores included, and its word outranks the score."""
    seen: list[dict[float, list[str]]] = []

    def choose(_: Task, by_score: Mapping[float, Sequence[NodeView]]) -> str:
        seen.append({score: [node.name for node in nodes] for score, nodes in by_score.items()})
        return "n3"

    array = saying(
        contract.NODE_ORDER, lambda _, nodes: np.full(len(nodes), 7.0), name="array", locality=Locality.AMOUNTS
    )
    pair = saying(contract.NODE_ORDER, lambda _, node: 1.0 if node.name == "n1" else 0.0, name="pair")

    assert placed(array, pair, saying(contract.BEST_NODE, choose, name="best")) == "n3"
    assert seen == [{8.0: ["n1"], 7.0: ["n2", "n3"]}]


@pytest.mark.parametrize("answer", [None, "n9", "n1"])
def test_best_node_that_names_no_candidate_leaves_it_to_the_score(answer: str | None) -> None:
    """A node that does not exist, or does not fit, is never taken on a plugin's word."""
    not_n1 = saying(contract.PREDICATE, lambda _, node: node.name != "n1", name="not-n1")
    best = saying(contract.BEST_NODE, always(answer), name="best")

    assert placed(not_n1, best, saying(contract.NODE_ORDER, on("n3"), name="score")) == "n3"


def test_best_node_that_fails_leaves_it_to_the_next() -> None:
    """The first that answers decides."""
    broken = saying(contract.BEST_NODE, failing, name="broken")
    second = saying(contract.BEST_NODE, always("n2"), name="second")
    third = saying(contract.BEST_NODE, always("n3"), name="third")

    assert placed(broken, second, third) == "n2"


# Flags and frozen arrays ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "function", "flag"),
    [
        (contract.PREDICATE, on("n3"), "enablePredicate"),
        (contract.PRE_PREDICATE, always(False), "enablePredicate"),
        (contract.NODE_ORDER, on("n3"), "enableNodeOrder"),
        (contract.BEST_NODE, always("n3"), "enableBestNode"),
    ],
)
def test_a_flag_switches_a_function_off(point: Any, function: Any, flag: str) -> None:
    """As if it had never been registered."""
    plugin = Saying("test", {point: function})

    assert placed(plugin) != "n1"
    assert placed({"name": plugin, flag: False}) == "n1"


def test_plugins_cannot_write_to_the_session() -> None:
    """Arrays are write-protected."""

    def write(_: Task, nodes: NodeColumns) -> Any:
        nodes.allocatable[0, 0] = 0

    told = outcome(saying(contract.NODE_ORDER, write, locality=Locality.AMOUNTS))

    assert told.failed_plugins == ["test"]
    assert told.bindings == {"a-0": "n1"}


def test_node_views_are_plain_to_read() -> None:
    """Name, labels, tasks and amounts in thousandths, all as a plugin's author thinks of them."""
    views: list[NodeView] = []

    def look(_: Task, node: NodeView) -> bool:
        views.append(node)
        return True

    scenario = Scenario().node("n1", cpu=4, labels={"zone": "a"}).running("old", on=["n1"], cpu=1).job("a")
    session: Session = session_of(scenario, (saying(contract.PREDICATE, look),))
    session.candidates.of(tasks_of(session)[0]).choose(tasks_of(session)[0])
    (view, *_) = views

    assert (view.name, view.labels["zone"]) == ("n1", "a")
    assert [task.name for task in view.tasks.values()] == ["old-0"]
    assert (view.allocatable["cpu"], view.used["cpu"], view.idle["cpu"], view.future_idle["cpu"]) == (
        4000,
        1000,
        3000,
        3000,
    )
    assert job_of(session).id == "default/a"


# Many at once ---------------------------------------------------------------------------------------------------------


def many(answers: Any) -> Saying:
    """Return a plugin that is asked about many nodes in one go; about single ones it must not be."""
    return saying(contract.PREDICATE, always_failing, many=answers)


def always_failing(_: Task, __: NodeView) -> Any:
    """Fail."""
    raise AssertionError("asked about a single node")


def test_predicate_of_many_pairs() -> None:
    """One call answers about all candidates, each as a single one would be answered about."""
    asked: list[list[str]] = []

    def answers(_: Task, nodes: Sequence[NodeView]) -> list[Any]:
        asked.append([str(node.name) for node in nodes])
        return ["wrong colour", Reason("too far"), None][: len(nodes)]

    session = session_of(THREE, (many(answers),))
    (task,) = tasks_of(session)

    assert session.candidates.explain(task).counts == {"wrong colour": 1, "too far": 1}
    assert placed(many(answers)) == "n3"
    assert asked == [["n1", "n2", "n3"]] * 2


def test_predicate_of_many_pairs_is_asked_about_what_others_leave() -> None:
    """The second plugin is asked about two nodes."""
    asked: list[list[str]] = []

    def answers(_: Task, nodes: Sequence[NodeView]) -> list[Any]:
        asked.append([str(node.name) for node in nodes])
        return [False, True]

    first = saying(contract.PREDICATE, lambda _, node: node.name != "n1", name="first")

    assert placed(first, many(answers)) == "n3"
    assert asked == [["n2", "n3"]]


@pytest.mark.parametrize("answer", [[], [None], [None] * 4, 7, None])
def test_predicate_of_many_pairs_with_another_number_of_answers(answer: Any) -> None:
    """It is a failure, which refuses all."""
    result = outcome(many(lambda *_: answer))

    assert result.bindings == {}
    assert result.failed_plugins == ["test"]


def test_batch_node_order_that_refuses() -> None:
    """The task has no node, and a reason; the others have theirs."""
    refusal = Refusal(plugin="test", reason="NotScored", message="no model of this pod")
    plugin = saying(contract.BATCH_NODE_ORDER, lambda task, _: refusal if task.name == "a-0" else {"n2": 1.0})
    result = THREE.job("b").run("allocate", plugins=("gang", plugin))

    assert result.bindings == {"b-0": "n2"}
    assert "no model of this pod" in result.why("a")
    assert result.failed_plugins == []
