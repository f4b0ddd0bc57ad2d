"""Points that transform what others see: views of tasks and nodes, in the order of calls of Koordinator."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from pyroclast import Locality, NodeColumns, NodeView, Reason, Refusal, Session, SessionJob, Task, TaskId, contract
from pyroclast.framework.extension.contract import View
from pyroclast.model.nodes import NodeFacts
from pyroclast.testing import Outcome, Scenario
from tests.unit.framework.asking import Saying, always, failing, job_of, session_of, tasks_of

THREE = Scenario().node("n1").node("n2", labels={"disk": "ssd"}).node("n3", labels={"disk": "hdd"}).job("a")
NAMES = ("n1", "n2", "n3")
STAGES = [contract.BEFORE_PRE_FILTER, contract.AFTER_PRE_FILTER, contract.BEFORE_FILTER, contract.BEFORE_SCORE]


def saying(point: Any, function: Any, name: str = "test", **options: Any) -> Saying:
    """Return a plugin with one function."""
    return Saying(name, {point: (function, options)})


def outcome(*plugins: Any, scenario: Scenario = THREE, cycles: int = 1) -> Outcome:
    """Run allocate with these plugins in one tier, beside the filters of Kubernetes."""
    return scenario.run("allocate", plugins=("gang", "predicates", *plugins), cycles=cycles)


def selecting(disk: str) -> Any:
    """Return a function with a view of a task that selects nodes of a disk."""
    return lambda task, *_: View(spec=msgspec.structs.replace(task.template.spec, node_selector={"disk": disk}))


def nodes_of(nodes: NodeColumns) -> list[str]:
    """Return the names of some columns."""
    return [NAMES[index] for index in nodes.index.tolist()]


def keeping(*names: str) -> Any:
    """Return a function with a view that keeps some nodes."""
    return lambda _, nodes: View(kept=np.array([name in names for name in nodes_of(nodes)]))


# Order of calls -------------------------------------------------------------------------------------------------------


def test_the_order_of_calls_is_that_of_koordinator() -> None:
    """Each stage is asked before what it transforms."""
    calls: list[str] = []

    def noting(name: str, answer: Any = None) -> Any:
        def note(*_: Any) -> Any:
            if name not in calls:
                calls.append(name)
            return answer

        return note

    points = (
        contract.PRE_PREDICATE,
        contract.AFTER_PRE_FILTER,
        contract.BEFORE_PRE_FILTER,
        contract.BEFORE_FILTER,
        contract.BEFORE_SCORE,
        contract.AFTER_POST_FILTER,
    )
    plugin = Saying(
        "test",
        {
            **{point: noting(point.name) for point in points},
            contract.PREDICATE: (noting("predicate"), {"locality": Locality.FACTS}),
            contract.NODE_ORDER: noting("node_order", 0.0),
        },
    )
    outcome(plugin, scenario=THREE.job("b", tasks=1, cpu=99))

    assert calls == [
        "before_pre_filter",
        "pre_predicate",
        "after_pre_filter",
        "before_filter",
        "predicate",
        "before_score",
        "node_order",
        "after_post_filter",
    ]


# Tasks ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", STAGES[:3])
def test_a_changed_specification_decides_which_nodes_permit(point: Any) -> None:
    """The filters of Kubernetes read the view, in each stage before them."""
    assert outcome(saying(point, selecting("hdd"))).bindings == {"a-0": "n3"}


def test_a_view_before_scores_changes_no_filter() -> None:
    """Only scores read it."""

    def order(task: Task, node: NodeView) -> float:
        return float(task.pod.metadata.labels.get("best") == node.name)

    plugin = Saying("test", {contract.BEFORE_SCORE: lambda *_: View(labels={"best": "n2"}), contract.NODE_ORDER: order})

    assert outcome(saying(contract.BEFORE_SCORE, selecting("hdd"))).bindings == {"a-0": "n1"}
    assert outcome(plugin).bindings == {"a-0": "n2"}


def test_each_function_gets_the_view_of_the_one_before() -> None:
    """In the order of the tiers."""

    def adding(name: str) -> Any:
        return lambda task: View(
            labels={**task.pod.metadata.labels, "by": task.pod.metadata.labels.get("by", "") + name}
        )

    seen: list[str] = []
    last = saying(contract.PRE_PREDICATE, lambda task: seen.append(task.pod.metadata.labels["by"]), "last")
    THREE.run(
        "allocate",
        plugins=(
            ("gang", saying(contract.BEFORE_PRE_FILTER, adding("x"), "one")),
            (saying(contract.BEFORE_PRE_FILTER, adding("y"), "two"), last),
        ),
    )

    assert set(seen) == {"xy"}


def test_the_flag_of_filters_switches_a_stage_off() -> None:
    """`enablePredicate: false` of the plugin."""
    plugin = saying(contract.BEFORE_PRE_FILTER, selecting("hdd"))
    told = THREE.run("allocate", plugins=("gang", "predicates", {"name": plugin, "enablePredicate": False}))

    assert told.bindings == {"a-0": "n1"}


def test_a_refusal_leaves_the_task_without_a_node() -> None:
    """With its reason, before any other function is asked."""
    asked: list[Task] = []
    refusal = Refusal(plugin="test", reason="NotNow", message="not now")
    plugin = Saying("test", {contract.BEFORE_PRE_FILTER: always(refusal), contract.PRE_PREDICATE: asked.append})

    assert outcome(plugin).why_pod("a-0") == "test: not now"
    assert asked == []


@pytest.mark.parametrize("point", STAGES[:3])
def test_a_stage_that_fails_refuses(point: Any) -> None:
    """In the name of its plugin, since filters may depend on it."""
    told = outcome(saying(point, failing))

    assert told.bindings == {}
    assert "plugin test failed" in told.why_pod("a-0")
    assert told.failed_plugins == ["test"]


def test_a_stage_before_scores_that_fails_changes_nothing() -> None:
    """Scores see what they would see without it."""
    told = outcome(saying(contract.BEFORE_SCORE, failing))

    assert told.bindings == {"a-0": "n1"}
    assert told.failed_plugins == ["test"]


def test_the_request_of_the_pod_is_what_counts() -> None:
    """Another request is seen by scores and filters; room, books and queue count that of the pod."""
    seen: list[int] = []
    plugin = Saying(
        "test",
        {
            contract.BEFORE_PRE_FILTER: lambda _: View(request={"cpu": 99_000}),
            contract.PRE_PREDICATE: lambda task: seen.append(task.template.request["cpu"]),
        },
    )
    scenario = Scenario().node("n1", cpu=4).job("a", tasks=2, cpu=2)

    assert outcome(plugin, scenario=scenario).bindings == {"a-0": "n1", "a-1": "n1"}
    assert set(seen) == {99_000}


def test_what_is_bound_is_the_pod() -> None:
    """Ledgers, annotations of the bind and the cluster have the pod's own labels and template."""
    applied: list[Task] = []

    class Noting(contract.Ledger):
        def apply(self, change: contract.Change) -> None:
            applied.extend(change.tasks)

        def revert(self, change: contract.Change) -> None: ...

    class Registering(Saying):
        def on_session_open(self, session: Session) -> None:
            super().on_session_open(session)
            session.extensions.register_ledger(self.name, Noting())

    outcome(Registering("test", {contract.BEFORE_PRE_FILTER: lambda _: View(labels={"x": "y"}, request={"cpu": 1})}))

    assert [(task.pod.metadata.labels.get("x"), task.template.request["cpu"] > 1) for task in applied] == [(None, True)]


