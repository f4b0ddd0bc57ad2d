"""What is left of the CPUs and amounts of a Reservation."""

from pyroclast.model.cpusets import as_text, read_cpu_set
from pyroclast.plugins.nodenuma.reserved_cpus import remaining
from pyroclast.plugins.nodenuma.usage import Holding


def test_what_owners_leave() -> None:
    """CPUs and amounts that they have beyond the Reservation do not count."""
    kept = Holding(read_cpu_set("0-3"), ((0, (("cpu", 4000), ("memory", 100))), (1, (("cpu", 2000),))))
    first = Holding(read_cpu_set("0,8"), ((0, (("cpu", 1000), ("memory", 500))),))
    second = Holding(read_cpu_set("1"), ((1, (("cpu", 2000),)), (3, (("cpu", 1000),))))
    left = remaining(kept, [first, second])

    assert as_text(left.cpus) == "2-3"
    assert left.amounts == ((0, (("cpu", 3000),)),)


def test_nothing_is_used() -> None:
    """All of it is left."""
    kept = Holding(3, ((0, (("cpu", 2000),)),), "PCPULevel")

    assert remaining(kept, []) == kept
