"""Gangs with a topology that fit no domain delay their own namespace only, and each domain is tried in the end."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from pyroclast.framework.placement import placing_sub_jobs
from pyroclast.framework.placement.topology import placing
from pyroclast.framework.session.namespace_windows import SHARE_USED
from pyroclast.model.ids import JobId
from pyroclast.testing import Outcome, Scenario
from tests.gangs import annotated
from tests.hypernodes import rack
from tests.native import native_group, of_native
from tests.network_layers import gathered, network_topology

NOISY: Final = "noisy"
PLUGINS: Final = (("coscheduling", "priority", "gang"), ("predicates", "proportion", "network-topology-aware"))
ARGUMENTS: Final = {"coscheduling": {"awareNetworkTopology": True}}
WITHIN_RACK: Final = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}


def racks(count: int) -> Scenario:
    """Racks of two nodes, with 4 and 2 CPU."""
    scenario = Scenario().queue("default")
    for number in range(count):
        scenario = with_rack(scenario, f"n{number:04}", 4)
    return scenario


def with_rack(scenario: Scenario, name: str, cpu: int) -> Scenario:
    """Add a rack of two nodes, one of them with 2 CPU. Each is a block of its own."""
    for node, size in ((name, cpu), (f"{name}-small", 2)):
        scenario = scenario.node(node, cpu=size, labels={"net/block": node})
    return scenario.add(rack(f"r-{name}", name, f"{name}-small"))


def with_gangs(scenario: Scenario, count: int) -> Scenario:
    """Add gangs of two unlike pods, of which each rack holds one or the other."""
    for number in range(count):
        name = f"g{number}"
        scenario = scenario.job(name, tasks=0, min_available=2, namespace=NOISY, phase="Inqueue", group=WITHIN_RACK)
        for cpu in ("3", "2500m"):
            scenario = scenario.pod(f"{name}-{cpu}", job=name, namespace=NOISY, cpu=cpu)
    return scenario


def with_native_gangs(scenario: Scenario, count: int) -> Scenario:
    """Add native groups whose pods need one value of the label of hosts."""
    for number in range(count):
        name = f"g{number}"
        scenario = scenario.add(native_group(name, 2, namespace=NOISY, key="kubernetes.io/hostname"))
        for cpu in ("3", "2500m"):
            scenario = scenario.pod(f"{name}-{cpu}", namespace=NOISY, cpu=cpu, spec=of_native(name))
    return scenario


def with_gathered_gangs(scenario: Scenario, count: int) -> Scenario:
    """Add gangs of Koordinator that must be in one block, in which their pods cannot be."""
    scenario = scenario.add(network_topology())
    for number in range(count):
        annotations = annotated(f"g{number}", 2, more=gathered("BlockLayer"))
        for cpu in ("1", "1500m"):
            container = {
                "name": "main",
                "resources": {"requests": {"cpu": cpu}},
                "ports": [{"containerPort": 80, "hostPort": 80}],
            }
            scenario = scenario.pod(
                f"g{number}-{cpu}", namespace=NOISY, annotations=annotations, spec={"containers": [container]}
            )
    return scenario


@pytest.fixture(name="trials")
def _trials(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the trials of domains."""
    counted = [0]

    def place_part(*given: object, **named: object) -> bool:
        counted[0] += 1
        return placing_sub_jobs.place_part(*given, **named)  # type: ignore[arg-type]  # as it was called

    monkeypatch.setattr(placing, "place_part", place_part)
    return counted


def decided(scenario: Scenario, cycles: int = 1, *, steps: int = 512) -> Outcome:
    """Run cycles with a share of each namespace."""
    arguments: dict[str, Mapping[str, Any]] = {**ARGUMENTS, "allocate": {"namespaceTrials": steps}}
    return scenario.run("allocate", plugins=PLUGINS, arguments=arguments, cycles=cycles)


@pytest.mark.parametrize("more", [with_gangs, with_native_gangs, with_gathered_gangs])
def test_the_trials_of_a_namespace_are_limited(more: object, trials: list[int]) -> None:
    """Eight gangs and 200 domains are 1,600 trials; a cycle makes a few hundred, and places the jobs of others."""
    assert callable(more)
    outcome = decided(more(racks(200), 8).job("other", cpu=1))

    assert 0 < trials[0] <= 512 // 2
    assert set(outcome.bindings) == {"other-0"}


def test_the_limit_can_be_disabled(trials: list[int]) -> None:
    """Without a share each gang is tried in each domain of every cycle, as by Volcano."""
    decided(with_gangs(racks(200), 3), steps=0)

    assert trials[0] == 3 * 200


def test_each_gang_has_its_turn_and_keeps_the_reason_of_the_last_one() -> None:
    """A share of two trials: three gangs and five racks take several cycles, and then every gang has a reason."""
    outcome = decided(with_gangs(racks(5), 3), cycles=20, steps=6)

    last = outcome.rounds[-1].report.refusals
    for number in range(3):
        seen = [each.report.refusals.get(JobId(f"{NOISY}/g{number}")) for each in outcome.rounds]
        reasons = [found[0].reason for found in seen if found]
        assert reasons[0] in {SHARE_USED, "NoDomainFits"}
        assert "NoDomainFits" in reasons
        assert SHARE_USED not in reasons[reasons.index("NoDomainFits") :]
    assert not last or all(found[0].reason == "NoDomainFits" for found in last.values())


@pytest.mark.parametrize("share", [3, 6, 7, 100])
def test_a_domain_that_fits_is_found_in_a_later_cycle(share: int) -> None:
    """The last of nine racks takes the gang: a cut search goes on with the racks that it has not tried."""
    scenario = with_gangs(with_rack(racks(8), "n9999", 6), 1)
    scenario = scenario.job("runs", cpu="500m", running_on=["n0000"])  # the fullest rack is tried first
    outcome = decided(scenario, cycles=12, steps=share)

    assert set(outcome.bindings.values()) == {"n9999"}


def test_a_gang_with_sub_groups_is_placed_in_a_later_cycle() -> None:
    """The last of five racks takes both sub-groups, and no cycle tries more than one rack."""
    policy = {"name": "part", "matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": 2}
    group = {"subGroupPolicy": [{**policy, **WITHIN_RACK}], **WITHIN_RACK}
    scenario = Scenario().queue("default")
    for number in range(5):
        names = [f"n{number}-{node}" for node in range(2)]
        for name in names:
            scenario = scenario.node(name, cpu=4 if number < 4 else 6)
        scenario = scenario.add(rack(f"r{number}", *names))
    scenario = scenario.job("g", tasks=0, min_available=4, namespace=NOISY, phase="Inqueue", group=group)
    for part in range(2):
        for cpu in ("3", "2500m"):
            scenario = scenario.pod(f"g-{part}-{cpu}", job="g", namespace=NOISY, cpu=cpu, labels={"part": f"p{part}"})
    outcome = decided(scenario, cycles=12, steps=2)

    assert {node[:2] for node in outcome.bindings.values()} == {"n4"}
    assert len(outcome.bindings) == 4