# Individual tasks -----------------------------------------------------------------------------------------------------


def by_annotation(task: Task, *_: Any) -> View | None:
    """Select the disk that an annotation of the pod names."""
    disk = task.pod.metadata.annotations.get("disk")
    return (
        None if disk is None else View(spec=msgspec.structs.replace(task.template.spec, node_selector={"disk": disk}))
    )


def individual(*disks: str) -> Scenario:
    """Return a job of equal pods with different annotations."""
    scenario = Scenario().node("n1").node("n2", labels={"disk": "ssd"}).node("n3", labels={"disk": "hdd"})
    scenario = scenario.job("a", tasks=0, min_available=len(disks))
    for number, disk in enumerate(disks):
        scenario = scenario.pod(f"a-{number}", job="a", annotations={"disk": disk} if disk else {})
    return scenario


@pytest.mark.parametrize("point", STAGES[:3])
def test_a_function_may_look_at_the_task_itself(point: Any) -> None:
    """With locality `GLOBAL`: pods of one template are seen in several ways."""
    plugin = saying(point, by_annotation, locality=Locality.GLOBAL)

    assert outcome(plugin, scenario=individual("hdd", "", "ssd")).bindings == {"a-0": "n3", "a-1": "n1", "a-2": "n2"}


def test_functions_that_do_not_care_are_not_asked() -> None:
    """Selected by the option `cares`."""
    asked: list[str] = []

    def noting(task: Task) -> None:
        asked.append(task.name)

    plugin = saying(
        contract.BEFORE_PRE_FILTER, noting, locality=Locality.GLOBAL, cares=lambda task: task.name.endswith("1")
    )
    outcome(plugin, scenario=individual("", ""))

    assert asked == ["a-1"]


