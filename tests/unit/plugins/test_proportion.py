"""Proportion in a session: worked numbers of docs/plugins/proportion.md."""

from collections.abc import Mapping
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Vote
from pyroclast.model import wire
from pyroclast.model.ids import JobId, QueueName
from pyroclast.model.refusals import Refusal
from pyroclast.plugins.proportion.plugin import Division
from pyroclast.testing import Scenario, open_session
from tests.unit.plugins.policies import GIB, World, acted, bound, group, node, opened, pod, queue


def held(name: str, own: str, pods: int = 1, cpu: str = "1", memory: str = "1Gi", **more: Any) -> list[Any]:
    """A group in a queue with running pods."""
    return [
        group(name, queue=own, **more),
        *(pod(f"{name}{index}", job=name, on="n", cpu=cpu, memory=memory) for index in range(pods)),
    ]


def wanted(name: str, own: str, pods: int = 1, cpu: str = "1", memory: str = "1Gi", **more: Any) -> list[Any]:
    """A group in a queue with pending pods."""
    return [
        group(name, queue=own, **more),
        *(pod(f"{name}{index}", job=name, cpu=cpu, memory=memory) for index in range(pods)),
    ]


def world(*objects: Any, cpu: str = "10", memory: str = "10Gi", actions: str = "enqueue, allocate") -> World:
    """A session with proportion alone, on one node."""
    return opened(node("n", cpu=cpu, memory=memory), *objects, plugins=["proportion"], actions=actions)


def division(there: World) -> Division:
    """What the plugin keeps."""
    made = there.function(contract.QUEUE_ORDER).function.__self__
    assert isinstance(made, Division)
    return made


def book(there: World, name: str) -> Any:
    """What the plugin counts for a queue."""
    return division(there).usage[there.queue(name).name]


def deserved(there: World, resource: str = "cpu") -> dict[str, float]:
    """What each queue deserves of a resource."""
    row = there.session.resources.rows[resource]
    return {str(name): float(each.deserved[row]) for name, each in division(there).usage.items()}


def ask(there: World, name: str) -> Vote | Refusal:
    """What the plugin says of a group at the gate."""
    answer: Vote | Refusal = there.function(contract.JOB_ENQUEUEABLE).function(there.job(name))
    return answer


# Division -------------------------------------------------------------------------------------------------------------


def test_weights_divide_what_is_asked_for() -> None:
    """1 and 3 of 10 CPU, the second asks for 4: 6 and 4; memory 2 and 4."""
    there = world(
        queue("q1", weight=1),
        queue("q2", weight=3),
        *wanted("a", "q1", 8, memory="256Mi"),
        *wanted("b", "q2", 4),
    )

    assert deserved(there) == {"q1": 6000, "q2": 4000}
    assert deserved(there, "memory") == {"q1": 2 * GIB, "q2": 4 * GIB}


@pytest.mark.parametrize(("capability", "second"), [({}, 6000), ({"cpu": "3"}, 3000)])
def test_guarantee_and_capability(capability: Mapping[str, str], second: float) -> None:
    """4 CPU guaranteed to the first, which requests 2: 4000 and 6000; with a capability of 3 for the second 3000."""
    there = world(
        queue("q1", guarantee={"cpu": "4"}),
        queue("q2", capability=capability),
        *wanted("a", "q1", 2),
        *wanted("b", "q2", 9),
    )

    assert deserved(there) == {"q1": 4000, "q2": second}


def test_guarantees_of_queues_without_jobs_are_kept_free() -> None:
    """4 of 10 CPU for a queue that has nothing to run."""
    there = world(queue("q1", guarantee={"cpu": "4"}), queue("q2"), *wanted("b", "q2", 9))

    assert deserved(there)["q2"] == 6000


def test_running_and_pending_pods_are_asked_for_finished_ones_are_not() -> None:
    """Two run, one is pending, one succeeded and one is leaving."""
    there = world(
        queue("q"),
        *held("a", "q", 2),
        pod("p", job="a"),
        pod("s", job="a", on="n", phase="Succeeded"),
        pod("l", job="a", on="n", leaving=True),
    )

    assert book(there, "q").request[0] == 3000
    assert book(there, "q").allocated[0] == 2000


