"""The books of cards: undoing leaves exactly what was there, and what runs says the same as annotations do."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pyroclast.framework.extension.contract import Verb
from pyroclast.framework.session.session import Session
from pyroclast.plugins.deviceshare.device_allocator import DeviceAllocator
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.unit.plugins.ascend import chips, with_chips
from tests.unit.plugins.books import pending, standing
from tests.unit.plugins.cards import CORES, COUNT, IDS, SIZE, container, device_map, wanting, with_cards

ASCEND = "Ascend310P"
PLENTY = {
    COUNT: 1000,
    SIZE: 10**7,
    CORES: 10**4,
    "huawei.com/Ascend310P": 1000,
    "huawei.com/Ascend310P-memory": 10**7,
    "huawei.com/Ascend310P-core": 10**4,
}
ASKED = st.lists(
    st.fixed_dictionaries(
        {"number": st.integers(1, 2), "memory": st.integers(0, 9000), "cores": st.sampled_from([0, 10, 50, 100])}
    ),
    min_size=1,
    max_size=2,
)
POLICIES = st.sampled_from(["", "binpack", "spread"])


NAMING = {
    "mig": {IDS: "GPU-0[group1-0],NVIDIA,100,1:"},
    "hami-core": {IDS: "GPU-0,NVIDIA,100,1:"},
    ASCEND: {"hami.io/Ascend310P-devices-allocated": "id0,Ascend310P,100,1:;"},
}
"""Annotations of a pod that names the first card."""
MODES = st.sampled_from(["hami-core", "mig", ASCEND])


def spec_of(mode: str, containers: list[Any]) -> dict[str, Any]:
    """A pod with these requests. Several Ascend chips are whole ones."""
    if mode != ASCEND:
        return wanting(*(container(f"c{at}", **each) for at, each in enumerate(containers)))
    return wanting(
        *(
            chips(
                ASCEND,
                f"c{at}",
                number=each["number"],
                memory=each["memory"] if each["number"] == 1 else 0,
                cores=each["cores"] // 13,
            )
            for at, each in enumerate(containers)
        )
    )


def cluster(mode: str) -> Scenario:
    """Two nodes of two cards, and one without."""
    if mode == ASCEND:
        there = with_chips(with_chips(Scenario(), ASCEND, 2, name="a"), ASCEND, 2, name="b")
        return Scenario(tuple(map(_roomy, there.node("c", cpu=64, resources=PLENTY).objects)))
    there = Scenario().add(device_map()) if mode == "mig" else Scenario()
    there = with_cards(there, "a", 40960, 40960, mode=mode, shares=3)
    there = with_cards(there, "b", 40960, 20480, mode=mode, shares=3).node("c", cpu=64, resources=PLENTY)
    return Scenario(tuple(map(_roomy, there.objects)))


def _roomy(each: Any) -> Any:
    if each["kind"] != "Node":
        return each
    status = each["status"]
    return {**each, "status": {**status, "allocatable": {**status["allocatable"], **PLENTY}}}


def opened(scenario: Scenario, policy: str, mode: str) -> tuple[Session, DeviceAllocator]:
    """A session with deviceshare alone, and its books."""
    switch = "deviceshare.AscendHAMiVNPUEnable" if mode == ASCEND else "deviceshare.VGPUEnable"
    arguments = {"deviceshare": {switch: True, "deviceshare.SchedulePolicy": policy}}
    session = open_session(scenario, plugins=("deviceshare",), arguments=arguments)
    ((_, books),) = session.extensions.all_ledgers()
    assert isinstance(books, DeviceAllocator)
    return session, books


@given(
    mode=MODES,
    policy=POLICIES,
    asked=st.lists(ASKED, min_size=1, max_size=6),
    data=st.data(),
)
def test_undoing_leaves_what_was_there(mode: str, policy: str, asked: list[list[Any]], data: st.DataObject) -> None:
    """Placements, pipelined ones and evictions, some of them refused, undone in part and as a whole."""
    scenario = cluster(mode)
    for number, containers in enumerate(asked):
        spec = spec_of(mode, containers)
        where = data.draw(st.sampled_from(["", "a"]))
        annotations = NAMING[mode] if where else None
        scenario = scenario.job(f"j{number}", running_on=[where] if where else [], pod=spec, annotations=annotations)
    session, books = opened(scenario, policy, mode)
    if data.draw(st.booleans()):
        standing(books)  # read now, rather than after the first changes
    marks: list[tuple[int, Any]] = []
    with session.statement() as statement:
        for job in filter(None, map(session.jobs.get, session.snapshot.jobs)):
            (task,) = job.tasks.values()
            marks.append((len(statement.operations), None))
            if task.node is not None:
                assert statement.evict(job, task, "test") is None
            else:
                place = statement.pipeline if data.draw(st.booleans()) else statement.allocate
                place(job, [task], [data.draw(st.integers(0, 2))])
        before, done = standing(books), list(statement.operations)
        statement.undo_to(0)
        statement.redo(done)
        assert standing(books) == before
        back = data.draw(st.integers(0, len(marks) - 1))
        statement.undo_to(marks[back][0])
        statement.undo()
    assert standing(books) == standing(opened(scenario, policy, mode)[1])


@given(
    mode=MODES,
    policy=POLICIES,
    asked=st.lists(ASKED, min_size=1, max_size=5),
    data=st.data(),
)
def test_books_made_anew_are_those_that_ran(
    mode: str, policy: str, asked: list[list[Any]], data: st.DataObject
) -> None:
    """What the binding tells of each pod says again what was taken of each card."""
    base = scenario = cluster(mode)
    specs = {}
    for number, containers in enumerate(asked):
        specs[f"j{number}"] = spec_of(mode, containers)
        scenario = scenario.job(f"j{number}", pod=specs[f"j{number}"])
    session, books = opened(scenario, policy, mode)
    running = base
    with session.statement() as statement:
        for task in pending(session):
            job = session.jobs.of(task)
            assert job is not None
            column = data.draw(st.integers(0, 1))
            if statement.allocate(job, [task], [column]) is None:
                name = task.name.removesuffix("-0")
                told = books.annotations(statement.placed()[task.id], column)
                node = str(session.nodes.table.names[column])
                running = running.job(name, running_on=[node], pod=specs[name], annotations=dict(told))
        ran = standing(books)
        assert statement.operations == [] or Verb.ALLOCATE in {each.change.verb for each in statement.operations}
        assert standing(opened(running, policy, mode)[1]) == ran


@given(policy=POLICIES, asked=st.lists(ASKED, min_size=1, max_size=8), data=st.data())
def test_no_card_is_given_twice(policy: str, asked: list[list[Any]], data: st.DataObject) -> None:
    """Memory, cores and shares of no card are exceeded, and no instance has two holders."""
    mode = data.draw(MODES)
    scenario = cluster(mode)
    for number, containers in enumerate(asked):
        spec = spec_of(mode, containers)
        scenario = scenario.job(f"j{number}", pod=spec)
    session, books = opened(scenario, policy, mode)
    with session.statement() as statement:
        for task in pending(session):
            job = session.jobs.of(task)
            assert job is not None
            statement.allocate(job, [task], [data.draw(st.integers(0, 1))])
        for column, shelf in books.shelves.items():
            for position, card in enumerate(books.cards[column].cards):
                assert shelf.memory[position] <= card.memory
                assert shelf.cores[position] <= card.most_cores
                assert shelf.parts[position] <= card.shares
                assert len(set(shelf.instances[position])) == len(shelf.instances[position])
