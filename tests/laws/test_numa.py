"""Laws of CPUs inside nodes, on generated clusters and random operations."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Session
from pyroclast.model.cpusets import as_text, cpu_set
from pyroclast.plugins.numa_aware.cpu_allocator import CpuAllocator, Inside
from pyroclast.testing import Scenario, open_session
from tests.differential.varied import with_topologies
from tests.drawing import examples
from tests.laws.clusters import PLUGINS, act_at_random, clusters, picture
from tests.numatopologies import guaranteed, numatopology

LAWS = settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def opened(scenario: Scenario, seed: int) -> tuple[Session, CpuAllocator]:
    """A session on nodes with Numatopologies, and its books of CPUs."""
    objects, _ = with_topologies(scenario.objects, 0.0, random.Random(seed))
    described = Scenario(objects).add(numatopology("elsewhere"))
    session = open_session(described, plugins=(*PLUGINS, ("numa-aware",)))
    (state,) = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, CpuAllocator)]
    return session, state


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_undo_restores_the_cpus(scenario: Scenario, seed: int, steps: int) -> None:
    """What is free inside each node, what tasks hold, and everything that plugins answer."""
    session, state = opened(scenario, seed)
    before = (picture(session), state.picture())
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)

    assert (picture(session), state.picture()) == before


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_no_cpu_is_given_twice(scenario: Scenario, seed: int, steps: int) -> None:
    """What was free at first is free still, or held by one task on that node."""
    session, state = opened(scenario, seed)
    at_first, _ = state.picture()
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)
        now, held = state.picture()
        placed = statement.placed()
    for column, (before, after) in enumerate(zip(at_first, now, strict=True)):
        if not isinstance(before, Inside) or not isinstance(after, Inside):
            assert before == after
            continue
        name = session.nodes.table.names[column]
        here = [cpus for task, cpus in held.items() if placed[task].node == name]
        assert sum(here) == before.free & ~after.free
        assert sum(cpus.bit_count() for cpus in here) == (before.free & ~after.free).bit_count()
        assert not after.free & ~before.free


@LAWS
@given(
    st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 2)), min_size=1),
    st.sampled_from(["single-numa-node", "restricted", "best-effort", "other", "none"]),
    st.lists(st.integers(1, 3), min_size=1, max_size=2),
    st.integers(0, 6),
    st.data(),
)
def test_a_fresh_count_equals_the_books(
    detail: dict[int, tuple[int, int, int]], policy: str, cpus: list[int], count: int, data: st.DataObject
) -> None:
    """Equal pods that a session placed keep their CPUs in the next one, though no object lists them."""
    free = as_text(cpu_set(data.draw(st.sets(st.sampled_from(sorted(detail))))))
    topology = numatopology("n", policy=policy, free=free, detail=detail, reserved="1", listed=["someone"])
    cluster = Scenario().node("n", cpu=64, memory="64Gi").add(topology)
    session = open_session(cluster.job("j", tasks=6, **guaranteed(*cpus)), plugins=("numa-aware",))
    (state,) = [ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, CpuAllocator)]
    (job,) = session.jobs.all()
    tasks = sorted(job.tasks.values(), key=lambda task: task.created)[:count]
    with session.statement() as statement:
        placed = [task for task in tasks if statement.allocate(job, [task], [0]) is None]
        statement.hold()

    running = cluster.running("j", on=["n"] * len(placed), **guaranteed(*cpus))
    (fresh,) = [
        ledger
        for _, ledger in open_session(running, plugins=("numa-aware",)).extensions.all_ledgers()
        if isinstance(ledger, CpuAllocator)
    ]
    assert fresh.picture()[0] == state.picture()[0]
