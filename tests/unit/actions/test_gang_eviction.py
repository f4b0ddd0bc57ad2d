"""Gangpreempt and gangreclaim: room for whole gangs in one domain, or nothing happens."""

from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast.actions.gang_eviction import GangEvictionArgs
from pyroclast.framework.extension import contract
from pyroclast.framework.extension.contract import Plugin
from pyroclast.framework.session.session import Session
from pyroclast.model.tasks import Task
from pyroclast.testing import Outcome, Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "proportion"))
SPARED = {"volcano.sh/preemptable": "false"}


def gangpreempt(scenario: Scenario) -> Outcome:
    """Run the action alone."""
    return scenario.run("gangpreempt", plugins=PLUGINS)


def waiting(scenario: Scenario, tasks: int = 2, **more: Any) -> Scenario:
    """Add an important gang that waits, past the gate."""
    return scenario.job("high", tasks=tasks, phase="Inqueue", priority_class="high", **more)


def cluster(nodes: int = 1) -> Scenario:
    """Return nodes of 4 CPU and three priority classes."""
    scenario = Scenario()
    for name, value in (("middle", 10), ("high", 100), ("higher", 200)):
        scenario = scenario.priority_class(name, value)
    for number in range(1, nodes + 1):
        scenario = scenario.node(f"n{number}", cpu=4)
    return scenario


def full(minimum: int, nodes: int = 1, **more: Any) -> Scenario:
    """Return nodes of 4 CPU full of one gang of little importance."""
    on = [f"n{number}" for number in range(1, nodes + 1) for _ in range(4)]
    return cluster(nodes).running("low", on=on, min_available=minimum, **more)


def test_a_gang_loses_what_it_can_spare() -> None:
    """Two of four, minimum two: the last ones go."""
    assert sorted(gangpreempt(waiting(full(2))).evictions) == ["low-2", "low-3"]


def test_a_gang_that_can_spare_nothing_goes_whole() -> None:
    """Minimum four: all four go for two, for half a gang is of no use."""
    assert sorted(gangpreempt(waiting(full(4))).evictions) == ["low-0", "low-1", "low-2", "low-3"]


def test_a_gang_goes_whole_on_all_its_nodes() -> None:
    """Eight pods on two nodes, minimum eight: none is left behind on the other node."""
    assert len(gangpreempt(waiting(full(8, nodes=2))).evictions) == 8


def test_whole_gangs_can_be_spared_by_an_argument() -> None:
    """Without `allowWholeBundle` no pod is evicted if none can be spared."""
    outcome = waiting(full(4)).run(
        "gangpreempt", plugins=PLUGINS, arguments={"gangpreempt": {"allowWholeBundle": False}}
    )

    assert outcome.evictions == []
    assert "gangpreempt" in outcome.why("high")


@pytest.mark.parametrize(("kind", "gone"), [("", ["rich-0", "rich-1"]), ("middle", ["whole-0", "whole-1"])])
def test_gangs_that_can_spare_go_before_equal_whole_ones(kind: str, gone: list[str]) -> None:
    """A gang stays whole because another of its priority can spare two; one of a higher priority is not touched."""
    scenario = cluster().running("whole", on=["n1"] * 2, min_available=2)
    scenario = scenario.running("rich", on=["n1"] * 2, min_available=0, priority_class=kind)

    assert sorted(gangpreempt(waiting(scenario)).evictions) == gone


def test_a_gang_that_does_not_fit_evicts_no_pod() -> None:
    """Five pods on four CPUs."""
    assert gangpreempt(waiting(full(1), tasks=5)).evictions == []


def test_no_more_go_than_are_needed() -> None:
    """One of two CPUs is free already: one victim is enough."""
    scenario = cluster().running("low", on=["n1"] * 3, min_available=1)

    assert gangpreempt(waiting(scenario)).evictions == ["low-2"]


@pytest.mark.parametrize("priority", ["high", "higher"])
def test_only_less_important_jobs_give_way(priority: str) -> None:
    """Equals and betters stay."""
    assert gangpreempt(waiting(full(1, priority_class=priority))).evictions == []


def test_a_pod_group_that_forbids_it_loses_no_pod() -> None:
    """`volcano.sh/preemptable: "false"` of the group."""
    assert gangpreempt(waiting(full(1, annotations=SPARED))).evictions == []


def test_gangreclaim_takes_what_another_queue_does_not_deserve() -> None:
    """Two queues of equal weight share four CPUs."""
    scenario = Scenario().queue("a").queue("b").node("n1", cpu=4)
    scenario = scenario.running("rich", on=["n1"] * 4, queue="a", min_available=1)
    scenario = scenario.job("poor", tasks=2, queue="b", phase="Inqueue")

    outcome = scenario.run("gangreclaim", plugins=PLUGINS)

    assert sorted(outcome.evictions) == ["rich-2", "rich-3"]


@pytest.mark.parametrize(("given", "counts"), [(8, 8), (3, 3), (0, 8), (-1, 8)])
def test_most_domains(given: int, counts: int) -> None:
    """Nothing and less mean the default."""
    assert GangEvictionArgs(maxDomains=given).most_domains == counts


def test_members_without_requests_need_places_too() -> None:
    """All places for pods are taken: one victim goes for the member that asks for CPU, one for the other."""
    scenario = cluster(nodes=0).node("n1", cpu=4, pods=4).running("low", on=["n1"] * 4)
    scenario = scenario.job("high", tasks=0, min_available=2, phase="Inqueue", priority_class="high")
    scenario = scenario.pod("high-0", job="high").pod("high-1", job="high", cpu=None)
    outcome = gangpreempt(scenario)

    assert outcome.evictions == ["low-3", "low-2"]
    assert set(outcome.pipelined) == {"high-0", "high-1"}


def test_pods_that_may_not_preempt_evict_no_pod() -> None:
    """`preemptionPolicy: Never` of the gang's pods."""
    assert gangpreempt(waiting(full(1), pod={"preemptionPolicy": "Never"})).evictions == []


class Counting(Plugin):
    """A plugin that permits all evictions and counts the candidates."""

    name = "counting"
    watches_clock = True
    in_turn = False
    asked: list[int] = []  # noqa: RUF012  # the class is built anew in each cycle

    def on_session_open(self, session: Session) -> None:
        """Register."""

        def permit(_: object, candidates: Sequence[Task]) -> list[Task]:
            self.asked.append(len(candidates))
            return list(candidates)

        session.extensions.register(contract.UNIFIED_EVICTABLE, self.name, permit, in_turn=self.in_turn)


@pytest.mark.parametrize(("in_turn", "most"), [(True, 64), (False, 100)])
def test_no_more_candidates_are_asked_about_than_plugins_need_to_see(in_turn: bool, most: int) -> None:
    """One of a hundred is needed: plugins that judge in turn see the first of them, with any other all are seen."""
    Counting.in_turn = in_turn
    Counting.asked.clear()
    scenario = Scenario().priority_class("high", 10).node("n1", cpu=100, pods=200)
    scenario = scenario.running("low", on=["n1"] * 100, queue="q").job(
        "high", tasks=1, queue="q", priority_class="high", phase="Inqueue"
    )

    outcome = scenario.run(
        "gangpreempt",
        plugins=(("priority", "gang", Counting, "predicates"),),
        arguments={"gangpreempt": {"leastHarm": False}},
    )

    assert outcome.evictions == ["low-99"]
    assert max(Counting.asked) == most
