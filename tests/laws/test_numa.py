"""Laws of CPUs inside nodes, on generated clusters and random operations."""

import random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plugins.numa_aware.books import CpuBooks, Inside
from pyroclast import Session
from pyroclast.testing import Scenario, open_session
from tests.differential.varied import with_topologies
from tests.laws.clusters import PLUGINS, act_at_random, clusters, picture
from tests.numatopologies import numatopology

LAWS = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def opened(scenario: Scenario, seed: int) -> tuple[Session, CpuBooks]:
    """A session on nodes with Numatopologies, and its books of CPUs."""
    objects, _ = with_topologies(scenario.objects, 0.0, random.Random(seed))
    described = Scenario(objects).add(numatopology("elsewhere"))
    session = open_session(described, plugins=(*PLUGINS, ("numa-aware",)))
    (books,) = [ledger for _, ledger in session.ledgers if isinstance(ledger, CpuBooks)]
    return session, books


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_undo_restores_the_cpus(scenario: Scenario, seed: int, steps: int) -> None:
    """What is free inside each node, what tasks hold, and everything that plugins answer."""
    session, books = opened(scenario, seed)
    before = (picture(session), books.picture())
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)

    assert (picture(session), books.picture()) == before


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_no_cpu_is_given_twice(scenario: Scenario, seed: int, steps: int) -> None:
    """What was free at first is free still, or held by one task on that node."""
    session, books = opened(scenario, seed)
    at_first, _ = books.picture()
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)
        now, held = books.picture()
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
