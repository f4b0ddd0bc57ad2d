"""Extender: its answers about jobs and queues, and its notifications about the session."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.testing import Scenario, open_session
from tests.unit.plugins.extending import AWAY, URL, Service, arguments, decided, opened

ONE = Scenario().node("n1").job("a")
WAITING = (
    Scenario()
    .queue("default")
    .node("n1")
    .add(
        {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {"minMember": 1, "queue": "default", "minResources": {"cpu": "1"}},
            "status": {"phase": "Pending"},
        }
    )
    .pod("a-0", job="a")
)
"""A job that has to pass the gate of its queue."""


def test_a_queue_that_is_overused_is_passed_over() -> None:
    """Its jobs wait."""
    service = Service(queueOverused=lambda body: {"overused": body["queue"]["Name"] == "full"})
    outcome = decided(ONE.queue("full").job("b", queue="full"), service)

    assert set(outcome.bindings) == {"a-0"}


@pytest.mark.parametrize(("ignorable", "bindings"), [(False, {}), (True, {"a-0": "n1"})])
@pytest.mark.parametrize("verb", ["queueOverused", "jobReady"])
def test_failures(verb: str, ignorable: bool, bindings: Any) -> None:
    """A queue is overused and a job not ready, unless the failure may be ignored."""
    outcome = decided(ONE, Service(**{verb: AWAY}), ignorable=ignorable)

    assert outcome.bindings == bindings
    assert outcome.failed_plugins == ["extender"]


@pytest.mark.parametrize(("reply", "bindings"), [({"status": True}, {"a-0": "n1"}), ({"status": False}, {}), ({}, {})])
def test_a_job_is_ready_when_it_says_so(reply: Any, bindings: Any) -> None:
    """What is missing is false."""
    assert decided(ONE, Service(jobReady=reply)).bindings == bindings


@pytest.mark.parametrize(
    ("reply", "is_admitted"),
    [
        ({"status": 1}, True),
        ({"status": 0}, True),
        ({}, True),
        ({"status": -1}, False),
        ({"status": -7}, False),
        (AWAY, False),
        ({"status": "yes"}, False),
    ],
)
def test_votes_at_the_gate(reply: Any, is_admitted: bool) -> None:
    """A reject and a failure keep a job out; an abstention of all lets it pass."""
    outcome = decided(WAITING, Service(jobEnqueueable=reply), plugins=("gang",))

    assert bool(outcome.bindings) is is_admitted


def test_an_ignorable_failure_is_no_vote() -> None:
    """Neither a veto, nor a permit that would outrank the reject of a later tier."""
    service = Service(jobEnqueueable=AWAY)
    tiers = (("extender",), ("gang", "overcommit"))
    big = WAITING.pod("a-1", job="a", cpu=100)
    group = {**big.objects[2], "spec": {"minMember": 1, "queue": "default", "minResources": {"cpu": "1000"}}}
    full = Scenario(objects=(*big.objects[:2], group, *big.objects[3:]))

    def bindings(answer: Any) -> Any:
        service.answers["jobEnqueueable"] = answer
        return full.run(
            "enqueue",
            "allocate",
            plugins=tiers,
            arguments={"extender": arguments("jobEnqueueable", ignorable=True)},
            outside={"extender": service},
        ).bindings

    assert bindings({"status": 1}) == {"a-0": "n1"}  # a permit of the first tier counts
    assert bindings(AWAY) == {}


def test_it_receives_the_admitted_pods() -> None:
    """Once, with the job."""
    service = Service(jobEnqueued={})
    decided(WAITING, service)

    assert [body["job"]["Name"] for body in service.bodies("jobEnqueued")] == ["a"]


@pytest.mark.parametrize("reply", [AWAY, [], None, "well"])
def test_a_failed_notification_is_reported_and_changes_nothing(reply: Any) -> None:
    """The job has passed."""
    outcome = decided(WAITING, Service(jobEnqueued=reply))

    assert outcome.bindings == {"a-0": "n1"}
    assert outcome.failed_plugins == ["extender"]


# The session ----------------------------------------------------------------------------------------------------------


def test_it_receives_the_cluster_and_the_end_of_the_session() -> None:
    """First and last; what comes back is not read."""
    service = Service(onSessionOpen=None, predicate={}, onSessionClose=None)

    assert decided(ONE, service).bindings == {"a-0": "n1"}
    assert service.verbs() == ["onSessionOpen", "predicate", "onSessionClose"]
    ((_, cluster), _, (_, closing)) = service.asked
    assert {key: sorted(value or ()) for key, value in cluster.items()} == {
        "Jobs": ["default/a"],
        "Nodes": ["n1"],
        "Queues": ["default"],
        "NamespaceInfo": [],
        "RevocableNodes": [],
        "NodeList": [],
    }
    assert cluster["NodeList"] is None
    assert closing == {}
    assert [question.wants_answer for question in service.questions] == [False, True, False]


def test_an_extender_without_the_cluster_refuses_the_cycle() -> None:
    """Every job has the error; no other verb is called but that for the end of the session."""
    service = Service(onSessionOpen=AWAY, predicate={}, queueOverused={}, onSessionClose=None)
    outcome = decided(ONE.job("b"), service, "enqueue", "allocate", "backfill", "preempt", "reclaim", "shuffle")

    assert (outcome.bindings, outcome.evictions) == ({}, [])
    for job in ("a", "b"):
        assert f"failed onSessionOpen with extender at URL {URL}/onSessionOpen: no answer" in outcome.why(job)
    assert service.verbs() == ["onSessionOpen", "onSessionClose"]


def test_no_job_is_admitted_or_moved_then() -> None:
    """No job is admitted, and shuffle evicts nothing."""
    session = opened(ONE.running("old", on=["n1"]), Service(onSessionOpen=AWAY))
    (gate,) = session.extensions.functions(contract.JOB_ENQUEUEABLE)
    (movable,) = session.extensions.functions(contract.MOVABLE)
    (job, *_) = session.jobs.all()

    assert gate.function(job).reason == "ExtenderFailed"
    assert list(movable.function(list(job.tasks.values()))) == []


def test_an_ignorable_failure_at_the_opening_goes_on() -> None:
    """The other verbs are asked."""
    service = Service(onSessionOpen=AWAY, predicate={})

    assert decided(ONE, service, ignorable=True).bindings == {"a-0": "n1"}
    assert service.verbs() == ["onSessionOpen", "predicate"]


def test_a_failure_at_the_end_is_reported() -> None:
    """What was decided stands."""
    outcome = decided(ONE, Service(onSessionClose=AWAY))

    assert outcome.bindings == {"a-0": "n1"}
    assert outcome.failed_plugins == ["extender"]


def test_without_a_client_the_plugin_is_left_out() -> None:
    """As in `simulate`, with a warning."""
    given = {"extender": arguments("predicate")}
    outcome = ONE.run("allocate", plugins=("gang", "extender"), arguments=given)

    assert outcome.bindings == {"a-0": "n1"}
    assert any(f"extenders are not called here, so {URL} is ignored" in warning for warning in outcome.warnings)


def test_several_extenders_stand_under_their_own_names() -> None:
    """Each is asked for its own, and refuses in its own name."""
    quota, racks = Service(queueOverused={"overused": False}), Service(predicate={"status": "drained", "code": 3})
    session = open_session(
        ONE,
        plugins=(
            {"name": "extender", "instance": "quota", "arguments": arguments("queueOverused")},
            {"name": "extender", "instance": "racks", "arguments": arguments("predicate")},
        ),
        outside={"quota": quota, "racks": racks},
    )
    (job,) = session.jobs.with_pending_tasks()
    (task,) = session.jobs.pending_tasks(job)

    assert session.queues.overused(session.queues.by_name[job.queue]) is None
    assert session.candidates.explain(task).plugin == "racks"
    assert (quota.verbs(), racks.verbs()) == (["queueOverused"], ["predicate"])