def test_a_task_that_waits_does_not_speak_for_its_like() -> None:
    """A job of the same template is tried although the first one found no node, also in later cycles."""
    plugin = saying(contract.BEFORE_PRE_FILTER, by_annotation, locality=Locality.GLOBAL)
    scenario = individual("nowhere").job("b", tasks=0, min_available=1).pod("b-0", job="b", annotations={"disk": "hdd"})
    told = outcome(plugin, scenario=scenario, cycles=2)

    assert told.bindings == {"b-0": "n3"}
    assert told.why_pod("a-0").endswith("3 node(s) didn't match Pod's node affinity/selector.")


def test_a_waiting_job_is_tried_when_a_node_appears_that_its_view_selects() -> None:
    """What was refused in the last cycle is judged by the view of this one."""
    plugin = saying(contract.BEFORE_PRE_FILTER, selecting("tape"))
    later = THREE.node("n4", labels={"disk": "tape"})
    told = THREE.run("allocate", plugins=("gang", "predicates", plugin), cycles=3, later={3: later})

    assert told.bindings == {"a-0": "n4"}


@pytest.mark.parametrize("point", STAGES[:3])
def test_a_waiting_job_is_tried_when_its_view_changes(point: Any) -> None:
    """The nodes are the same ones: the view follows from another object of the cluster, a queue."""

    def selected(task: Task, *_: Any) -> View | None:
        return selecting("tape")(task) if len(queues) < 3 else None

    class Following(Saying):
        def on_session_open(self, session: Session) -> None:
            queues[:] = session.snapshot.queues
            super().on_session_open(session)

    queues: list[str] = []
    plugins = ("gang", "predicates", Following("test", {point: selected}))
    told = THREE.run("allocate", plugins=plugins, cycles=4, later={3: THREE.queue("more").queue("most")})

    assert told.bindings == {"a-0": "n1"}


# Nodes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("point", [contract.AFTER_PRE_FILTER, contract.BEFORE_SCORE])
def test_nodes_that_are_not_kept_are_left_out(point: Any) -> None:
    """The others are counted under the plugin's reason, or one that names it."""
    only = saying(point, keeping("n3"))
    none = saying(point, keeping(), reasons=[Reason("node(s) too far")])

    assert outcome(only).bindings == {"a-0": "n3"}
    assert outcome(none).why_pod("a-0").endswith("0/3 nodes are unavailable: 3 node(s) too far.")
    assert "3 node(s) left out by test" in outcome(saying(point, keeping())).why_pod("a-0")


