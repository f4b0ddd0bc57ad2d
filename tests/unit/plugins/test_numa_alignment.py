"""Alignment of CPUs inside a machine: the worked numbers, and the fast form against the plain one."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.cpusets import cpu_set, members, read_cpu_set
from pyroclast.model.numa import CpuLayout, CpuPlace, layout_of
from pyroclast.plugins.numa_aware.affinity import NumaAffinity, best_affinity
from pyroclast.plugins.numa_aware.alignment import aligned, numa_count
from pyroclast.plugins.numa_aware.selection import reserved_cpus, select
from tests.differential import numa as plain
from tests.differential.numa import Detail, Hint

WORKED: Detail = {cpu: (cpu // 4, cpu // 4, cpu // 2) for cpu in range(8)}
"""Two sockets of four CPUs, each one NUMA node with two cores."""
EVERYWHERE = frozenset({0, 1})


def layout(detail: Detail) -> CpuLayout:
    """The same machine, as the plugin sees it."""
    return layout_of(tuple(sorted(CpuPlace(cpu, *place) for cpu, place in detail.items())))


def cpus_of(detail: Detail, numa: Iterable[int]) -> int:
    """All CPUs of some NUMA nodes."""
    chosen = set(numa)
    return cpu_set(cpu for cpu, place in detail.items() if place[0] in chosen)


def text_of(hints: Iterable[Hint]) -> list[str]:
    """Hints in short: `0` is NUMA node 0, `01` both, `!` is preferred."""
    return ["".join(map(str, sorted(hint.numa or ()))) + "!" * hint.is_preferred for hint in hints]


@pytest.mark.parametrize(
    ("count", "free", "hints"),
    [
        (4, "0-7", ["0!", "1!", "01"]),
        (4, "1-7", ["1!", "01"]),
        (5, "0-7", ["01!"]),
        (8, "0-7", ["01!"]),
        (9, "0-7", []),
        (4, "2-5", ["01"]),
    ],
)
def test_the_worked_hints(count: int, free: str, hints: list[str]) -> None:
    """The plain form gives the list, the fast one the best of it."""
    available = read_cpu_set(free)
    provided = plain.hints(WORKED, members(available), count)
    assert text_of(provided) == hints

    best, _ = plain.judged("restricted", EVERYWHERE, [{"cpu": provided}])

    found = best_affinity(layout(WORKED), available, count)
    assert best.numa is not None
    assert found == NumaAffinity(cpus_of(WORKED, best.numa), len(best.numa), best.is_preferred)


def test_two_resources_agree_on_the_narrowest() -> None:
    """The worked merge of the plain form, which knows more resources than CPUs."""
    both = [Hint(EVERYWHERE, is_preferred=False), *(Hint(frozenset({each}), is_preferred=True) for each in (0, 1))]

    for policy in ("single-numa-node", "restricted", "best-effort"):
        judged = plain.judged(policy, EVERYWHERE, [{"cpu": both}, {"gpu": both}])
        assert judged == (Hint(frozenset({0}), is_preferred=True), True)


@pytest.mark.parametrize(
    ("count", "free", "numa", "cpus"),
    [
        (4, "0-7", {0}, "0-3"),
        (4, "1-7", {1}, "4-7"),
        (5, "0-7", {0, 1}, "0-4"),
        (5, "1-7", {0, 1}, "1,4-7"),
        (8, "1-7", {0, 1}, ""),
    ],
)
def test_the_worked_selections(count: int, free: str, numa: set[int], cpus: str) -> None:
    """From the best NUMA nodes; none at all where too few are free."""
    available, chosen = read_cpu_set(free), read_cpu_set(cpus)
    assert plain.allocated(WORKED, members(available), count, Hint(frozenset(numa), is_preferred=True)) == frozenset(
        members(chosen)
    )

    found = aligned(layout(WORKED), "best-effort", 0, available, (count,))

    assert (found.cpus, found.refused) == (chosen, None)


def test_a_socket_is_free_when_all_its_cpus_are() -> None:
    """Whatever numbers CPUs and sockets have: here the whole one is neither the first nor of the number of a CPU."""
    detail = {cpu: (place[0], place[1] + 20, place[2]) for cpu, place in WORKED.items()}

    assert select(layout(detail), read_cpu_set("1-7"), 4) == read_cpu_set("4-7")


def test_whole_cores_come_first_where_few_are_left() -> None:
    """The last one of a socket before one of a socket that is free altogether."""
    assert select(layout(WORKED), read_cpu_set("0-5"), 2) == read_cpu_set("4-5")


def test_single_cpus_lie_beside_what_is_taken() -> None:
    """On the socket that was begun, of the core of which least is left."""
    assert select(layout(WORKED), read_cpu_set("0,4-7"), 3) == read_cpu_set("4-6")
    assert select(layout(WORKED), read_cpu_set("1-6"), 3) == read_cpu_set("1-3")
    assert select(layout(WORKED), read_cpu_set("0-7"), 5) == read_cpu_set("0-4")
    assert select(layout(WORKED), read_cpu_set("0-4,6-7"), 1) == read_cpu_set("4")


@pytest.mark.parametrize(("count", "cpus"), [(0, ""), (1, "0"), (2, "0-1"), (8, "0-7"), (9, "")])
def test_what_is_reserved_is_taken_first(count: int, cpus: str) -> None:
    """A reserve greater than the machine reserves nothing, as in Volcano."""
    assert reserved_cpus(layout(WORKED), count) == read_cpu_set(cpus)


@pytest.mark.parametrize(
    ("policy", "free", "wanted", "refused"),
    [
        ("single-numa-node", "0-7", (4, 4), None),
        ("single-numa-node", "0-7", (3, 3, 2), 2),
        ("single-numa-node", "0-7", (5,), 0),
        ("single-numa-node", "2-5", (4,), 0),
        ("restricted", "0-7", (5,), None),
        ("restricted", "2-5", (4,), 0),
        ("restricted", "0-7", (0, 9), 1),
        ("best-effort", "2-5", (4,), None),
        ("best-effort", "0-7", (9,), None),
        ("a word of tomorrow", "2-5", (4,), None),
        ("restricted", "", (0,), None),
    ],
)
def test_policies_admit_or_turn_away(policy: str, free: str, wanted: tuple[int, ...], refused: int | None) -> None:
    """The first container that cannot be aligned is named; who asks for no whole CPU always can."""
    assert aligned(layout(WORKED), policy, 0, read_cpu_set(free), wanted).refused == refused


def test_an_unknown_policy_aligns_nothing() -> None:
    """As none: CPUs are taken as the selection goes, a whole core before the lowest NUMA node."""
    available = read_cpu_set("0,2,4-5")

    assert aligned(layout(WORKED), "a word of tomorrow", 0, available, (2,)).cpus == read_cpu_set("4-5")
    assert aligned(layout(WORKED), "best-effort", 0, available, (2,)).cpus == read_cpu_set("0,2")


def test_numa_nodes_are_counted_by_the_cpus_taken() -> None:
    """None, one, two."""
    machine = layout(WORKED)

    assert [numa_count(machine, read_cpu_set(text)) for text in ("", "0-3", "3-4")] == [0, 1, 2]


def test_a_machine_without_cpus_fits_no_pod() -> None:
    """An empty description is no error."""
    nothing = layout({})

    assert best_affinity(nothing, 0, 1) == NumaAffinity(0, 0, is_preferred=False)
    assert aligned(nothing, "best-effort", 0, 0, (1,)).cpus == 0
    assert aligned(nothing, "restricted", 0, 0, (1,)).refused == 0


@st.composite
def machines(draw: st.DrawFn) -> Detail:
    """Machines of any build, odd ones too: gaps in numbers, sockets and cores of all sizes, NUMA across sockets."""
    numbers = draw(st.lists(st.integers(0, 40), min_size=1, max_size=14, unique=True))
    place = st.tuples(st.sampled_from([0, 1, 2, 5]), st.sampled_from([0, 1, 7]), st.sampled_from([0, 1, 3]))
    return {cpu: draw(place) for cpu in numbers}


@given(machines(), st.data())
def test_the_best_numa_nodes_are_those_of_the_plain_form(detail: Detail, data: st.DataObject) -> None:
    """Without listing hints, whose number doubles with each NUMA node."""
    free = data.draw(st.sets(st.sampled_from(sorted(detail))))
    count = data.draw(st.integers(1, len(detail) + 1))
    numa = {place[0] for place in detail.values()}
    best, _ = plain.judged("restricted", numa, [{"cpu": plain.hints(detail, free, count)}])
    assert best.numa is not None

    found = best_affinity(layout(detail), cpu_set(free), count)

    assert found == NumaAffinity(cpus_of(detail, best.numa), len(best.numa), best.is_preferred)


@given(machines(), st.data())
def test_selections_are_those_of_the_plain_form(detail: Detail, data: st.DataObject) -> None:
    """The same CPUs, exactly as many as asked for, all of them free."""
    free = data.draw(st.sets(st.sampled_from(sorted(detail))))
    count = data.draw(st.integers(0, len(detail) + 1))
    expected = plain.taken(detail, free, count)

    found = select(layout(detail), cpu_set(free), count)

    assert (None if found is None else set(members(found))) == expected
    assert found is None or (found.bit_count() == count and not found & ~cpu_set(free))


@given(
    machines(),
    st.sampled_from(["single-numa-node", "restricted", "best-effort", "none", "other"]),
    st.integers(0, 3),
    st.lists(st.integers(0, 6), max_size=4),
    st.data(),
)
def test_alignment_is_that_of_the_plain_form(
    detail: Detail, policy: str, reserved: int, wanted: list[int], data: st.DataObject
) -> None:
    """Container by container, under every policy."""
    free = data.draw(st.sets(st.sampled_from(sorted(detail))))
    cpus, refused = plain.aligned(detail, policy, reserved, free, wanted)

    found = aligned(layout(detail), policy, reserved, cpu_set(free), tuple(wanted))

    assert (frozenset(members(found.cpus)), found.refused) == (cpus, refused)


def test_many_numa_nodes_cost_little() -> None:
    """Sixty have more sets than could ever be listed."""
    detail = {cpu: (cpu // 2, cpu // 60, cpu // 2) for cpu in range(120)}

    found = best_affinity(layout(detail), cpu_set(range(1, 120)), 81)

    assert (found.size, found.is_preferred) == (41, True)
    assert found.cpus == cpu_set(range(82))
