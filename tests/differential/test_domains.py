"""Runs by groups of nodes, and placing one by one with each node scored anew, decide alike."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pyroclast import Plugin, Session, contract
from tests.drawing import examples
from tests.laws.test_topology import Site, sites

ALIKE = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
PLUGINS: tuple[Any, ...] = ("gang", "predicates", "network-topology-aware", "binpack")


class OneByOne(Plugin):
    """A plugin that scores nothing, one node at a time, so that no run is placed in one go."""

    name = "one-by-one"

    def on_session_open(self, session: Session) -> None:
        """Register a score that only a call can tell."""
        session.extensions.register(contract.NODE_ORDER, self.name, lambda _task, _node: 0.0)


@ALIKE
@given(sites(), st.integers(1, 20), st.integers(1, 3), st.sampled_from(["hard", "soft", ""]))
def test_same_places(site: Site, tasks: int, cpu: int, mode: str) -> None:
    """For gangs with and without a topology, pod by pod."""
    topology = {"networkTopology": {"mode": mode, "highestTierAllowed": 2 if mode == "hard" else None}}
    scenario = site.scenario().job("far", tasks=tasks, cpu=cpu, group=topology if mode else None)

    fast = scenario.run("allocate", plugins=PLUGINS)
    slow = scenario.run("allocate", plugins=(*PLUGINS, OneByOne))

    assert fast.bindings == slow.bindings