@pytest.mark.parametrize("capability", [{"cpu": "0", "memory": "1Gi"}, {"memory": "1Gi"}])
def test_a_capability_of_no_cpu_means_any(capability: Mapping[str, str]) -> None:
    """Zero and absent alike, as in Volcano; memory is held to."""
    there = world(queue("q", capability=capability), *wanted("a", "q", 9))

    assert deserved(there)["q"] == 9000
    assert deserved(there, "memory")["q"] == GIB


def test_a_capability_of_no_devices_forbids_them() -> None:
    """Zero of another resource is zero."""
    there = opened(
        node("n", gpu="8"),
        queue("q", capability={"nvidia.com/gpu": "0"}),
        group("a", queue="q"),
        pod("p", job="a", gpu="1"),
        plugins=["proportion"],
    )

    assert deserved(there, "nvidia.com/gpu")["q"] == 0
    assert there.session.queues.allocatable(there.queue("q"), there.task("p")) is not None


# Orders and limits ----------------------------------------------------------------------------------------------------


def test_queues_by_priority_then_by_share() -> None:
    """The share is the largest part of what is deserved that is used."""
    there = world(
        queue("high", priority=5),
        queue("idle"),
        queue("busy"),
        *held("a", "high", 2),
        *wanted("a2", "high"),
        *wanted("b", "idle", 2),
        *held("c", "busy", 1),
        *wanted("c2", "busy", 1),
    )
    ordered = sorted((there.queue(name) for name in ("busy", "idle", "high")), key=there.session.queues.order_key)

    assert [each.name for each in ordered] == ["high", "idle", "busy"]
    assert book(there, "busy").share == 0.5


def test_a_queue_is_overused_when_it_has_all_it_deserves_of_everything() -> None:
    """2 CPU and 4 GiB deserved: with 2 CPU and 2 GiB not yet, with 4 GiB it is."""
    short = world(queue("q"), *held("a", "q", 2, memory="1Gi"), pod("p", job="a", cpu="", memory="2Gi"), cpu="2")
    full = world(queue("q"), *held("a", "q", 2, memory="2Gi"), cpu="2")

    assert deserved(short) == {"q": 2000}
    assert short.session.queues.overused(short.queue("q")) is None
    refusal = full.session.queues.overused(full.queue("q"))
    assert refusal is not None
    assert (refusal.plugin, refusal.reason) == ("proportion", "QueueOverused")
    assert refusal.message == "queue q has all that it deserves: cpu 2, memory 4Gi, pods 2"


def test_a_queue_that_deserves_nothing_is_overused() -> None:
    """So is one without jobs."""
    there = world(queue("q", weight=0), queue("empty"), *wanted("a", "q"))

    assert there.session.queues.overused(there.queue("q")) is not None
    assert there.session.queues.overused(there.queue("empty")) is not None
    assert there.session.queues.order_key(there.queue("empty"))[:1] == ((0, 0.0),)


def test_a_task_beyond_the_deserved_is_refused_by_name() -> None:
    """Strictly, in what the task asks for; 5 of 10 CPU each."""
    there = world(
        queue("q1"),
        queue("q2"),
        *held("a", "q1", 5),
        *wanted("b", "q1", 3, memory=""),
        *wanted("c", "q2", 9),
        pod("none", job="b", cpu="", memory=""),
    )
    own = there.queue("q1")
    refusal = there.session.queues.allocatable(own, there.task("b0"))

    assert refusal is not None
    assert refusal.message == "queue q1 would exceed its deserved amount of cpu"
    assert there.session.queues.allocatable(own, there.task("none")) is None
    assert there.session.queues.allocatable(there.queue("q2"), there.task("c0")) is None


def test_headroom_counts_how_many_fit() -> None:
    """Five of CPU 1, two of CPU 2; none where the queue is closed; all where nothing is asked."""
    there = world(
        queue("q1"),
        queue("q2"),
        queue("closed", state="Closed"),
        *wanted("a", "q1", 9),
        *wanted("b", "q2", 9),
        pod("two", job="a", cpu="2"),
        pod("none", job="a", cpu="", memory=""),
    )
    own = there.queue("q1")

    assert there.session.queues.headroom(own, there.task("a0"), 99) == 5
    assert there.session.queues.headroom(own, there.task("two"), 99) == 2
    assert there.session.queues.headroom(own, there.task("none"), 99) == 99
    assert there.session.queues.headroom(there.queue("closed"), there.task("a0"), 99) == 0


