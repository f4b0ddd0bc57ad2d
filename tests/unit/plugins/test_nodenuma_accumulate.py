"""Which CPUs a pod gets; the numbers are those of Koordinator's own tests."""

import pytest

from pyroclast.model.cpusets import as_text, read_cpu_set
from pyroclast.model.numa import CpuLayout, CpuPlace, layout_of
from pyroclast.plugins.nodenuma.accumulate import Exclusive, cpus_per_core, satisfies, take, take_preferred, usable

FULL, SPREAD = "FullPCPUs", "SpreadByPCPUs"
MOST, LEAST = "MostAllocated", "LeastAllocated"
CORES, NUMA = "PCPULevel", "NUMANodeLevel"


def machine(sockets: int, numa_nodes: int, cores: int, threads: int = 2) -> CpuLayout:
    """A machine whose CPUs are numbered core by core: by sockets, NUMA nodes of each, and cores of each of these."""
    places = []
    for cpu in range(sockets * numa_nodes * cores * threads):
        core = cpu // threads
        numa = core // cores
        places.append(CpuPlace(cpu, numa, numa // numa_nodes, core))
    return layout_of(tuple(places))


def free(layout: CpuLayout, used: str) -> int:
    """The CPUs that are not in use."""
    return layout.cpus & ~read_cpu_set(used)


@pytest.mark.parametrize(
    ("shape", "used", "count", "most", "least"),
    [
        ((1, 1, 4), "", 2, "0-1", "0-1"),
        ((1, 1, 4), "0-1", 2, "2-3", "2-3"),
        ((2, 1, 4), "", 8, "0-7", "0-7"),
        ((2, 1, 4), "", 12, "0-11", "0-11"),
        ((2, 1, 4), "0-1", 8, "8-15", "8-15"),
        ((2, 2, 4), "0-5,16-23", 6, "24-29", "8-13"),
        ((2, 2, 4), "0-5,16-23", 12, "6-15,24-25", "6-15,24-25"),
        ((2, 2, 4), "0-3,8-11", 4, "4-7", "16-19"),
        ((2, 2, 2), "0,2,4,8,12", 4, "10-11,14-15", "10-11,14-15"),
        ((2, 2, 2), "0,2,4,8,10,12", 6, "5-7,13-15", "1,3,6-7,14-15"),
        ((2, 2, 2), "0,2,4,8-10,12", 6, "6-7,11,13-15", "1,3,6-7,14-15"),
        ((2, 2, 4), "0,2,4,8-10,12", 6, "16-21", "16-21"),
    ],
)
def test_whole_cores(shape: tuple[int, int, int], used: str, count: int, most: str, least: str) -> None:
    """Within one NUMA node, one socket, or as few as possible; split cores only where none is left."""
    layout = machine(*shape)
    available = free(layout, used)

    assert as_text(take(layout, available, count, policy=FULL, strategy=MOST) or 0) == most
    assert as_text(take(layout, available, count, policy=FULL, strategy=LEAST) or 0) == least


@pytest.mark.parametrize(
    ("shape", "used", "count", "most", "least"),
    [
        ((1, 1, 4), "", 4, "0,2,4,6", "0,2,4,6"),
        ((2, 1, 4), "0,2", 4, "1,3-4,6", "8,10,12,14"),
        ((2, 1, 4), "0-3", 4, "8,10,12,14", "8,10,12,14"),
        ((2, 1, 4), "0,2", 6, "1,3-7", "8-12,14"),
        ((2, 1, 16), "", 2, "0,2", "0,2"),
    ],
)
def test_cpus_of_different_cores(shape: tuple[int, int, int], used: str, count: int, most: str, least: str) -> None:
    """Second CPUs of cores follow only where the NUMA node has no other."""
    layout = machine(*shape)
    available = free(layout, used)

    assert as_text(take(layout, available, count, policy=SPREAD, strategy=MOST) or 0) == most
    assert as_text(take(layout, available, count, policy=SPREAD, strategy=LEAST) or 0) == least


@pytest.mark.parametrize(
    ("shape", "used", "policies", "count", "expected"),
    [
        ((2, 1, 4), "0,2", (CORES, CORES, SPREAD), 4, "8,10,12,14"),
        ((2, 1, 4), "", (CORES, CORES, SPREAD), 10, "0-4,6,8,10,12,14"),
        ((2, 1, 8), "0,2", (CORES, CORES, SPREAD), 4, "4,6,8,10"),
        ((2, 1, 8), "0,2", (CORES, "", SPREAD), 4, "1,3-4,6"),
        ((2, 1, 4), "0,2", (NUMA, NUMA, SPREAD), 4, "8,10,12,14"),
        ((2, 1, 4), "0,2", (NUMA, "", SPREAD), 4, "1,3-4,6"),
        ((2, 1, 4), "0,2", (NUMA, NUMA, FULL), 4, "8-11"),
        ((2, 1, 4), "0,2", (NUMA, "", FULL), 4, "4-7"),
    ],
)
def test_exclusive_policies_are_best_effort(
    shape: tuple[int, int, int], used: str, policies: tuple[str, str, str], count: int, expected: str
) -> None:
    """Cores or NUMA nodes of pods with the same policy come last. Policies are theirs, the pod's, and that of CPUs."""
    theirs, own, policy = policies
    layout, held = machine(*shape), read_cpu_set(used)
    exclusive = Exclusive(own, held if theirs == CORES else 0, held if theirs == NUMA else 0)
    taken = take(layout, free(layout, used), count, policy=policy, exclusive=exclusive, strategy=MOST)

    assert as_text(taken or 0) == expected


def test_preferred_cpus_come_first() -> None:
    """The rest follows by the same rule."""
    layout = machine(2, 1, 16)
    preferred = read_cpu_set("11,13,15,17")

    def chosen(count: int) -> str:
        return as_text(
            take_preferred(layout, layout.cpus, count, policy=SPREAD, preferred=preferred, strategy=MOST) or 0
        )

    assert chosen(2) == "11,13"
    assert chosen(5) == "0,11,13,15,17"


def test_too_few_cpus() -> None:
    """No CPU is chosen."""
    layout = machine(1, 1, 2)

    assert take(layout, free(layout, "0"), 4, policy=FULL) is None
    assert take_preferred(layout, free(layout, "0"), 4, policy=FULL, preferred=2) is None
    assert take(layout, layout.cpus, 0, policy=FULL) == 0


def test_a_required_policy_narrows_the_free_cpus() -> None:
    """Whole cores, or the first free CPU of each core."""
    layout = machine(1, 1, 4)
    available = free(layout, "0,5")

    assert as_text(usable(layout, available, FULL)) == "2-3,6-7"
    assert as_text(usable(layout, available, SPREAD)) == "1-2,4,6"
    assert usable(layout, available, "") == available


def test_a_required_policy_is_verified() -> None:
    """Whole cores; or no two CPUs of a core."""
    layout = machine(1, 1, 4)

    assert satisfies(layout, read_cpu_set("0-3"), FULL)
    assert not satisfies(layout, read_cpu_set("0-2"), FULL)
    assert satisfies(layout, read_cpu_set("0,2"), SPREAD)
    assert not satisfies(layout, read_cpu_set("0-1"), SPREAD)
    assert satisfies(layout, read_cpu_set("0-2"), "")


def test_cores_of_one_cpu() -> None:
    """Both policies take whole cores."""
    layout = machine(2, 1, 4, threads=1)

    assert cpus_per_core(layout) == 1
    assert as_text(take(layout, free(layout, "0"), 3, policy=SPREAD, strategy=MOST) or 0) == "1-3"
    assert as_text(take(layout, free(layout, "0"), 3, policy=SPREAD, strategy=LEAST) or 0) == "4-6"


def test_a_core_with_a_cpu_offline_is_never_whole() -> None:
    """CPU 7 is offline: FullPCPUs takes CPUs 0 and 1, and neither half of a core in use nor CPU 6."""
    layout = layout_of(tuple(CpuPlace(cpu, 0, 0, cpu // 2) for cpu in range(7)))

    assert cpus_per_core(layout) == 2
    assert as_text(usable(layout, free(layout, "2,5"), FULL)) == "0-1"
    assert not satisfies(layout, read_cpu_set("3,6"), FULL)
    assert satisfies(layout, read_cpu_set("0-1"), FULL)