def test_kept_nodes_hold_for_each_task_itself() -> None:
    """With locality `GLOBAL`."""

    def keep(task: Task, nodes: NodeColumns) -> View:
        return View(kept=np.array([name[-1] == str(3 - int(task.name[-1])) for name in nodes_of(nodes)]))

    plugin = saying(contract.AFTER_PRE_FILTER, keep, locality=Locality.GLOBAL)

    assert outcome(plugin, scenario=individual("", "", "")).bindings == {"a-0": "n3", "a-1": "n2", "a-2": "n1"}


def relabelled(session: Session, **labels: Mapping[str, str]) -> NodeFacts:
    """Return facts of the nodes with other labels."""
    return NodeFacts(
        nodes=tuple(
            replace(node, labels=labels[node.name]) if node.name in labels else node
            for node in session.nodes.facts.nodes
        )
    )


@pytest.mark.parametrize("locality", [None, Locality.FACTS, Locality.GLOBAL])
def test_predicates_see_other_labels_of_nodes(locality: Locality | None) -> None:
    """Those of Kubernetes, and functions of one task and one node; the nodes stay as they are."""

    class Relabelling(Saying):
        def on_session_open(self, session: Session) -> None:
            facts = relabelled(session, n1={"disk": "hdd"}, n3={})
            view = View(facts=facts)
            session.extensions.register(contract.BEFORE_FILTER, self.name, always(view), locality=locality)
            super().on_session_open(session)

    def predicate(_: Task, node: NodeView) -> bool:
        return node.labels.get("disk") == "hdd"

    scenario = Scenario().node("n1").node("n2").node("n3", labels={"disk": "hdd"})
    asking = scenario.job("a")
    pairs = Relabelling("test", {contract.PREDICATE: predicate})
    spec = Relabelling("test", {contract.BEFORE_PRE_FILTER: selecting("hdd")})
    session = session_of(asking, (pairs,))

    assert outcome(pairs, scenario=asking).bindings == {"a-0": "n1"}
    assert outcome(spec, scenario=asking).bindings == {"a-0": "n1"}
    assert "disk" not in session.nodes.view(0).labels


@pytest.mark.parametrize("locality", [None, Locality.AMOUNTS, Locality.GLOBAL])
def test_predicates_see_other_amounts_and_placements_touch_them(locality: Locality | None) -> None:
    """A view of half the nodes' capacity is taken anew of the nodes that tasks were placed on."""
    cpu = 0

    def half(_: Task, nodes: NodeColumns) -> View:
        allocatable = nodes.allocatable.copy()
        allocatable[cpu] //= 2
        return View(allocatable=allocatable)

    def enough(task: Task, nodes: NodeColumns) -> Any:
        return (nodes.idle[cpu] < task.template.request["cpu"]).astype(np.uint8)

    plugin = Saying(
        "test",
        {
            contract.BEFORE_FILTER: (half, {"locality": locality}),
            contract.PREDICATE: (enough, {"locality": Locality.AMOUNTS, "reasons": [Reason("too full")]}),
        },
    )
    scenario = Scenario().node("n1", cpu=8).node("n2", cpu=4).job("a", tasks=8, min_available=1, cpu=1)
    told = outcome(plugin, scenario=scenario)

    assert sorted(told.bindings.values()) == ["n1"] * 4 + ["n2"] * 2
    assert "2 too full" in told.why_pod("a-7")


