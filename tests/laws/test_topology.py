"""Laws of topology domains: a hard topology is never crossed, and a plain search finds the same domain."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast.testing import Outcome, Scenario
from tests.drawing import examples
from tests.hypernodes import hyper_node

LAWS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLUGINS = (("priority", "gang"), ("predicates", "network-topology-aware", "nodeorder"))
RACKS_IN_ROW, NODES_IN_RACK = 2, 3


class Site:
    """Nodes in racks in rows, some of them busy or lost."""

    def __init__(self, rows: int, free: list[int]) -> None:
        self.free = {f"n{number:02d}": cpus for number, cpus in enumerate(free)}
        names = list(self.free)
        racks = [names[begin : begin + NODES_IN_RACK] for begin in range(0, len(names), NODES_IN_RACK)]
        self.domains: dict[str, tuple[int, list[str]]] = {f"a{n}": (1, rack) for n, rack in enumerate(racks)}
        for row in range(rows):
            inner = racks[row * RACKS_IN_ROW : (row + 1) * RACKS_IN_ROW]
            self.domains[f"b{row}"] = 2, [name for rack in inner for name in rack]

    def scenario(self) -> Scenario:
        """The nodes, of 8 CPUs each, filled up by single pods."""
        scenario = Scenario()
        for name, cpus in self.free.items():
            scenario = scenario.node(name, cpu=8)
            if cpus < 8:
                scenario = scenario.running(f"busy-{name}", on=[name], cpu=8 - cpus)
        for name, (tier, members) in self.domains.items():
            racks = [f"a{number}" for number in range(int(name[1:]) * 2, int(name[1:]) * 2 + 2)]
            scenario = scenario.add(hyper_node(name, tier, *(("Node", members) if tier == 1 else ("HyperNode", racks))))
        return scenario

    def crosses(self, used: set[str], tier: int) -> bool:
        """Return whether nodes lie in no domain up to a tier."""
        return bool(used) and not any(used <= set(of) for level, of in self.domains.values() if level <= tier)

    def plain_choice(self, tasks: int, cpu: int, tier: int) -> set[str] | None:
        """Try each domain by itself: the lowest tier that holds all, the fullest afterwards, then the lowest name."""
        for level in range(1, tier + 1):
            fitting = []
            for name, (own, members) in sorted(self.domains.items()):
                if own == level and sum(self.free[each] // cpu for each in members) >= tasks:
                    used = sum(8 - self.free[each] for each in members) + tasks * cpu
                    fitting.append((-used / (8 * len(members)), name))
            if fitting:
                return set(self.domains[min(fitting)[1]][1])
        return None


@st.composite
def sites(draw: st.DrawFn) -> Site:
    """Draw one to three rows."""
    rows = draw(st.integers(1, 3))
    count = rows * RACKS_IN_ROW * NODES_IN_RACK
    return Site(rows, draw(st.lists(st.integers(0, 8), min_size=count, max_size=count)))


def nodes_of(outcome: Outcome, job: str) -> set[str]:
    """Nodes of the pods of a job that were bound."""
    return {node for pod, node in outcome.bindings.items() if pod.rsplit("-", 1)[0] == job}


def hard(tier: int) -> dict[str, Any]:
    """The part of a PodGroup's spec."""
    return {"networkTopology": {"mode": "hard", "highestTierAllowed": tier}}


@LAWS
@given(sites(), st.integers(1, 30), st.integers(1, 4), st.integers(1, 2))
def test_a_gang_gets_the_domain_that_a_plain_search_finds(site: Site, tasks: int, cpu: int, tier: int) -> None:
    """All domains are scored: the array path and a loop over domains and nodes choose alike."""
    outcome = site.scenario().job("far", tasks=tasks, cpu=cpu, group=hard(tier)).run("allocate", plugins=PLUGINS)
    expected = site.plain_choice(tasks, cpu, tier)

    assert len(outcome.bindings) == (0 if expected is None else tasks)
    assert nodes_of(outcome, "far") <= (expected or set())


@LAWS
@given(sites(), st.lists(st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 2)), max_size=4), st.data())
def test_hard_topologies_are_never_crossed(site: Site, jobs: list[tuple[int, int, int]], data: st.DataObject) -> None:
    """With pods that run already, some of them on nodes that are lost, over several cycles."""
    scenario = site.scenario()
    lost = set(data.draw(st.lists(st.sampled_from(sorted(site.free)), max_size=2)))
    kept = tuple(each for each in scenario.objects if each["metadata"]["name"] not in lost)
    scenario = Scenario().add(*kept)
    begun: dict[str, set[str]] = {}
    for number, (tasks, cpu, tier) in enumerate(jobs):
        name = f"j{number}"
        roomy = [node for node, free in site.free.items() if free >= cpu and node not in lost]
        on = data.draw(st.lists(st.sampled_from(roomy), max_size=1)) if roomy else []
        for node in on:
            site.free[node] -= cpu
        begun[name] = set(on)
        scenario = scenario.job(
            name, tasks=tasks, min_available=data.draw(st.integers(1, tasks)), cpu=cpu, running_on=on, group=hard(tier)
        )

    outcome = scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, cycles=3)

    for number, (_, _, tier) in enumerate(jobs):
        name = f"j{number}"
        assert not site.crosses(nodes_of(outcome, name) | begun[name], tier)
