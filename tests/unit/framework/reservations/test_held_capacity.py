"""Held capacity: what they remember of who lost the room, and when that protects."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from pyroclast import Session
from pyroclast.framework.reservations.recording import recorded
from pyroclast.framework.session.held import HeldCapacities, HeldCapacity, job_holder, loser_of, terms
from pyroclast.model.ids import JobId, NodeName, QueueName, TaskId
from pyroclast.model.queues import Queue
from pyroclast.model.refusals import Refusal
from pyroclast.testing import Scenario
from tests.unit.framework.asking import session_of

BASE = (
    Scenario()
    .priority_class("low", 1)
    .priority_class("high", 9)
    .queue("a", weight=1)
    .queue("b", weight=2)
    .queue("c", weight=3)
    .node("n1", cpu=4)
    .running("loser", on=["n1", "n1"], queue="a", priority_class="low")
    .running("winner", on=["n1"], queue="b", priority_class="high")
    .job("rival", queue="a", priority_class="high")
)


def opened(losers: dict[str, str] | None = None) -> Session:
    """Open a session in which the pod of `winner` runs by held capacity."""
    session = session_of(BASE, ("gang",))
    if losers is not None:
        record = HeldCapacity(
            holder=job_holder(JobId("default/winner")),
            action="reclaim",
            cycle=7,
            begins=0.0,
            places={task_of(session, "winner-0").id: NodeName("n1")},
            losers=losers,
        )
        session.held.replace([record])
    return session


def task_of(session: Session, name: str) -> Any:
    """Return a task by the name of its pod."""
    return next(task for job in session.jobs.all() for task in job.tasks.values() if task.name == name)


def evict_for(session: Session, winner: str, *losers: str) -> None:
    """Evict pods for another, as evicting actions end."""
    session.action = "reclaim"
    statement = session.statement()
    other = task_of(session, winner)
    winning = session.jobs.of(other)
    assert winning is not None
    for name in losers:
        one = task_of(session, name)
        losing = session.jobs.of(one)
        assert losing is not None
        assert statement.evict(losing, one, "reclaim") is None
    assert statement.pipeline(winning, [other], [0], evicts_for=True) is None
    statement.commit()


def vetoed(session: Session, beneficiary: str, victim: str, *, between_queues: bool) -> Refusal | None:
    """Return why a victim is spared."""
    task = task_of(session, victim)
    left, refused = session.evictions.not_won(task_of(session, beneficiary), [task], between_queues=between_queues)
    assert len(left) == (task.id not in refused)
    return refused.get(task.id)


def test_a_plan_promises_its_places_and_names_who_lost() -> None:
    """Between jobs of one queue the job loses, with the priorities as terms."""
    session = opened()
    evict_for(session, "rival-0", "loser-0")
    (record,) = recorded(session)

    assert record.places == {task_of(session, "rival-0").id: "n1"}
    assert record.losers == {"job/default/loser": "1 9"}


def test_between_queues_the_queue_loses() -> None:
    """On terms of what the queues are set to get."""
    session = opened({})
    evict_for(session, "rival-0", "winner-0")
    (record,) = recorded(session)

    assert {name: text.split() for name, text in record.losers.items()} == {"queue/b": ["0/2////", "0/1////"]}


def test_earlier_losers_to_a_victim_lose_its_capacity_again() -> None:
    """It has terms with the new owner: by those with the victim it could reclaim it from any other."""
    session = opened({"queue/c": "0/3//// 0/2////", "job/default/loser": "1 9"})
    evict_for(session, "rival-0", "winner-0")
    (record,) = recorded(session)

    assert record.losers["queue/c"].split() == ["0/3////", "0/1////"]
    assert record.losers["job/default/loser"] == "1 9"


@pytest.mark.parametrize("agreed", ["0/3//// 0/1////", "0/4//// 0/2////"])
def test_a_possible_preemptor_of_the_victim_loses_nothing(agreed: str) -> None:
    """The deserved amount of one of them changed since: that record does not protect the capacity any more."""
    session = opened({"queue/c": agreed, "job/default/loser": "1 8"})
    evict_for(session, "rival-0", "winner-0")
    (record,) = recorded(session)

    assert list(record.losers) == ["queue/b"]


def test_a_deleted_pod_loses_nothing() -> None:
    """Neither can come back for it."""
    session = opened({"queue/gone": "0/1//// 0/2////", "job/default/gone": "1 9"})
    evict_for(session, "rival-0", "winner-0")
    (record,) = recorded(session)

    assert list(record.losers) == ["queue/b"]


def test_who_loses_now_does_so_on_the_terms_with_this_winner() -> None:
    """Also where another victim of the plan had won its room from the same queue, whichever of them goes first."""
    for names in (("winner-0", "loser-0"), ("loser-0", "winner-0")):
        session = opened({})
        task = task_of(session, "loser-0")
        (record,) = session.held.standing
        places = {task.id: NodeName("n1")}
        session.held.replace([msgspec.structs.replace(record, places=places, losers={"queue/b": "others"})])
        evict_for(session, "rival-0", *names)
        (made,) = recorded(session)

        assert made.losers["queue/b"].split() == ["0/2////", "0/1////"]


def test_a_queue_cannot_take_back_what_it_lost() -> None:
    """The rule between queues bars it; between jobs it may be a victim as before."""
    session = opened({"queue/a": "0/1//// 0/2////"})
    refusal = vetoed(session, "rival-0", "winner-0", between_queues=True)

    assert refusal is not None
    assert (refusal.plugin, refusal.reason) == ("scheduler", "WonByEviction")
    assert "queue/a in cycle 7" in refusal.message
    assert vetoed(session, "rival-0", "winner-0", between_queues=False) is None


def test_other_terms_are_another_reason() -> None:
    """A weight was changed since: the queue may ask again."""
    assert vetoed(opened({"queue/a": "0/9//// 0/2////"}), "rival-0", "winner-0", between_queues=True) is None


@pytest.mark.parametrize(
    "change",
    [
        {"priority": 1},
        {"weight": 9},
        {"guarantee": {"cpu": 1}},
        {"deserved": {"cpu": 1}},
        {"capability": {"cpu": 1}},
        {"parent": "left"},
        {"hierarchy": "root/a", "hierarchy_weights": "1/2"},
        {"hierarchy": "root/a", "hierarchy_weights": "1/3"},
    ],
)
@pytest.mark.parametrize("whose", ["a", "b", "above"])
def test_terms_are_whatever_decides_what_queues_get(change: dict[str, Any], whose: str) -> None:
    """Terms of the loser, of the winner, and of the queues above them."""
    session = opened()
    queues = {name: Queue(name=QueueName(name)) for name in ("root", "left", "above", "b")}
    queues["a"] = Queue(name=QueueName("a"), parent=QueueName("above"))
    jobs = session.snapshot.jobs
    loser, winner = jobs[JobId("default/rival")], jobs[JobId("default/winner")]

    def agreed() -> str | None:
        all_queues = {QueueName(name): each for name, each in queues.items()}
        return terms(loser_of(loser, between_queues=True), winner, jobs, all_queues)

    before = agreed()
    queues[whose] = replace(queues[whose], **change)

    assert None not in (before, agreed())
    assert before != agreed()


def test_others_may_take_it() -> None:
    """Only who lost it is kept from it."""
    assert vetoed(opened({"queue/c": "0/1//// 0/2////"}), "rival-0", "winner-0", between_queues=True) is None


def test_vetoes_reach_the_answer() -> None:
    """Plugins are not asked about a pod on capacity that it took; the veto is reported like theirs."""
    session = opened({"queue/a": "0/1//// 0/2////"})
    victim = task_of(session, "winner-0")

    assert session.evictions.reclaimable(task_of(session, "rival-0"), [victim]) == []
    assert [refusal.reason for _, refusal in session.evictions.vetoes[victim.id].values()] == ["WonByEviction"]


def test_a_place_on_another_node_is_no_room_won() -> None:
    """The pod runs on another node than the nominated one: earlier losers there may evict it."""
    session = opened({"queue/a": "0/1//// 0/2////"})
    (record,) = session.held.standing
    elsewhere = dict.fromkeys(record.places, NodeName("n2"))
    session.held.replace([msgspec.structs.replace(record, places=elsewhere)])

    assert vetoed(session, "rival-0", "winner-0", between_queues=True) is None


def test_each_promise_of_a_place_counts() -> None:
    """A failed plan is followed by another: both evicted pods of other jobs on this node."""
    session = opened({"queue/a": "0/1//// 0/2////"})
    (record,) = session.held.standing
    later = msgspec.structs.replace(record, cycle=9, losers={"queue/c": "x"})
    session.held.replace([record, later])
    refusal = vetoed(session, "rival-0", "winner-0", between_queues=True)

    assert refusal is not None
    assert "queue/a in cycle 7" in refusal.message


def test_an_evicted_pod_keeps_its_gains_until_its_deletion() -> None:
    """The server may refuse, and then it runs on as before; so its record stands at the end of the session."""
    session = opened({"queue/a": "0/1//// 0/2////"})
    evict_for(session, "rival-0", "winner-0")

    assert list(session.held.after()) == list(session.held.standing)


def test_given_up_places_are_forgotten_if_no_pods_were_evicted_for_them() -> None:
    """Else they are no longer held, and known: its task may come to run there in spite of that."""
    record = HeldCapacity(
        holder=job_holder(JobId("a/b")),
        action="preempt",
        cycle=1,
        begins=0.0,
        places={TaskId("x"): NodeName("n"), TaskId("y"): NodeName("n")},
    )
    costly = msgspec.structs.replace(record, losers={"job/a/c": "1 9"})
    left = {}
    for each in (record, costly):
        records = HeldCapacities([each])
        records.give_up(TaskId("y"))
        assert records.is_held(TaskId("x"))
        assert not records.is_held(TaskId("y"))
        (left[each.losers != {}],) = records.after()

    assert (list(left[False].places), left[False].loose) == (["x"], ())
    assert (list(left[True].places), left[True].loose) == (["x", "y"], ("y",))
    assert not HeldCapacities([left[True]]).is_held(TaskId("y"))