def test_scores_see_other_amounts() -> None:
    """The node that a view shows as empty is preferred; the books still count what runs there."""

    def emptied(_: Task, nodes: NodeColumns) -> View:
        used = nodes.used.copy()
        used[:, nodes.index == 1] = 0
        return View(used=used)

    def free(_: Task, nodes: NodeColumns) -> Any:
        return nodes.idle[0].astype(np.float64)

    plugin = Saying(
        "test", {contract.BEFORE_SCORE: emptied, contract.NODE_ORDER: (free, {"locality": Locality.AMOUNTS})}
    )
    scenario = Scenario().node("n1", cpu=6).node("n2", cpu=8).running("r", on=["n2"], cpu=4).job("a", tasks=1, cpu=1)

    assert outcome(plugin, scenario=scenario).bindings == {"a-0": "n2"}
    assert outcome(saying(contract.NODE_ORDER, free, locality=Locality.AMOUNTS), scenario=scenario).bindings == {
        "a-0": "n1"
    }


def test_runs_of_equal_tasks_without_a_view_are_placed_in_one_call() -> None:
    """A function that leaves all nodes of a template as they are is not asked about it again."""
    asked: list[int] = []

    def nothing(_: Task, nodes: NodeColumns) -> None:
        asked.append(len(nodes))

    outcome(saying(contract.BEFORE_FILTER, nothing), scenario=Scenario().node("n1").node("n2").job("a", tasks=9, cpu=1))

    assert asked == [2]


# After all actions ----------------------------------------------------------------------------------------------------


def test_jobs_that_no_action_placed_are_shown_with_their_refusals() -> None:
    """Jobs that were placed are not shown."""
    shown: dict[str, list[str]] = {}

    def show(job: SessionJob, refusals: Mapping[TaskId, Refusal]) -> None:
        shown[job.id] = sorted(each.message for each in refusals.values())

    plugin = saying(contract.AFTER_POST_FILTER, show)
    told = outcome(plugin, scenario=THREE.job("b", tasks=2, cpu=8))

    assert told.bindings == {"a-0": "n1", "b-0": "n2", "b-1": "n3"}
    assert shown == {}

    outcome(plugin, scenario=THREE.job("b", tasks=4, cpu=8))

    assert shown == {"default/b": ["0/3 nodes are unavailable: 3 Insufficient cpu."] * 2}


def test_a_function_that_fails_after_all_actions_is_named() -> None:
    """The plans stand."""
    told = outcome(saying(contract.AFTER_POST_FILTER, failing), scenario=THREE.job("b", tasks=1, cpu=99))

    assert told.bindings == {"a-0": "n1"}
    assert told.failed_plugins == ["test"]


def test_a_function_that_looks_at_each_task_is_asked_again_after_other_placements() -> None:
    """It left all nodes as they are at first; now it shows the node with a pod without CPUs."""

    def without_pods(_: Task, nodes: NodeColumns) -> View | None:
        used = nodes.used[0] > 0
        return View(allocatable=np.where(used, 0, nodes.allocatable)) if used.any() else None

    def has_cpus(_: Task, nodes: NodeColumns) -> Any:
        return (nodes.allocatable[0] == 0).astype(np.uint8)

    plugin = Saying(
        "test",
        {
            contract.BEFORE_FILTER: (without_pods, {"locality": Locality.GLOBAL}),
            contract.PREDICATE: (has_cpus, {"locality": Locality.GLOBAL}),
        },
    )
    session = session_of(THREE.job("b"), ("gang", "predicates", plugin))
    (first,), (second,) = tasks_of(session, "a"), tasks_of(session, "b")

    def choose() -> int:
        choice = session.candidates.of(second).choose(second, None)
        assert choice is not None
        return choice.column

    assert choose() == 0
    with session.statement() as statement:
        assert statement.allocate(job_of(session, "a"), [first], [0]) is None
        assert choose() == 1
    assert choose() == 0


# Without cost ---------------------------------------------------------------------------------------------------------


def test_without_such_functions_tasks_are_seen_as_they_are() -> None:
    """The task and the columns themselves are handed on."""
    session = session_of(THREE, (saying(contract.PREDICATE, always(None)),))
    (task,) = tasks_of(session)
    views = session.candidates.answers.views

    assert not views.is_active
    assert views.late(task) is task
    assert session.candidates.number(task) == task.template.number
    assert job_of(session).tasks[task.id] is task
