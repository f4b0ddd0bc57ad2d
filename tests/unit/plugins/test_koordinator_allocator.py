"""The books of Koordinator's devices: undone exactly, made anew from annotations, and nothing is promised twice."""

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.session.session import Session
from pyroclast.model.devices.cards import Shelf
from pyroclast.model.devices.koordinator.layout import node_devices
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator
from pyroclast.plugins.deviceshare.family import DeviceQuestion
from pyroclast.plugins.deviceshare.koordinator.family import Koordinator
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.devices import RDMA, fpga, gpu, rdma
from tests.unit.plugins.books import pending, standing
from tests.unit.plugins.koordinator import (
    ALLOCATED,
    EIGHT,
    FOUR,
    GENERAL,
    TOGETHER,
    annotated,
    wanting,
    whole,
    with_devices,
)

TABLE = {"node.koordinator.sh/gpu-model": "H20"}
AMOUNTS = st.sampled_from(
    [
        {"nvidia": 1},
        {"nvidia": 2},
        {"nvidia": 3},
        {"ratio": 30},
        {"core": 20, "ratio": 60},
        {"memory": "30Gi"},
        {"core": 50, "memory": "10Gi"},
        {"shared": 2, "ratio": 100},
        {"rdma": 30},
        {"rdma": 200},
        {"fpga": 40},
        {"nvidia": 1, "rdma": 1},
        {"nvidia": 3, "rdma": 1},
        {"ratio": 50, "rdma": 50, "fpga": 50},
    ]
)
WISHES = st.fixed_dictionaries(
    {},
    optional={
        "hint": st.sampled_from(
            [
                GENERAL,
                {"gpu": {"exclusivePolicy": "PCIeLevel"}},
                {"rdma": {"exclusivePolicy": "PCIeLevel", "allocateStrategy": "ApplyForAll"}},
                {"gpu": {"requiredTopologyScope": "NUMANode"}, "rdma": {"allocateStrategy": "RequestsAsCount"}},
            ]
        ),
        "joint": st.sampled_from([TOGETHER, {**TOGETHER, "requiredScope": "SamePCIe"}]),
        "partition": st.sampled_from([{}, {"allocatePolicy": "Restricted"}]),
        "numa": st.sampled_from([{"numaTopologyPolicy": policy} for policy in ("BestEffort", "SingleNUMANode")]),
    },
)
PODS = st.lists(st.tuples(AMOUNTS, WISHES), min_size=1, max_size=8)


def cluster() -> Scenario:
    """Nodes of two builds, one whose devices are nowhere in particular, and one that tells of none."""
    there = with_devices(*FOUR, name="a")
    there = with_devices(*EIGHT, name="b", base=there, labels=TABLE)
    nowhere = [gpu(0), gpu(1, health=False), gpu(2, memory="16Gi"), rdma(0), fpga(0), fpga(1)]
    there = with_devices(*nowhere, name="c", base=there)
    roomy = {"nvidia.com/gpu": 99, "koordinator.sh/rdma": 999}
    return there.node("d", cpu=64, resources=roomy)


CLUSTER = cluster()


def opened(scenario: Scenario, strategy: str = "LeastAllocated") -> tuple[Session, DeviceAllocator]:
    """A session with deviceshare alone, and its books."""
    arguments = {"deviceshare.KoordinatorEnable": True, "scoringStrategy": {"type": strategy}}
    session = open_session(scenario, plugins=("deviceshare",), arguments={"deviceshare": arguments})
    ((_, books),) = session.extensions.all_ledgers()
    assert isinstance(books, DeviceAllocator)
    return session, books


def asked(pods: list[Any], scenario: Scenario) -> Scenario:
    """Add pods that want devices."""
    for number, (amounts, wishes) in enumerate(pods):
        scenario = wanting(scenario, name=f"j{number}", annotations=annotated(**wishes), **amounts)
    return scenario