def test_a_queue_may_take_room_for_tasks_that_fit_together() -> None:
    """Two of three CPU deserved, but not three more."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 3), *wanted("b", "q1", 9), *wanted("c", "q2", 9))
    own = there.queue("q1")

    assert there.session.queues.preemptive(own, there.tasks("b0", "b1")) is None
    assert there.session.queues.preemptive(own, there.tasks("b0", "b1", "b2")) is not None
    assert there.session.queues.preemptive(own, []) is None


@pytest.mark.parametrize("state", ["Closed", "Closing", "Unknown"])
def test_a_queue_that_is_not_open_takes_nothing(state: str) -> None:
    """Neither tasks nor room of others nor jobs; nothing would help."""
    there = world(queue("q", state=state), *wanted("a", "q"), group("new", queue="q", phase="Pending"))
    own, task = there.queue("q"), there.task("a0")
    answers = (
        there.session.queues.allocatable(own, task),
        there.session.queues.preemptive(own, [task]),
        ask(there, "new"),
    )

    for answer in answers:
        assert isinstance(answer, Refusal)
        assert answer.message == f"queue q is {state}"
        assert not answer.resolvable


def test_victims_come_from_queues_above_what_they_deserve() -> None:
    """5 deserved, 7 used: two go, and a third one no longer; the reclaimer is not looked at."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 7), *wanted("b", "q2", 9))
    candidates = [there.task(f"a{index}") for index in range(4)]

    assert there.session.evictions.reclaimable(there.task("b0"), candidates) == candidates[:2]


def test_one_resource_above_the_deserved_is_enough() -> None:
    """Each queue deserves 5 of 10 GiB; 3 CPU are within it, 6 GiB are not, and after the first victim 4 are."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 3, memory="2Gi"), *wanted("b", "q2", 9))

    assert there.session.evictions.reclaimable(there.task("b0"), there.tasks("a0", "a1")) == there.tasks("a0")


def test_thirds_are_neither_rounded_up_nor_lost() -> None:
    """A third of 8000 is 2666 and a bit: at 2667 a queue has more than it deserves, at 2666 it has not."""
    queues = queue("q1"), queue("q2"), queue("q3")
    for used, goes in (("2667m", ["a0"]), ("2666m", [])):
        there = world(
            *queues,
            *held("a", "q1", 1, cpu=used, memory="1Mi"),
            *wanted("a-more", "q1", 9, memory="1Mi"),
            *wanted("b", "q2", 9, memory="1Mi"),
            *wanted("c", "q3", 9, memory="1Mi"),
            cpu="8",
        )

        assert [task.name for task in there.session.evictions.reclaimable(there.task("b0"), there.tasks("a0"))] == goes


def test_victims_follow_what_the_session_evicted() -> None:
    """7 used and 5 deserved; with two evicted already none is evicted, undone two may go again."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 7), *wanted("b", "q2", 9))
    asked = there.task("b0"), there.tasks("a0", "a1", "a2")
    with there.session.statement() as statement:
        there.evict(statement, "a5")
        there.evict(statement, "a6")
        assert there.session.evictions.reclaimable(*asked) == []

    assert there.session.evictions.reclaimable(*asked) == there.tasks("a0", "a1")


def test_candidates_of_no_job_are_passed_over() -> None:
    """They are in no queue."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 7), *wanted("b", "q2", 9), pod("alone", job=""))
    alone = there.session.snapshot.orphan_pods[0].task

    assert there.session.evictions.reclaimable(there.task("b0"), [alone, *there.tasks("a0")]) == there.tasks("a0")


def test_the_last_victim_may_take_a_queue_below_what_it_deserves() -> None:
    """The test is made before it goes."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 2, cpu="3"), *wanted("b", "q2", 9))
    victims = there.session.evictions.reclaimable(there.task("b0"), there.tasks("a0", "a1"))

    assert deserved(there)["q1"] == 5000
    assert victims == there.tasks("a0")


# The gate -------------------------------------------------------------------------------------------------------------


