"""Cards of Reservations: what is left of them, and exact undo."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.session.session import Session
from pyroclast.model.devices.cards import Use
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator
from pyroclast.plugins.deviceshare.reserved_devices import remaining
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.devices import gpu
from tests.reservations import claimed, reservation
from tests.unit.plugins.books import standing
from tests.unit.plugins.koordinator import ALLOCATED, whole, with_devices

GPU = "koordinator.sh/gpu"


def test_an_owner_uses_up_whole_cards() -> None:
    """Card 0 of cards 0 and 1 is used."""
    kept = (Use(0, 0, amounts=(100, 80, 100)), Use(1, 0, amounts=(100, 80, 100)))

    assert remaining(kept, kept[:1]) == kept[1:]


def test_what_owners_do_not_use_of_a_card_is_left() -> None:
    """Two owners use 30 and 50 percent of a card."""
    used = (Use(0, 0, amounts=(30, 24, 30)), Use(0, 0, amounts=(50, 40, 50)))

    assert remaining((Use(0, 0, amounts=(100, 80, 100)),), used) == (Use(0, 0, amounts=(20, 16, 20)),)


def test_use_beyond_the_reserved_amounts_takes_no_other_card() -> None:
    """Half of card 0 is reserved: an owner of all of it leaves card 1."""
    kept = (Use(0, 0, amounts=(50,)), Use(1, 0, amounts=(50,)))

    assert remaining(kept, (Use(0, 0, amounts=(100,)),)) == kept[1:]


def test_memory_and_cores_are_left_apart() -> None:
    """An owner of all cores leaves memory."""
    assert remaining((Use(0, 8, 100),), (Use(0, 2, 100),)) == (Use(0, 6, 0, asked=6),)


def test_cards_without_amounts_are_used_as_a_whole() -> None:
    """Cards that are counted by number have no amounts."""
    assert remaining((Use(0, 0), Use(1, 0)), (Use(1, 0),)) == (Use(0, 0),)


def test_virtual_functions_that_owners_use_are_not_left() -> None:
    """The card itself is left, without its function."""
    kept = (Use(0, 0, instance=("3d:00.2", 0), amounts=(100,)),)

    assert remaining(kept, (Use(0, 0, instance=("3d:00.2", 0), amounts=(1,)),)) == (Use(0, 0, amounts=(99,)),)
    assert remaining(kept, (Use(0, 0, amounts=(100,)),)) == (Use(0, 0, instance=("3d:00.2", 0), amounts=(0,)),)


def opened(scenario: Scenario) -> tuple[Session, DeviceAllocator]:
    """Return a session with devices and Reservations, and the allocator."""
    arguments = {"deviceshare": {"deviceshare.KoordinatorEnable": True}}
    session = open_session(scenario, plugins=("predicates", "deviceshare", "reservation"), arguments=arguments)
    found = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, DeviceAllocator)]
    return session, found[0]


RESERVATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "gpus": st.lists(st.integers(0, 3), min_size=1, max_size=2, unique=True),
            "allocateOnce": st.booleans(),
            "allocatePolicy": st.sampled_from(["Aligned", "Restricted"]),
        }
    ),
    max_size=2,
)
OWNERS = st.lists(
    st.fixed_dictionaries(
        {"gpu": st.sampled_from([None, 0, 1, 2]), "of": st.integers(0, 1), "percent": st.sampled_from([50, 100, 200])}
    ),
    min_size=1,
    max_size=5,
)


@given(reservations=RESERVATIONS, owners=OWNERS, data=st.data())
def test_undoing_leaves_what_was_there(reservations: list[Any], owners: list[Any], data: st.DataObject) -> None:
    """Placements on Reservations, pipelined ones and evictions of owners, undone in part and as a whole."""
    scenario = with_devices(*map(gpu, range(4)))
    for number, each in enumerate(reservations):
        told = whole("gpu", *(each["gpus"]))
        amount = {GPU: str(100 * len(each["gpus"]))}
        rules = {key: each[key] for key in ("allocateOnce", "allocatePolicy")}
        annotations = {ALLOCATED: json.dumps(told)}
        scenario = scenario.add(
            reservation(f"r{number}", node="n", cpu=1, resources=amount, annotations=annotations, **rules)
        )
    for number, each in enumerate(owners):
        runs = each["gpu"] is not None
        told = {ALLOCATED: json.dumps(whole("gpu", each["gpu"])), **claimed(f"r{each['of']}")} if runs else {}
        resources = {GPU: 100 if runs else each["percent"]}
        scenario = scenario.job(
            f"j{number}",
            running_on=["n"] if runs else [],
            resources=resources,
            labels={"app": "a"},
            annotations=told,
        )
    session, books = opened(scenario)
    if data.draw(st.booleans()):
        standing(books)  # read now, rather than after the first changes
    with session.statement() as statement:
        for job in filter(None, map(session.jobs.get, session.snapshot.jobs)):
            (task,) = job.tasks.values()
            if task.node is not None:
                assert statement.evict(job, task, "test") is None
            else:
                place = statement.pipeline if data.draw(st.booleans()) else statement.allocate
                place(job, [task], [0])
        before, done = standing(books), list(statement.operations)
        statement.undo_to(0)
        statement.redo(done)
        assert standing(books) == before
        statement.undo_to(data.draw(st.integers(0, len(done))))
        statement.undo()
    assert standing(books) == standing(opened(scenario)[1])


@pytest.mark.parametrize(("once", "later"), [(True, []), (False, [0])])
def test_a_reservation_has_the_cards_of_evicted_owners_back(once: bool, later: list[int]) -> None:
    """A Reservation that may be used once has nothing left when its owner is gone."""
    told = {ALLOCATED: json.dumps(whole("gpu", 0))}
    kept = reservation("r", node="n", cpu=1, resources={GPU: "100"}, annotations=told, allocateOnce=once)
    scenario = with_devices(gpu(0), gpu(1)).add(kept)
    scenario = scenario.running(
        "o", on=["n"], cpu=1, resources={GPU: 100}, labels={"app": "a"}, annotations={**claimed("r"), **told}
    )
    session, allocator = opened(scenario)
    job = next(iter(session.jobs.all()))
    (owner,) = job.tasks.values()

    def held() -> list[int]:
        (shelf,) = allocator.shelves.values()
        return [use.card for holder in shelf.holders.values() for use in holder.uses]

    assert held() == [0]
    with session.statement() as statement:
        assert statement.evict(job, owner, "preempt") is None
        assert held() == later
    assert held() == [0]
