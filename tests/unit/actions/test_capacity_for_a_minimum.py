"""Actions that evict make room for what makes a job ready: its minimum by number, by role and by sub-groups."""

from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario

PLUGINS = (("priority", "gang", "conformance"), ("predicates", "capacity"))
ACTIONS = ("preempt", "reclaim", "gangpreempt", "gangreclaim")
BASE = Scenario().queue("own", deserved={"cpu": 64}).queue("other", deserved={"cpu": 1})
BASE = BASE.priority_class("low", 1).priority_class("high", 9)


def evicting(action: str, pods: str, minimum: int, *, nodes: int = 1, cpu: int = 8, **more: Any) -> Outcome:
    """Run an action for a job where nodes are full of small pods.

    Args:
        action: The action.
        pods: The job's pods in task order, each a role and a sub-group; a `!` at the end forbids evictions for it, a
            `?` asks for a node that is not there.
        minimum: The job's minimum.
        nodes: How many there are.
        cpu: CPU of each node.
        more: `roles`, `size` and `parts`: minimums by role, the size of sub-groups, and how many of them are needed.
    """
    scenario = BASE
    for number in range(nodes):
        scenario = scenario.node(f"n{number}", cpu=cpu, labels={"rack": str(number)})
        queue = "other" if "reclaim" in action else "own"
        scenario = scenario.running(
            f"v{number}", on=[f"n{number}"] * cpu, queue=queue, min_available=0, priority_class="low"
        )
    policy = {"name": "part", "matchLabelKeys": ["part"], "subGroupSize": more.get("size", 2)}
    policy["minSubGroups"] = more.get("parts", 0)
    scenario = scenario.job(
        "j",
        tasks=0,
        min_available=minimum,
        min_by_role=more.get("roles"),
        queue="own",
        priority_class="high",
        phase="Inqueue",
        group={"subGroupPolicy": [policy]} if "parts" in more else {},
    )
    specs: dict[str, Any] = {"!": {"preemptionPolicy": "Never"}, "?": {"nodeSelector": {"rack": "none"}}}
    for number, pod in enumerate(pods.split()):
        scenario = scenario.pod(
            f"j-{number}", job="j", role=pod[0], labels={"part": pod[1]}, priority=9, spec=specs.get(pod[2:])
        )
    return scenario.run(action, plugins=PLUGINS)


def placed(outcome: Outcome) -> str:
    """Return the numbers of the pods that got room; as many others went."""
    assert len(outcome.evictions) == len(outcome.pipelined)
    return "".join(sorted(name.removeprefix("j-") for name in outcome.pipelined))


@pytest.mark.parametrize("action", ACTIONS)
def test_whole_sub_groups(action: str) -> None:
    """The first four are of four sub-groups, of which two are needed."""
    assert placed(evicting(action, "-0 -1 -2 -3 -0 -1 -2 -3", 4, parts=2)) == "0145"


@pytest.mark.parametrize("action", ACTIONS)
def test_roles_of_sub_groups(action: str) -> None:
    """A sub-group is completed by the members that the roles need."""
    assert placed(evicting(action, "w0 w0 s0 w1 w1 s1", 2, roles={"w": 1, "s": 1}, parts=1)) == "02"


@pytest.mark.parametrize("action", ACTIONS)
def test_another_sub_group(action: str) -> None:
    """The first one has a pod that no node takes: no pod is evicted for the other one of it."""
    assert placed(evicting(action, "-0 -0? -1 -1", 2, parts=1)) == "23"


@pytest.mark.parametrize("action", ACTIONS)
def test_another_pod_of_a_sub_group(action: str) -> None:
    """A sub-group may have more pods than it needs: then one stands in for another."""
    assert placed(evicting(action, "-0? -0 -0 -1 -1", 2, parts=1)) == "12"


@pytest.mark.parametrize("action", ACTIONS)
def test_another_pod_of_a_role(action: str) -> None:
    """The server that finds no place is replaced by a server, not by one more worker."""
    assert placed(evicting(action, "w0 s0? w0 w0 s0", 2, roles={"w": 1, "s": 1})) == "04"


@pytest.mark.parametrize("action", ACTIONS)
def test_no_half_sub_group(action: str) -> None:
    """Three are the minimum, and sub-groups are of two: four have room made."""
    assert placed(evicting(action, "-0 -0 -1 -1", 3, parts=1)) == "0123"


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("pods", ["-0 -0! -1 -1!", "-0 -0? -1 -1?"])
def test_no_pod_is_evicted_if_no_sub_group_can_be_completed(action: str, pods: str) -> None:
    """Half of each may have others evicted, or has a place."""
    outcome = evicting(action, pods, 2, parts=1)

    assert (outcome.evictions, outcome.pipelined) == ([], {})
    assert [each.action for each in outcome.refusals("j") if each.action] == [action]


@pytest.mark.parametrize("action", ACTIONS)
def test_no_pod_is_evicted_if_one_role_does_not_fit(action: str) -> None:
    """The cluster has room for both workers, and no place for the server."""
    outcome = evicting(action, "w0 w0 s0?", 2, roles={"w": 1, "s": 1}, cpu=2)

    assert (outcome.evictions, outcome.pipelined) == ([], {})
