"""ResizePod: what a pod counts as on its node, in the session, after the bind and after a restart."""

import json
from typing import Any

import numpy as np
import pytest

from pyroclast import Change, Ledger, Session, Task, contract
from pyroclast.model.counted import COUNTED, MOST_RESOURCES
from pyroclast.testing import Outcome, Scenario, open_session
from tests.unit.framework.asking import Saying, always, failing, job_of, session_of, tasks_of

TWO_CPU = Scenario().node("n1", cpu=4).node("n2", cpu=8).job("a", tasks=3, min_available=1, cpu=2)


def resizing(answer: Any) -> Saying:
    """Return a plugin that resizes."""
    return Saying("test", {contract.RESIZE_POD: answer})


def decided(answer: Any, scenario: Scenario = TWO_CPU, **more: Any) -> Outcome:
    """Run allocate with a plugin that resizes."""
    return scenario.run("allocate", plugins=("gang", "predicates", resizing(answer)), **more)


def annotations_of(outcome: Outcome) -> dict[str, Any]:
    """Return the annotation of each bind."""
    binds = [bind for each in outcome.rounds for plan in each.plans for bind in plan.binds]
    return {bind.name: json.loads(bind.annotations.get(COUNTED, "null")) for bind in binds}


def test_pods_count_as_more_where_they_are_placed() -> None:
    """Two CPUs more each: one fits on the small node, and two on the large one."""
    outcome = decided(always({"cpu": 4000}))

    assert sorted(outcome.bindings.values()) == ["n1", "n2", "n2"]
    assert annotations_of(outcome) == {"a-0": {"cpu": "4"}, "a-1": {"cpu": "4"}, "a-2": {"cpu": "4"}}


def test_a_node_without_room_for_it_is_not_tried() -> None:
    """The request alone would fit; the reason says what lacks."""
    outcome = decided(always({"cpu": 5000}))

    assert list(outcome.bindings.values()) == ["n2"]
    assert "2 Insufficient resources for what the pod counts as" in outcome.why_pod("a-1")


@pytest.mark.parametrize("resource", ["example.com/none", ""])
def test_no_node_takes_a_pod_that_counts_as_a_resource_that_none_offers(resource: str) -> None:
    """It waits with the reason, and no plan binds it."""
    outcome = decided(always({resource: 5}))

    assert not outcome.rounds[0].plans
    assert "2 Insufficient resources for what the pod counts as" in outcome.why_pod("a-0")
    assert outcome.warnings == ()


def test_the_largest_amount_of_each_resource_counts_and_never_less_than_the_request() -> None:
    """Plugins are asked in turn."""
    one = Saying("one", {contract.RESIZE_POD: always({"cpu": 1000, "memory": 2**31 * 1000})})
    two = Saying("two", {contract.RESIZE_POD: always({"cpu": 3000})})
    outcome = TWO_CPU.run("allocate", plugins=("gang", "predicates", one, two))

    assert annotations_of(outcome)["a-0"] == {"cpu": "3", "memory": "2Gi"}


@pytest.mark.parametrize("answer", [always(None), always({}), always({"cpu": 1000}), always({"cpu": 2000})])
def test_without_more_nothing_is_written(answer: Any) -> None:
    """The bind is the same as without the plugin."""
    outcome = decided(answer)

    assert set(annotations_of(outcome).values()) == {None}
    assert len(outcome.bindings) == 3


def test_the_amounts_may_depend_on_the_node() -> None:
    """The first node has an overhead for each pod."""

    def overhead(task: Task, column: int) -> Any:
        return {"cpu": task.template.request["cpu"] + 1000} if column == 0 else None

    outcome = decided(overhead)
    written = {node: annotations_of(outcome)[name] for name, node in outcome.bindings.items()}

    assert written == {"n1": {"cpu": "3"}, "n2": None}


def test_the_next_cycle_counts_the_same() -> None:
    """Node and queue, from the annotation of the pod, also for a new scheduler."""
    outcome = decided(always({"cpu": 4000}), cycles=2)
    snapshot = outcome.rounds[1].snapshot
    cpu = snapshot.resources.rows["cpu"]

    assert snapshot.nodes.state[snapshot.nodes.rows.used][cpu].tolist() == [4000, 8000]
    assert snapshot.job_table.allocated[cpu].sum() == 12000


def test_a_running_pod_counts_as_its_annotation_says() -> None:
    """Without the plugin, which may be gone."""
    scenario = Scenario().node("n1", cpu=4).job("old", running_on=("n1",), cpu=1, annotations={COUNTED: '{"cpu": "3"}'})
    outcome = scenario.job("a", tasks=2, min_available=1, cpu=1).run("allocate", plugins=("gang", "predicates"))

    assert len(outcome.bindings) == 1


UNUSABLE = ["", "x", "7", '{"cpu": 2}', '{"cpu": "much"}', '{"cpu": "-9"}', '{"cpu": "100m"}', "[" * 99999]