def gated(cpu: str, memory: str) -> World:
    """4 CPU and 4 GB, two queues at work, and a new job in the first."""
    return world(
        queue("q1", capability={"cpu": "2", "memory": "2G"}),
        queue("q2", capability={"cpu": "3", "memory": "3G"}),
        *held("a", "q1", 1, cpu="1", memory="2G", phase="Running", min_resources={"cpu": "1", "memory": "2G"}),
        *held("b", "q2", 1, cpu="2", memory="1G", phase="Running", min_resources={"cpu": "2", "memory": "1G"}),
        group("new", queue="q1", phase="Pending", min_resources={"cpu": cpu, "memory": memory}),
        pod("p", job="new", cpu=cpu, memory=memory),
        cpu="4",
        memory="4G",
    )


def test_a_job_within_the_limit_of_its_queue_passes_and_runs() -> None:
    """1 CPU beside 1 of 2; memory that it does not ask for is full."""
    there = acted(gated("1", "0"))

    assert bound(there) == {"p": "n"}


def test_a_job_beyond_the_limit_is_refused_by_name() -> None:
    """Memory 3 of 2 GB."""
    there = acted(gated("1", "1G"))

    assert bound(there) == {}
    assert [event.message for event in there.session.report.events] == [
        (
            "queue resource quota insufficient: insufficient memory. "
            "q1: 1953125Ki of 1953125Ki memory used; requested 1000000000"
        )
    ]


def test_what_is_used_beyond_a_minimum_does_not_count_against_new_jobs() -> None:
    """10 CPU are used, 8 of them elastic: a job of 8 passes, one of 9 does not."""
    busy = held("a", "q", 10, phase="Running", min_resources={"cpu": "2"})
    there = world(
        queue("q"),
        *busy,
        group("fits", queue="q", phase="Pending", min_resources={"cpu": "8"}),
        group("large", queue="q", phase="Pending", min_resources={"cpu": "9"}),
    )

    assert ask(there, "fits") is Vote.PERMIT
    assert isinstance(ask(there, "large"), Refusal)


def test_admitted_jobs_keep_their_minimum_reserved() -> None:
    """6 of 10 for the first; a second of 6 has to wait, one of 4 not."""
    there = world(
        queue("q"),
        group("first", queue="q", phase="Pending", min_resources={"cpu": "6"}),
        group("second", queue="q", phase="Pending", min_resources={"cpu": "6"}),
        group("third", queue="q", phase="Pending", min_resources={"cpu": "4"}),
    )
    there.session.jobs.job_enqueued(there.job("first"))

    assert isinstance(ask(there, "second"), Refusal)
    assert ask(there, "third") is Vote.PERMIT


def test_a_minimum_that_does_not_fit_beside_a_guarantee_of_others_is_refused() -> None:
    """7 of 10 CPU while 4 are guaranteed elsewhere."""
    there = world(
        queue("q"),
        queue("other", guarantee={"cpu": "4"}),
        group("new", queue="q", phase="Pending", min_resources={"cpu": "7"}),
    )

    assert isinstance(ask(there, "new"), Refusal)


def test_a_job_without_minimum_passes() -> None:
    """Nothing is compared."""
    there = world(queue("q"), *held("a", "q", 10), group("new", queue="q", phase="Pending"))

    assert ask(there, "new") is Vote.PERMIT


# Metrics and books ----------------------------------------------------------------------------------------------------


def test_metrics_of_a_queue() -> None:
    """What it has, asks for and deserves, in Volcano's units; a queue without jobs shows zeros."""
    there = opened(
        node("n", cpu="10", memory="10Gi", gpu="4"),
        queue("q", weight=3),
        queue("empty", weight=2),
        group("a", queue="q"),
        pod("r", job="a", on="n", gpu="1"),
        pod("p", job="a", gpu="1"),
        plugins=["proportion"],
    )

    assert there.samples("queue_allocated_milli_cpu")["q"] == 1000
    assert there.samples("queue_request_milli_cpu")["q"] == 2000
    assert there.samples("queue_deserved_memory_bytes")["q"] == 2 * GIB
    assert there.samples("queue_allocated_scalar_resources") == {"pods/q": 1, "nvidia.com/gpu/q": 1000}
    assert there.samples("queue_deserved_scalar_resources") == {"pods/q": 2, "nvidia.com/gpu/q": 2000}
    assert there.samples("queue_share")["q"] == 0.5
    assert there.samples("queue_weight") == {"default": 1, "empty": 2, "q": 3}
    assert there.samples("queue_overused")["q"] == 0
    assert there.samples("queue_allocated_milli_cpu")["empty"] == 0
    assert there.samples("queue_share")["empty"] == 0
    assert there.samples("queue_inqueue_milli_cpu") == {"default": 0, "empty": 0, "q": 0}