@given(pods=PODS, data=st.data())
def test_undoing_leaves_what_was_there(pods: list[Any], data: st.DataObject) -> None:
    """Placements, pipelined ones and evictions, some of them refused, undone in part and as a whole."""
    scenario = CLUSTER
    for number, minor in enumerate((0, 2)):
        held = {ALLOCATED: json.dumps({**whole("gpu", minor), **whole("rdma", 0, **{RDMA: "50"})})}
        scenario = wanting(scenario, name=f"r{number}", annotations=held, running_on=["a"], nvidia=1, rdma=50)
    scenario = asked(pods, scenario)
    session, books = opened(scenario)
    if data.draw(st.booleans()):
        standing(books)  # read now, rather than after the first changes
    marks: list[int] = []
    with session.statement() as statement:
        for job in filter(None, map(session.jobs.get, session.snapshot.jobs)):
            (task,) = job.tasks.values()
            marks.append(len(statement.operations))
            if task.node is not None:
                assert statement.evict(job, task, "test") is None
            else:
                place = statement.pipeline if data.draw(st.booleans()) else statement.allocate
                place(job, [task], [data.draw(st.integers(0, 3))])
        before, done = standing(books), list(statement.operations)
        statement.undo_to(0)
        statement.redo(done)
        assert standing(books) == before
        statement.undo_to(marks[data.draw(st.integers(0, len(marks) - 1))])
        statement.undo()
    assert standing(books) == standing(opened(scenario)[1])


@given(pods=PODS, strategy=st.sampled_from(["LeastAllocated", "MostAllocated"]), data=st.data())
def test_books_made_anew_are_those_that_ran(pods: list[Any], strategy: str, data: st.DataObject) -> None:
    """What bindings tell says again what was taken of each device, and nothing is taken beyond what is there."""
    base = running = CLUSTER
    session, books = opened(asked(pods, base), strategy)
    with session.statement() as statement:
        for task in pending(session):
            job = session.jobs.of(task)
            assert job is not None
            column = data.draw(st.integers(0, 2))
            if statement.allocate(job, [task], [column]) is None:
                name = task.name.removesuffix("-0")
                amounts, wishes = pods[int(name.removeprefix("j"))]
                told = {**annotated(**wishes), **books.annotations(statement.placed()[task.id], column)}
                node = str(session.nodes.table.names[column])
                running = wanting(running, name=name, annotations=told, running_on=[node], **amounts)
        ran = standing(books)
        assert standing(opened(running, strategy)[1]) == ran
    for column, (state, holders) in ran.items():
        layout = books.cards[column].layout
        for position, device in enumerate(layout.devices):
            for taken, total in zip(state[4][position], device.total or (0,) * 6, strict=False):
                assert total is None or taken <= total, "more is taken of a device than it has"
            functions = Counter(state[3][position])
            assert set(functions.values()) <= {1}, "a virtual function has two holders"
            known = {function for group in device.groups for function in group.functions}
            assert functions.keys() <= known
        for holder in holders.values():
            cards = [use.card for use in holder.uses]
            assert len(set(cards)) == len(cards), "one pod has a device twice"


@given(amounts=AMOUNTS, wishes=WISHES, column=st.integers(0, 2))
def test_what_never_fits_does_not_fit_an_empty_node(amounts: Any, wishes: Any, column: int) -> None:
    """The rule that prevents evictions is never wrong where it refuses."""
    session, books = opened(asked([(amounts, wishes)], CLUSTER))
    (task,) = pending(session)
    family, demand = books.family, books.demand_of(task)
    assert isinstance(family, Koordinator)
    cards = node_devices(session.nodes.facts.nodes[column])
    assert cards is not None
    if family.never_fits(cards, demand):
        empty = Shelf(family.count(cards)).state()
        assert isinstance(family.choose(cards, empty, DeviceQuestion(demand), frozenset()), int)
