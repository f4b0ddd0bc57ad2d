"""S4: one of two gangs that each need the whole cluster gets it, and no other a part (Volcano issue 3373)."""

from collections.abc import Iterable
from typing import Any

from pyroclast.testing import Scenario

ACTIONS = ("enqueue", "allocate", "backfill")
PLUGINS = (("priority", "gang", "conformance"), ("overcommit", "drf", "predicates", "proportion", "nodeorder"))


def apart(name: str) -> dict[str, Any]:
    """Return an anti-affinity by host against pods of the same gang."""
    term = {"labelSelector": {"matchLabels": {"gang": name}}, "topologyKey": "kubernetes.io/hostname"}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def nodes_and_groups() -> Scenario:
    """Return four nodes that take a pod each, and two gangs of four without pods, g1 the older one."""
    scenario = Scenario()
    for number in range(4):
        scenario = scenario.node(f"n{number}", cpu=1)
    return scenario.job("g1", tasks=0, min_available=4).job("g2", tasks=0, min_available=4)


def with_pods(scenario: Scenario, numbers: Iterable[int]) -> Scenario:
    """Add pods of both gangs, by number, those of g1 first."""
    for gang in ("g1", "g2"):
        for number in numbers:
            scenario = scenario.pod(f"{gang}-{number}", job=gang, labels={"gang": gang}, spec=apart(gang))
    return scenario


HALF = with_pods(nodes_and_groups(), (0, 1))
WHOLE = with_pods(HALF, (2, 3))


def test_nothing_is_bound_while_no_gang_is_complete() -> None:
    """Two pods of each are there: neither gang can run."""
    outcome = HALF.run(*ACTIONS, plugins=PLUGINS, cycles=2)

    assert outcome.bindings == {}
    assert "valid: 2, min: 4" in outcome.why("g2")


def test_the_earlier_gang_gets_all_nodes_when_the_rest_has_come() -> None:
    """The other gets none, and has the number of missing members and the jobs whose end would let it run."""
    outcome = HALF.run(*ACTIONS, plugins=PLUGINS, cycles=4, later={2: WHOLE})
    first, second = outcome.rounds[:2]

    assert first.plans == ()
    assert [bind.name for plan in second.plans for bind in plan.binds] == [f"g1-{number}" for number in range(4)]
    assert sorted(outcome.bindings.values()) == [f"n{number}" for number in range(4)]
    assert outcome.is_at_rest
    for done in outcome.rounds[1:]:
        (verdict,) = done.report.refusals["default/g2"]  # type: ignore[index]  # a plain string does
        assert (verdict.reason, verdict.fits_when) == ("NotEnoughResources", ("default/g1",))
    message = outcome.conditions("g2")["Unschedulable"].message
    assert message.startswith("4/4 tasks in gang unschedulable: ")
    assert message.endswith("fits when default/g1 ends")
    for number in range(4):
        assert outcome.refusals_of_pod(f"g2-{number}")[-1].counts == {"Insufficient cpu": 4}
        assert outcome.refusals_of_pod(f"g2-{number}")[-1].amounts == {"cpu": (1000, 0)}