def test_what_is_kept_for_admitted_jobs_shows_in_the_metric() -> None:
    """Two of three CPU are not used yet."""
    there = opened(
        node("n", cpu="10", memory="10Gi"),
        queue("q"),
        group("a", queue="q", phase="Inqueue", min_resources={"cpu": "3"}),
        pod("r", job="a", on="n"),
        plugins=["proportion"],
    )

    assert there.samples("queue_inqueue_milli_cpu")["q"] == 2000


def test_overused_queues_show_in_the_metric() -> None:
    """All that is asked for is there."""
    assert world(queue("q"), *held("a", "q", 2)).samples("queue_overused")["q"] == 1


def test_a_share_follows_placements_and_evictions() -> None:
    """From 2 of 5 to 3, back to 2, down to 1, back to 2."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 2), *wanted("b", "q1", 9), *wanted("c", "q2", 9))
    with there.session.statement() as statement:
        there.place(statement, "b0", "n")
        assert book(there, "q1").share == 0.6
    with there.session.statement() as statement:
        there.evict(statement, "a0")
        assert book(there, "q1").share == 0.2

    assert book(there, "q1").share == 0.4


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_undone_changes_leave_the_books_as_they_were(data: st.DataObject) -> None:
    """Any mix of placements, waiting places and evictions, undone in one go."""
    there = world(queue("q1"), queue("q2"), *held("a", "q1", 3), *wanted("b", "q1", 3), *wanted("c", "q2", 3))

    def books() -> list[tuple[Any, ...]]:
        return [
            (name, list(each.allocated), each.share, list(each.inqueue), each.deserved)
            for name, each in division(there).usage.items()
        ]

    before = books()
    with there.session.statement() as statement:
        names = data.draw(st.permutations(["a0", "a1", "a2", "b0", "b1", "c0", "c1"]))
        for name in names[: data.draw(st.integers(1, 7))]:
            if name.startswith("a"):
                there.evict(statement, name)
            elif data.draw(st.booleans()):
                there.place(statement, name, "n")
            else:
                assert statement.pipeline(there.job(name[0]), there.tasks(name), [0]) is None

    assert books() == before


def test_the_group_event_is_on_the_group() -> None:
    """Normal, Unschedulable, by the name of the group."""
    there = acted(gated("9", "0"))
    (event,) = there.session.report.events

    assert isinstance(there.job("new").job.group, wire.PodGroup)
    assert (event.kind, event.name, event.type, event.reason) == ("PodGroup", "new", "Normal", "Unschedulable")


def test_resources_of_victims_are_not_lent_in_their_cycle() -> None:
    """The queue uses its limit. An eviction can be refused, so what it frees below the limit is not lent at once."""
    scenario = Scenario().queue("green", weight=1, capability={"cpu": 4}).queue("red", weight=15).node("n", cpu=12)
    scenario = scenario.running("low", on=["n"] * 4, queue="green", cpu=1).job("new", queue="green", cpu=1)
    scenario = scenario.job("wide", tasks=12, min_available=12, queue="red", cpu=1)
    session = open_session(scenario, plugins=(("gang", "proportion"), ("predicates",)))
    queue = session.queues.by_name[QueueName("green")]
    low, new = session.jobs.get(JobId("default/low")), session.jobs.get(JobId("default/new"))
    assert low is not None
    assert new is not None
    (task,) = new.tasks.values()

    with session.statement() as statement:
        for victim in list(low.tasks.values())[:3]:
            assert statement.evict(low, victim, "preempt") is None
        with session.queues.lending():
            assert session.queues.allocatable(queue, task) is not None
    with session.queues.lending():
        assert session.queues.allocatable(queue, task) is not None
