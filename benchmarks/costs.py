"""Costs: what each plugin and each action adds to a cycle at 5,000 nodes."""

import statistics
from collections.abc import Iterator

from benchmarks import clusters
from benchmarks.clusters import Object, gang
from benchmarks.cycles import DEFAULT, UNSUITED, Bench, built_in, collector_off, entry
from benchmarks.inputs import drawn
from pyroclast.cache.files.objects import state_from_objects

__all__ = ["table"]

NODES, PODS = 5000, 4000


def busy_and_waiting(nodes: int = NODES, pods: int = PODS) -> Iterator[Object]:
    """Nodes in domains with something on each, pods that find places, and gangs that find none."""
    yield from clusters.queues()
    yield from clusters.nodes(nodes)
    yield from clusters.hyper_nodes(nodes, (25, 250, 1250))
    for number in range(nodes):
        on = [f"node-{number:05d}"] * 4
        queue = f"queue-{number % 4 + 1}"
        yield from gang(f"runs-{number}", queue, members=4, second=0, cpu=4, phase="Running", nodes_of=on)
    for number in range(pods // 200):
        yield from gang(f"gang-{number}", f"queue-{number % 4 + 1}", members=100, second=number)
    yield from clusters.single_jobs("single", pods // 2)
    for number in range(nodes // 250):
        queue = f"queue-{number % 4 + 1}"
        yield from gang(f"large-{number}", queue, members=10, second=number, cpu=30, phase="Inqueue")


def table(runs: int, seed: int = 0, *, nodes: int = NODES, pods: int = PODS) -> Iterator[str]:
    """Yield the lines of the table; a plugin's cost is a cycle with it less one without, by turns, the median."""
    state = state_from_objects(drawn(busy_and_waiting(nodes, pods), seed))
    with collector_off():
        usual = Bench(state)
        cycles = [usual.cycle() for _ in range(runs + 1)][1:]
        yield f"| what | a cycle at {nodes:,} nodes that places {cycles[0].binds:,} pods |"
        yield "|---|---|"
        seconds = statistics.median(each.seconds for each in cycles)
        yield f"| default configuration | {seconds * 1000:.0f} ms |"
        for name, seconds in _actions(Bench(state, _with_all_actions()), runs).items():
            yield f"| action {name} | {seconds * 1000:.0f} ms |"
        for name in built_in().names():
            if name not in UNSUITED - {"proportion"}:
                less, more = (Bench(state, text) for text in _without_and_with(name))
                pairs = [(less.cycle().seconds, more.cycle().seconds) for _ in range(runs + 1)][1:]
                added = statistics.median(with_it - without for without, with_it in pairs)
                yield f"| plugin {name} | {added * 1000:+.0f} ms |"


def _actions(bench: Bench, runs: int) -> dict[str, float]:
    measured = [bench.cycle().phases for _ in range(runs + 1)][1:]
    names = [name for name in measured[0] if name.startswith("action/")]
    return {name.removeprefix("action/"): statistics.median(each[name] for each in measured) for name in names}


def _with_all_actions() -> str:
    first = ("enqueue", "allocate", "backfill")
    others = (name for name in built_in().action_names() if name not in first)
    return DEFAULT.replace("enqueue, allocate, backfill", ", ".join((*first, *others)))


def _without_and_with(name: str) -> tuple[str, str]:
    """Return the default configuration without a plugin, and with it."""
    named = entry(name)
    if named in DEFAULT:
        return DEFAULT.replace(f", {named}", "").replace(f"{named}, ", ""), DEFAULT
    base = DEFAULT.replace(", {name: proportion}", "") if name == "capacity" else DEFAULT
    return base, f"{base}- plugins: [{named}]\n"
