"""What an eviction won stays won: clusters that evict come to rest though every victim is made anew."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples

EXAMPLES = examples(12)
LAWS = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
CYCLES = 14
QUIET = 4
"""Cycles at the end in which nothing is evicted any more."""
PLUGINS: tuple[Any, ...] = (
    ("priority", "gang", "conformance"),
    ("overcommit", "drf", "predicates", "proportion", "nodeorder"),
)
EVICTING = [
    ("preempt",),
    ("reclaim",),
    ("gangpreempt",),
    ("gangreclaim",),
    ("preempt", "reclaim"),
    ("preempt", "reclaim", "gangpreempt", "gangreclaim"),
]


@st.composite
def crowded(draw: st.DrawFn) -> Scenario:
    """Draw two or three queues, up to three nodes that running jobs fill, and jobs that wait."""
    scenario = Scenario().priority_class("low", 1).priority_class("mid", 5).priority_class("high", 9)
    queues = ["red", "green", "blue"][: draw(st.integers(2, 3))]
    for queue in queues:
        scenario = scenario.queue(queue, weight=draw(st.integers(1, 3)))
    free = {}
    for number in range(draw(st.integers(1, 3))):
        cpu, gpu = draw(st.integers(2, 6)), draw(st.integers(1, 4))
        free[f"n{number}"] = [cpu, gpu]
        scenario = scenario.node(f"n{number}", cpu=cpu, gpu=gpu)
    for number in range(draw(st.integers(2, 6))):
        cpu, gpu = draw(st.integers(1, 3)), draw(st.integers(0, 2))
        tasks = draw(st.integers(1, 4))
        on: list[str] = []
        if draw(st.integers(0, 2)):
            for node, room in free.items():
                while len(on) < tasks and room[0] >= cpu and room[1] >= gpu:
                    on.append(node)
                    room[0], room[1] = room[0] - cpu, room[1] - gpu
        minimum = draw(st.integers(1, tasks))
        if len(on) < minimum:
            for node in on:
                free[node] = [free[node][0] + cpu, free[node][1] + gpu]
            on = []
        scenario = scenario.job(
            f"j{number}",
            tasks=tasks,
            min_available=minimum,
            queue=draw(st.sampled_from(queues)),
            cpu=cpu,
            gpu=gpu or None,
            running_on=on,
            priority_class=draw(st.sampled_from(["low", "mid", "high"])),
        )
    return scenario


def decide(scenario: Scenario, evicting: tuple[str, ...]) -> Outcome:
    """Run to a fixed point, every victim made anew."""
    return scenario.run(
        "enqueue", "allocate", *evicting, "backfill", plugins=PLUGINS, cycles=CYCLES, recreate_evicted=True
    )


@pytest.mark.parametrize("evicting", EVICTING)
@LAWS
@given(scenario=crowded())
def test_what_an_eviction_won_stays_won(scenario: Scenario, evicting: tuple[str, ...]) -> None:
    """Evictions end, no pod takes back what it lost, and who evicts runs where it was promised to."""
    outcome = decide(scenario, evicting)

    assert outcome.warnings == ()
    evictions_end(outcome)
    no_pod_takes_back_what_it_lost(outcome)
    beneficiaries_run_where_they_were_promised_to(outcome)


def evictions_end(outcome: Outcome) -> None:
    """The last cycles evict and bind nothing."""
    assert [plan for each in outcome.rounds[-QUIET:] for plan in each.plans] == []


def no_pod_takes_back_what_it_lost(outcome: Outcome) -> None:
    """If B's pod was bound by evicting A's, no later cycle evicts it for A's again; no pod is evicted twice."""
    assert len(set(outcome.evictions)) == len(outcome.evictions)
    won: set[tuple[str, str]] = set()
    for each in outcome.rounds:
        for plan in each.plans:
            winners = {nomination.name for nomination in plan.nominations}
            losers = {eviction.name for eviction in plan.evictions}
            pairs = {(winner, loser) for winner in winners for loser in losers}
            assert not {(loser, winner) for winner, loser in pairs} & won
            won |= pairs


def beneficiaries_run_where_they_were_promised_to(outcome: Outcome) -> None:
    """Victims are gone in the next cycle here: it binds every beneficiary to the node of its promise."""
    for before, after in zip(outcome.rounds, outcome.rounds[1:], strict=False):
        promised = {each.task: each.node for plan in before.plans for each in plan.nominations}
        bound = {each.task: each.node for plan in after.plans for each in plan.binds}
        assert promised.items() <= bound.items()
