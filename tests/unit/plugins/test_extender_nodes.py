"""Extender: what it says of nodes, one at a time, many at once, and as scores."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.outside import Answer
from pyroclast.scheduler.recording.recorder import encode
from pyroclast.testing import Scenario
from tests.unit.plugins.extending import AWAY, URL, Service, decided, opened

THREE = Scenario().node("n1").node("n2").node("n3").job("a")


def veto(name: str, status: str = "rack drained", code: int = 3) -> Any:
    """Return who permits all nodes but one."""
    return lambda body: {"status": status, "code": code} if body["node"]["Name"] == name else {"status": "", "code": 0}


def veto_many(name: str, status: str = "rack drained", code: int = 3) -> Any:
    """The same of many at once."""
    return lambda _: {"verdicts": {name: {"status": status, "code": code}}}


def test_a_node_that_is_vetoed_is_not_taken() -> None:
    """The first node is given to no pod, and each node was asked about once."""
    service = Service(predicate=veto("n1"))

    assert decided(THREE, service).bindings == {"a-0": "n2"}
    assert [body["node"]["Name"] for body in service.bodies("predicate")] == ["n1", "n2", "n3"]
    assert {body["task"]["Name"] for body in service.bodies("predicate")} == {"a-0"}


@pytest.mark.parametrize(
    ("reply", "text", "resolvable"),
    [
        ({"status": "busy", "code": 2}, "busy", True),
        ({"status": "never", "code": 3}, "never", False),
        ({"status": "oops"}, "oops", False),
        ({"status": "oops", "code": 0}, "oops", False),
        ({"status": "strange", "code": 77}, "strange", False),
    ],
)
def test_codes(reply: Any, text: str, resolvable: bool) -> None:
    """Evictions may help against code 2 alone; a text without a code is an error."""
    session = opened(THREE, Service(predicate=reply))
    (job,) = session.jobs.with_pending_tasks()
    (task,) = session.jobs.pending_tasks(job)
    refusal = session.candidates.explain(task)

    assert refusal.counts == {text: 3}
    assert refusal.resolvable is resolvable


@pytest.mark.parametrize("reply", [{}, {"status": None, "code": None}, {"status": "", "code": 3}, {"more": [1]}])
def test_an_empty_status_permits(reply: Any) -> None:
    """Whatever the code, and whatever else stands there."""
    assert decided(THREE, Service(predicate=reply)).bindings == {"a-0": "n1"}


def test_many_nodes_are_asked_about_in_one_call() -> None:
    """One call for the task, with all its candidates."""
    service = Service(batchPredicate=veto_many("n1"))

    assert decided(THREE, service).bindings == {"a-0": "n2"}
    assert [[node["Name"] for node in body["nodes"]] for body in service.bodies("batchPredicate")] == [
        ["n1", "n2", "n3"]
    ]


def test_the_batch_goes_before_single_questions() -> None:
    """Where both verbs are set the single one is not asked."""
    service = Service(batchPredicate=veto_many("n1"), predicate=veto("n2"))

    outcome = decided(THREE, service)

    assert outcome.bindings == {"a-0": "n2"}
    assert set(service.verbs()) == {"batchPredicate"}
    assert any("extender.predicateVerb: has no effect" in warning for warning in outcome.warnings)


def test_a_batch_that_fails_as_a_whole_refuses_all() -> None:
    """With its words."""
    outcome = decided(THREE, Service(batchPredicate={"errorMessage": "no inventory"}))

    assert outcome.bindings == {}
    assert "3 no inventory" in outcome.why("a")


def test_verdicts_about_other_nodes_are_reported_and_ignored() -> None:
    """The task goes where it may."""
    outcome = decided(THREE, Service(batchPredicate=veto_many("n99")))

    assert outcome.bindings == {"a-0": "n1"}
    assert any("batchPredicate names nodes that were not asked about: n99" in each for each in outcome.warnings)


@pytest.mark.parametrize("verb", ["predicate", "batchPredicate"])
def test_a_failure_refuses_every_node(verb: str) -> None:
    """With the error; evictions may help, because it may be over by then."""
    outcome = decided(THREE, Service(**{verb: AWAY}))

    assert outcome.bindings == {}
    assert f"failed {verb} with extender at URL {URL}/{verb}: no answer: connection refused" in outcome.why("a")
    assert outcome.failed_plugins == ["extender"]


@pytest.mark.parametrize("verb", ["predicate", "batchPredicate"])
def test_an_ignorable_failure_permits(verb: str) -> None:
    """It is notified all the same."""
    outcome = decided(THREE, Service(**{verb: AWAY}), ignorable=True)

    assert outcome.bindings == {"a-0": "n1"}
    assert outcome.failed_plugins == ["extender"]


def test_three_failures_disable_a_plugin_for_the_cycle() -> None:
    """Each question could cost the whole timeout; the answer stays the last failure."""
    service = Service(predicate=AWAY)

    assert decided(THREE.node("n4").node("n5").job("b"), service).bindings == {}
    assert len(service.asked) == 3


def test_answers_of_the_wrong_shape_are_failures_as_well() -> None:
    """They stand in a row with others, though something came back."""
    replies = iter([{"status": 7}, AWAY, {"status": 7}])
    service = Service(predicate=lambda _: next(replies))

    assert decided(THREE.node("n4").node("n5").job("b"), service).bindings == {}
    assert len(service.asked) == 3


def test_an_answer_ends_the_row_of_failures() -> None:
    """Two of three fail, all the time: it is asked about all pods."""
    number = iter(range(100))
    service = Service(predicate=lambda _: {} if next(number) % 3 == 2 else AWAY)

    assert decided(THREE.node("n4").node("n5"), service).bindings == {"a-0": "n3"}
    assert len(service.asked) == 5


def test_scores_choose() -> None:
    """They are asked for once, of all candidates, and add to others."""
    service = Service(prioritize={"nodeScore": {"n1": 1, "n2": 2.5, "n3": 0}, "errorMessage": ""})

    assert decided(THREE, service).bindings == {"a-0": "n2"}
    assert [[node["Name"] for node in body["nodes"]] for body in service.bodies("prioritize")] == [["n1", "n2", "n3"]]


def test_nodes_without_a_score_have_none() -> None:
    """They count 0."""
    assert decided(THREE, Service(prioritize={"nodeScore": {"n1": -1}})).bindings == {"a-0": "n2"}


def test_scores_of_unknown_nodes_are_named_and_count_for_nothing() -> None:
    """The others count."""
    outcome = decided(THREE, Service(prioritize={"nodeScore": {"n99": 100, "n3": 1}}))

    assert outcome.bindings == {"a-0": "n3"}
    assert any("prioritize names nodes that were not asked about: n99" in each for each in outcome.warnings)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ({"nodeScore": {"n1": 1}, "errorMessage": "no model"}, "no model"),
        ({"nodeScore": None}, "extender gave no scores"),
        ({}, "extender gave no scores"),
        (AWAY, f"failed prioritize with extender at URL {URL}/prioritize: no answer"),
        ({"nodeScore": {"n1": "much"}}, "an answer of the wrong shape"),
    ],
)
def test_without_scores_no_node_is_chosen(reply: Any, text: str) -> None:
    """The task waits and says why."""
    outcome = decided(THREE, Service(prioritize=reply))

    assert outcome.bindings == {}
    assert "nodes cannot be compared" in outcome.why("a")
    assert text in outcome.why("a")


FULL = Scenario().node("n1", cpu=2).node("n2", cpu=2).running("old", on=["n1", "n1", "n2", "n2"], min_available=1)


@pytest.mark.parametrize(
    ("reply", "victims"), [({"errorMessage": "no model"}, []), ({"nodeScore": {"n2": 1}}, ["old-3"])]
)
def test_without_scores_no_pod_is_evicted(reply: Any, victims: list[str]) -> None:
    """Evictions make no room on a node that would not be chosen."""
    service = Service(prioritize=reply, preemptable=lambda body: {"status": 1, "victims": body["evictees"]})

    outcome = decided(FULL.job("new", priority=100), service, "allocate", "preempt")

    assert outcome.evictions == victims
    assert ("no model" in outcome.why("new")) is (not victims)


def test_an_ignorable_failure_adds_no_scores() -> None:
    """The lowest name wins, as without an extender."""
    assert decided(THREE, Service(prioritize=AWAY), ignorable=True).bindings == {"a-0": "n1"}


def test_scores_that_fail_once_are_asked_for_again() -> None:
    """The refusal of one attempt is not that of the next."""
    replies = iter([AWAY, Answer(value={"nodeScore": {"n2": 1}})])
    session = opened(THREE, Service(prioritize=lambda _: next(replies)))
    (job,) = session.jobs.with_pending_tasks()
    (task,) = session.jobs.pending_tasks(job)

    assert session.candidates.of(task).choose(task) is None
    assert session.candidates.explain(task).reason == "NotScored"
    choice = session.candidates.of(task).choose(task)
    assert choice is not None
    assert session.nodes.table.names[choice.column] == "n2"
    assert session.candidates.explain(task).reason != "NotScored"


def test_one_candidate_needs_no_scores() -> None:
    """No extender is called."""
    service = Service(prioritize=AWAY)

    assert decided(Scenario().node("n1").job("a"), service).bindings == {"a-0": "n1"}
    assert service.asked == []


def test_managed_resources() -> None:
    """Pods without its resources run anywhere, and it is not called."""
    two = Scenario().node("n1", gpu=8).node("n2", gpu=8).job("plain").job("gpu", gpu=1)
    service = Service(predicate=veto("n1"), prioritize={"nodeScore": {}})

    outcome = decided(two, service, managedResources=["nvidia.com/gpu"])

    assert outcome.bindings == {"plain-0": "n1", "gpu-0": "n2"}
    assert {body["task"]["Name"] for _, body in service.asked} == {"gpu-0"}


@pytest.mark.parametrize(
    ("spec", "is_concerned"),
    [
        ({"containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}, True),
        ({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}, True),
        ({"containers": [{}], "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]}, True),
        ({"containers": [{}], "initContainers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}]}, True),
        ({"containers": [{"resources": {"requests": {"cpu": "1"}}}]}, False),
    ],
)
def test_managed_pods(spec: Any, is_concerned: bool) -> None:
    """Requests and limits of containers and of init containers."""
    scenario = Scenario().node("n1", gpu=1).job("a", tasks=0).pod("p", job="a", spec=spec)
    service = Service(predicate={})
    session = opened(scenario, service, managedResources=["nvidia.com/gpu"])
    (function,) = session.extensions.functions(contract.PREDICATE)
    (job,) = session.jobs.with_pending_tasks()
    (task,) = session.jobs.pending_tasks(job)

    assert function.function(task, session.nodes.view(0)) is None
    assert bool(service.asked) is is_concerned


@pytest.mark.parametrize(
    "service",
    [
        Service(predicate={"status": "x" * 9_000_000, "code": 3}),
        Service(batchPredicate={"errorMessage": "x" * 9_000_000}),
        Service(prioritize={"errorMessage": "x" * 9_000_000}),
        Service(allocateFunc={"errorMessage": "x" * 9_000_000}),
    ],
    ids=["status", "error of many", "error of scores", "error of an event"],
)
def test_long_texts_are_shortened(service: Service) -> None:
    """Before they are kept or written, whatever they come with."""
    outcome = decided(THREE, service)

    assert outcome.bindings == {}
    assert "xxx" in outcome.why_pod("a-0")
    assert len(encode(outcome.report)) < 20_000
