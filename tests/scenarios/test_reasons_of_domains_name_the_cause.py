"""A gang that fits no domain of its required topology is refused with what keeps its pods out of the best domain."""

from typing import Any, Final

from pyroclast.testing import Outcome, Scenario
from tests.hypernodes import rack

PLUGINS: Final = (("priority", "gang"), ("predicates", "nodeorder", "network-topology-aware"))
TAINTED: Final = {"taints": [{"key": "team", "value": "a", "effect": "NoSchedule"}]}
SSD: Final = {"nodeSelector": {"disk": "ssd"}}
NO_SSD: Final = "node(s) didn't match Pod's node affinity/selector"
RACKS: Final = (rack("r0", "n0", "n1"), rack("r1", "n2", "n3"))


def gang_of(tasks: int, scenario: Scenario, **more: Any) -> Outcome:
    """Decide about a gang whose pods need one rack, and 1 CPU each."""
    group = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    scenario = scenario.job("g", tasks=tasks, min_available=tasks, cpu=1, group=group, **more)
    return scenario.run("enqueue", "allocate", "backfill", plugins=PLUGINS, cycles=2)


def nodes(cpu: int = 2, **more: Any) -> Scenario:
    """Return four nodes in two racks; the nodes named in `more` have other fields."""
    scenario = Scenario()
    for name in ("n0", "n1", "n2", "n3"):
        scenario = scenario.node(name, cpu=cpu, **more.get(name, {}))
    return scenario.add(*RACKS)


def test_full_nodes_and_busy_nodes_of_the_best_rack_are_counted() -> None:
    """In r1 a node is full, and the other has room for one pod, not for two."""
    scenario = nodes().running("full", on=("n0", "n1", "n2"), cpu=2).running("half", on=("n3",), cpu=1)

    assert gang_of(2, scenario).condition_message("g-1") == (
        "no domain of tier 1 or below fits 2 tasks: best r1 (tier 1) fits 1; "
        "0/2 nodes of r1 take more: 2 Insufficient cpu"
    )


def test_a_taint_in_the_best_rack_is_named() -> None:
    """Rack r0 could hold the gang if it were empty; r1, with a node that is tainted, fits most today."""
    scenario = nodes(n3=TAINTED).running("full", on=("n0", "n1"), cpu=2).running("half", on=("n2",), cpu=1)
    message = gang_of(3, scenario).condition_message("g-2")

    assert message.startswith("no domain of tier 1 or below fits 3 tasks: best r1 (tier 1) fits 1; ")
    assert message.endswith("0/2 nodes of r1 take more: 1 Insufficient cpu, 1 node(s) had untolerated taint(s)")


def test_a_label_that_too_few_nodes_have_comes_before_full_nodes() -> None:
    """Each rack has one node with the label for two pods, and all nodes are full."""
    labelled = {"labels": {"disk": "ssd"}}
    scenario = nodes(n0=labelled, n2=labelled).running("full", on=("n0", "n1", "n2", "n3"), cpu=2)

    assert gang_of(3, scenario, pod=SSD).condition_message("g-2") == (
        "no domain of tier 1 or below could fit 3 tasks even if empty: largest r0 (tier 1) fits 2; "
        f"0/2 nodes of r0 take more: 1 Insufficient cpu, 1 {NO_SSD}"
    )


def test_nodes_that_take_one_pod_of_the_gang_each_are_counted() -> None:
    """Its pods exclude each other by a host port; there is room for more."""
    port = {"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}], "resources": {"requests": {"cpu": "1"}}}
    message = gang_of(3, nodes(cpu=8), pod={"containers": [port]}).condition_message("g-2")

    assert message.endswith("0/2 nodes of r0 take more: 2 node(s) take only one of its pods")


def test_unlike_gangs_beyond_the_bound_have_the_numbers_alone() -> None:
    """Sixteen unlike gangs of a namespace are explained in a cycle; gangs of other namespaces are explained as well."""
    scenario = nodes(cpu=64).running("full", on=("n0", "n1", "n2", "n3"), cpu=63)
    group = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    for number in range(20):
        scenario = scenario.job(f"g{number}", tasks=3, min_available=3, cpu=f"{901 + number}m", group=group)
    scenario = scenario.job("last", tasks=3, min_available=3, cpu="990m", group=group, namespace="other")
    outcome = scenario.run("enqueue", "allocate", plugins=PLUGINS)
    messages = [outcome.condition_message(f"g{number}-0") for number in range(20)]

    assert all("no domain of tier 1 or below fits 3 tasks" in each for each in messages)
    assert sum("take more" in each for each in messages) == 16
    assert "take more" in outcome.condition_message("other/last-0")


def test_members_that_are_gated_are_no_permanent_cause() -> None:
    """One pod runs in a rack for four; one waits for the other node, which is full, and two are gated."""
    group = {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}
    scenario = nodes().running("full", on=("n0", "n1", "n2"), cpu=2).running("half", on=("n3",), cpu=1)
    scenario = scenario.job("g", tasks=2, min_available=4, running_on=("n3",), cpu=1, group=group)
    for name in ("g-2", "g-3"):
        scenario = scenario.pod(name, job="g", cpu=1, spec={"schedulingGates": [{"name": "example.com/later"}]})
    message = scenario.run("enqueue", "allocate", plugins=PLUGINS).condition_message("g-1")

    assert "even if empty" not in message
    assert "0/2 nodes of r1 take more: 2 Insufficient cpu" in message