@pytest.mark.parametrize("text", UNUSABLE)
def test_an_annotation_that_cannot_be_used_has_no_effect(text: str) -> None:
    """Nor one with less than the request."""
    scenario = Scenario().node("n1", cpu=4).job("old", running_on=("n1",), cpu=1, annotations={COUNTED: text})
    outcome = scenario.job("a", tasks=3, min_available=1, cpu=1).run("allocate", plugins=("gang", "predicates"))

    assert len(outcome.bindings) == 3


def test_queues_and_ledgers_count_what_pods_count_as() -> None:
    """The queue's capability ends the placements; the ledger is shown the amounts."""
    amounts: list[int] = []

    class Noting(Ledger):
        def apply(self, change: Change) -> None:
            amounts.append(int(change.amounts[0]))

        def revert(self, change: Change) -> None: ...

    class Registering(Saying):
        def on_session_open(self, session: Session) -> None:
            super().on_session_open(session)
            session.extensions.register_ledger(self.name, Noting())

    scenario = Scenario().queue("q", capability={"cpu": 9}).node("n1", cpu=64)
    scenario = scenario.job("a", queue="q", tasks=4, min_available=1, cpu=2)
    plugin = Registering("test", {contract.RESIZE_POD: always({"cpu": 4000})})
    outcome = scenario.run("allocate", plugins=("gang", "predicates", "capacity", plugin))

    assert len(outcome.bindings) == 2
    assert set(amounts) == {4000}


@pytest.mark.parametrize("verb", ["allocate", "pipeline"])
def test_undoing_a_resized_placement_is_exact(verb: str) -> None:
    """Amounts, tasks and counts are those before."""
    session = session_of(TWO_CPU, ("gang", "predicates", resizing(always({"cpu": 4000}))))
    job, tasks = job_of(session), tasks_of(session)
    state, before = session.nodes.state.copy(), (dict(job.tasks), list(job.counts), job.allocated.copy())
    with session.statement() as statement:
        assert getattr(statement, verb)(job, tasks, [0, 1, 1]) is None
        assert not np.array_equal(session.nodes.state, state)
        assert {task.template.request["cpu"] for task in job.tasks.values()} == {4000}

    assert np.array_equal(session.nodes.state, state)
    assert (dict(job.tasks), list(job.counts)) == before[:2]
    assert np.array_equal(job.allocated, before[2])


def test_a_run_of_which_one_does_not_fit_is_undone_whole() -> None:
    """Two fit on the node by their requests, and one by what they count as."""
    session = session_of(TWO_CPU, ("gang", "predicates", resizing(always({"cpu": 4000}))))
    state = session.nodes.state.copy()
    with session.statement() as statement:
        refusal = statement.allocate(job_of(session), tasks_of(session)[:2], [0, 0])
        assert refusal is not None
        assert refusal.message == "Insufficient cpu for what the pod counts as"
        assert statement.operations == []

    assert np.array_equal(session.nodes.state, state)


def test_capacity_that_waiting_tasks_hold_is_not_given_to_pods_that_count_as_more() -> None:
    """The node is idle, and held for a task that waits there."""
    session = session_of(TWO_CPU, ("gang", "predicates", resizing(always({"cpu": 3000}))))
    job, tasks = job_of(session), tasks_of(session)
    with session.statement() as statement:
        assert statement.pipeline(job, tasks[:1], [0]) is None
        refusal = statement.allocate(job, tasks[1:2], [0])

    assert refusal is not None
    assert refusal.message == "Insufficient cpu for what the pod counts as"


def test_an_eviction_frees_what_the_pod_counts_as() -> None:
    """The annotation of a running pod."""
    scenario = Scenario().node("n1", cpu=4).job("old", running_on=("n1",), cpu=1, annotations={COUNTED: '{"cpu": "3"}'})
    session = open_session(scenario, plugins=("gang", "predicates"))
    with session.statement() as statement:
        statement.evict(job_of(session, "old"), tasks_of(session, "old")[0], "preempt")

        assert int(session.nodes.columns().releasing[0, 0]) == 3000


@pytest.mark.parametrize(
    "answer",
    [
        failing,
        always(7),
        always({"cpu": "much"}),
        always({"cpu": -1.5}),
        always({f"example.com/{number}": 1 for number in range(MOST_RESOURCES + 1)}),
    ],
)
def test_a_plugin_that_fails_places_nothing(answer: Any) -> None:
    """It is named."""
    outcome = decided(answer)

    assert outcome.bindings == {}
    assert outcome.failed_plugins == ["test"]


def test_pods_that_request_nothing_are_not_resized() -> None:
    """They stay best effort."""
    asked: list[Task] = []
    scenario = Scenario().node("n1").job("a", cpu=None)
    plugin = resizing(lambda task, _: asked.append(task))
    outcome = scenario.run("allocate", "backfill", plugins=("gang", "predicates", plugin))

    assert outcome.bindings == {"a-0": "n1"}
    assert asked == []
