"""Laws of what nodes are taken to use, on generated clusters and random operations."""

import random

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Session
from pyroclast.plugins.load_aware.loads import Loads
from pyroclast.testing import Scenario, open_session
from tests.differential.varied import with_node_metrics
from tests.drawing import examples
from tests.laws.clusters import PLUGINS, act_at_random, clusters, picture

LAWS = settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOW = 1_800_000_000.0


def opened(scenario: Scenario, seed: int) -> tuple[Session, Loads | None]:
    """A session on nodes with measurements, and its loads; None where nothing could be read of any node."""
    objects, arguments = with_node_metrics(scenario.objects, NOW, random.Random(seed))
    plugins = (*PLUGINS, ("load-aware",))
    session = open_session(Scenario(objects), plugins=plugins, arguments={"load-aware": arguments}, now=NOW)
    assert session.extensions.failures == {}
    return session, next((ledger for _, ledger in session.extensions.all_ledgers() if isinstance(ledger, Loads)), None)


def tables(loads: Loads | None) -> list[bytes]:
    """Usage of each node, in every way that it is queried."""
    return [] if loads is None else [table.tobytes() for table in loads._tables.values()]


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_undo_restores_the_loads(scenario: Scenario, seed: int, steps: int) -> None:
    """And everything that plugins answer."""
    session, loads = opened(scenario, seed)
    before = picture(session), tables(loads)
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)

    assert (picture(session), tables(loads)) == before


@LAWS
@given(clusters(), st.integers(0, 2**32), st.integers(1, 16))
def test_running_loads_are_those_that_a_fresh_look_gives(scenario: Scenario, seed: int, steps: int) -> None:
    """At what is measured and at all tasks as they are on the nodes by then."""
    session, loads = opened(scenario, seed)
    with session.statement() as statement:
        act_at_random(session, statement, random.Random(seed), steps)
        on_nodes = [dict(session.nodes.tasks_on(column)) for column in range(len(session.nodes))]
        if loads is not None:
            fresh = Loads(loads._loads, loads._estimates)
            assert all(np.array_equal(each, fresh.table(of, on_nodes)) for of, each in loads._tables.items())
