"""A gang that could start does: what it needs goes before what it could do without, where task order leads nowhere."""

from dataclasses import replace
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

PLUGINS = (("priority", "gang", "capacity", "predicates", "network-topology-aware"),)
RACKS = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
ROLES = {"worker": 1, "server": 1}


def gang(scenario: Scenario, *pods: str, roles: dict[str, int] | None = None, **group: Any) -> Outcome:
    """Run allocate for a job whose minimum is two.

    Args:
        scenario: The cluster.
        pods: Each a role and, behind a slash, its sub-group; in brackets where no node takes it.
        roles: Minimums by role.
        group: Laid over the PodGroup's spec.
    """
    scenario = scenario.job(
        "g", tasks=0, min_available=2, min_by_role=roles, phase="Inqueue", group={**group} if group else None
    )
    for number, pod in enumerate(pods):
        role, _, part = pod.strip("()").partition("/")
        spec = {"nodeSelector": {"disk": "none"}} if pod.startswith("(") else {}
        labels = {"part": part, "kind": part.rstrip("0123456789")}
        scenario = scenario.pod(f"g-{number}", job="g", role=role, labels=labels, spec=spec)
    return scenario.run("allocate", plugins=PLUGINS)


def plans(outcome: Outcome) -> list[list[int]]:
    """Return the numbers of the pods bound, plan by plan."""
    return [[int(bind.name.removeprefix("g-")) for bind in plan.binds] for plan in outcome.report.plans]


def policy(name: str, minimum: int, **more: Any) -> dict[str, Any]:
    """Return a policy that makes sub-groups of two of the pods of its kind."""
    selector = {"matchLabels": {"kind": name}}
    labels = {"labelSelector": selector, "matchLabelKeys": ["part"]}
    return {"name": name, "subGroupSize": 2, "minSubGroups": minimum, **labels, **more}


@pytest.mark.parametrize(("cpu", "bound"), [(1, []), (2, [[0, 3]]), (3, [[0, 3], [1]]), (4, [[0, 1, 2, 3]])])
def test_roles(cpu: int, bound: list[list[int]]) -> None:
    """Three workers come before the server: room for two is enough, and room for all is taken in task order."""
    scenario = Scenario().node("n", cpu=cpu)

    assert plans(gang(scenario, "worker", "worker", "worker", "server", roles=ROLES)) == bound


@pytest.mark.parametrize("topology", [{}, RACKS])
def test_the_room_of_a_queue(topology: dict[str, Any]) -> None:
    """The queue may have two, wherever they are; with a hard topology in one rack."""
    scenario = Scenario().queue("default", capability={"cpu": 2})
    for name in ("r0", "r1"):
        scenario = scenario.node(f"{name}-n", cpu=8).add(rack(name, f"{name}-n"))

    assert plans(gang(scenario, "worker", "worker", "worker", "server", roles=ROLES, **topology)) == [[0, 3]]


def test_roles_inside_a_sub_group() -> None:
    """The sub-group is of two, and two workers would fill it."""
    scenario = Scenario().node("n", cpu=2)
    outcome = gang(scenario, "worker/a0", "worker/a0", "server/a0", roles=ROLES, subGroupPolicy=[policy("a", 1)])

    assert plans(outcome) == [[0, 2]]


@pytest.mark.parametrize("topology", [{}, RACKS])
def test_sub_groups_that_are_needed(topology: dict[str, Any]) -> None:
    """The first needed sub-group does not fit; another one of its policy comes before one that is not needed."""
    scenario = Scenario().node("n", cpu=2).add(rack("r", "n"))
    policies = [policy("a", 1, **topology), policy("b", 0, **topology)]
    outcome = gang(scenario, "/a0", "(/a0)", "/a2", "/b1", "/b1", "/a2", subGroupPolicy=policies)

    assert plans(outcome) == [[2, 5]]


def test_room_that_is_being_released() -> None:
    """A gang that waits for room does so in task order."""
    scenario = Scenario().node("n", cpu=4)
    for number in range(2):
        scenario = scenario.pod(f"leaving-{number}", node="n")
    objects = tuple(
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": each["metadata"]["creationTimestamp"]}}
        if each["kind"] == "Pod"
        else each
        for each in scenario.objects
    )
    outcome = gang(replace(scenario, objects=objects), "worker", "worker", "worker", "server", roles=ROLES)

    assert (plans(outcome), sorted(outcome.pipelined)) == ([], ["g-2", "g-3"])


def test_a_gang_that_cannot_start_keeps_its_message() -> None:
    """No node takes the server, which is the cause; two workers had places in task order."""
    outcome = gang(Scenario().node("n", cpu=2), "worker", "worker", "worker", "(server)", roles=ROLES)

    assert plans(outcome) == []
    assert "Pending: 2 Schedulable, 2 Unschedulable. Origin reason is g-3" in outcome.why("g")
