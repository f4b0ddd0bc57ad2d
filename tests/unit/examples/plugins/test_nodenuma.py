"""The example of docs/plugins/nodenuma.md."""

from fractions import Fraction

from pyroclast.model.cpusets import as_text, members, read_cpu_set
from pyroclast.model.nodenuma.amplified import amplified
from pyroclast.model.numa import CpuPlace, layout_of
from pyroclast.plugins.nodenuma.accumulate import take
from tests.nodenuma import LARGE
from tests.unit.examples.page import assert_tells

LAYOUT = layout_of(tuple(CpuPlace(cpu, *place) for cpu, place in sorted(LARGE.items())))
USED = read_cpu_set("0-1,16-17")


def cpus(policy: str, count: int, strategy: str) -> str:
    """CPUs of a pod, as the page prints them."""
    taken = take(LAYOUT, LAYOUT.cpus & ~USED, count, policy=policy, strategy=strategy)
    assert taken is not None
    return as_text(taken).replace("-", "\N{EN DASH}").replace(",", ", ")


def row(policy: str, count: int) -> str:
    """A row of the table."""
    return f"| {policy} | {count} | {cpus(policy, count, 'LeastAllocated')} | {cpus(policy, count, 'MostAllocated')} |"


def test_the_page() -> None:
    """CPUs by policy and strategy, and amplified amounts."""
    ratio = Fraction(3, 2)
    count = LAYOUT.cpus.bit_count()
    *first, last = map(str, members(USED))
    own, shared = amplified(4000, ratio) // 1000, amplified(4000, None) // 1000

    assert_tells(
        "plugins/nodenuma",
        f"of four cores with two CPUs: {count} CPUs, where core n has the CPUs n and n + {count // 2}",
        *(row("FullPCPUs", each) for each in (4, 6, 10, 20)),
        row("SpreadByPCPUs", 4),
        f"CPUs {', '.join(first)} and {last} are in use.",
        f"With ratio {float(ratio)} the node offers {amplified(count * 1000, ratio) // 1000} CPUs. "
        f"The four in use count {own}, and a pod with 4 CPUs of its own counts {own} more; "
        f"a pod that shares CPUs and requests 4 counts {shared}.",
    )
