"""Gangs of Koordinator that are gathered by the layers of a ClusterNetworkTopology."""

from typing import Any

import pytest

from pyroclast.model.gangs.names import TOPOLOGY_SELECTOR
from pyroclast.testing import Outcome, Scenario
from tests.gangs import annotated
from tests.network_layers import gathered, network_topology

PLUGINS = (("coscheduling", "priority", "gang"), ("predicates", "nodeorder"))
ARGUMENTS = {"coscheduling": {"awareNetworkTopology": True}}
BLOCKS = {"n1": ("s1", "b1"), "n2": ("s1", "b1"), "n3": ("s1", "b2"), "n4": ("s1", "b2"), "n5": ("s2", "b3")}


def cluster(**cpus: int) -> Scenario:
    """Nodes of blocks and spines, each with so many CPUs."""
    scenario = Scenario().queue("default").add(network_topology())
    for name, cpu in cpus.items():
        labels = {"net/spine": BLOCKS[name][0], "net/block": BLOCKS[name][1]} if name in BLOCKS else {}
        scenario = scenario.node(name, cpu=cpu, labels=labels)
    return scenario


def gang(scenario: Scenario, size: int, *, minimum: int | None = None, on: str = "", more: Any = None) -> Scenario:
    """Add a gang of pods with one CPU each, the first of them on a node if one is given."""
    annotations = annotated("g", minimum or size, more=more, policy="waiting-and-running")
    for number in range(size):
        scenario = scenario.pod(f"g-{number}", annotations=annotations, node="" if number else on, cpu=1)
    return scenario


def run(scenario: Scenario, *actions: str, arguments: Any = None) -> Outcome:
    """Decide, with gangs that are gathered."""
    return scenario.run(*(actions or ("allocate",)), plugins=PLUGINS, arguments=arguments or ARGUMENTS)


def places(outcome: Outcome) -> list[str]:
    """The node of each bound pod, sorted."""
    return sorted(outcome.bindings.values())


@pytest.mark.parametrize(
    ("annotation", "size", "expected"),
    [
        (gathered("BlockLayer"), 4, ["n3", "n3", "n4", "n4"]),
        (gathered("BlockLayer"), 5, []),
        (gathered("SpineLayer"), 5, ["n1", "n3", "n3", "n4", "n4"]),
        (gathered("SpineLayer"), 8, []),
        (gathered("NodeTopologyLayer"), 2, ["n1", "n1"]),
        (gathered(), 8, ["n1", "n1", "n2", "n3", "n3", "n4", "n4", "n5"]),
        (gathered("BlockLayer", NodeTopologyLayer=2), 4, ["n3", "n3", "n4", "n4"]),
        (gathered(NodeTopologyLayer=2), 4, ["n3", "n3", "n4", "n4"]),
        (gathered(NodeTopologyLayer=2), 8, []),
        (gathered(NodeTopologyLayer=2), 5, []),
    ],
)
def test_a_gang_is_gathered_in_its_layer(annotation: dict[str, str], size: int, expected: list[str]) -> None:
    """The lowest layer that holds the gang is used, and none above the one in which it must be."""
    scenario = cluster(n1=2, n2=1, n3=2, n4=2, n5=1)

    assert places(run(gang(scenario, size, more=annotation))) == expected


def test_a_multiple_without_bound_stops_no_cycle() -> None:
    """It counts as absent, so that this gang and other pods are placed."""
    scenario = gang(cluster(n1=2, n2=2), 2, more=gathered(NodeTopologyLayer=10**30)).job("other")

    assert set(run(scenario).bindings) == {"g-0", "g-1", "other-0"}


def test_a_gang_that_is_only_preferably_gathered_uses_nodes_without_labels() -> None:
    """Where the labelled nodes hold too few, others take the rest; a gang that must be gathered waits."""
    scenario = cluster(n1=2, other=2)

    assert places(run(gang(scenario, 3, more=gathered()))) == ["n1", "n1", "other"]
    waiting = run(gang(scenario, 3, more=gathered("SpineLayer")))
    assert places(waiting) == []
    assert "no domain of SpineLayer or below could fit 3 tasks even if empty: largest" in waiting.condition_message(
        "g-0"
    )


def test_the_rest_of_an_elastic_gang_stays_in_the_block() -> None:
    """Three of five pods fit the block of the minimum; the others wait although another block has capacity."""
    scenario = cluster(n1=2, n2=1, n3=2)

    outcome = run(gang(scenario, 5, minimum=3, more=gathered("BlockLayer")))
    assert places(outcome) == ["n1", "n1", "n2"]


def test_a_lost_member_returns_to_the_block_of_the_gang() -> None:
    """A member runs in b2, so the other one goes there, although b1 is the tighter block."""
    scenario = cluster(n1=1, n2=1, n3=3, n4=3)

    assert places(run(gang(scenario, 2, on="n3", more=gathered("BlockLayer")))) in (["n3"], ["n4"])


def shunning(scenario: Scenario, size: int, more: Any, **rules: Any) -> Scenario:
    """Add a gang of pods of which no two share a node, by anti-affinity, or by other rules of their specification."""
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "g"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    for number in range(size):
        scenario = scenario.pod(
            f"g-{number}",
            annotations=annotated("g", size, more=more),
            cpu=1,
            labels={"app": "g"},
            spec=rules or {"affinity": affinity},
        )
    return scenario


def test_pods_that_shun_each_other_are_gathered() -> None:
    """A node takes one pod of the gang only: the block with four nodes holds it."""
    scenario = cluster(n1=8, n2=8, n3=8, n4=8)

    assert places(run(shunning(scenario, 2, gathered("BlockLayer")))) in (["n1", "n2"], ["n3", "n4"])


PORT = {"name": "main", "resources": {"requests": {"cpu": "1"}}, "ports": [{"containerPort": 80, "hostPort": 80}]}


@pytest.mark.parametrize("rules", [{}, {"containers": [PORT]}])
def test_one_pod_for_each_node_is_counted_at_once(rules: dict[str, Any]) -> None:
    """A gang with multiples is placed however many nodes have capacity for several of its pods."""
    scenario = Scenario().queue("default").add(network_topology())
    for number in range(40):
        scenario = scenario.node(f"n{number}", cpu=8, labels={"net/spine": "s", "net/block": "b"})

    assert len(run(shunning(scenario, 4, gathered(BlockLayer=2), **rules)).bindings) == 4


def test_a_gang_whose_tries_are_used_up_has_that_reason() -> None:
    """Nodes take fewer pods than they offer, for a rule that is not counted before: anti-affinity by another label."""
    term = {"topologyKey": "net/node", "labelSelector": {"matchLabels": {"app": "g"}}}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    scenario = Scenario().queue("default").add(network_topology())
    for number in range(40):
        scenario = scenario.node(
            f"n{number}", cpu=8, labels={"net/spine": "s", "net/block": "b", "net/node": f"{number}"}
        )
    outcome = run(shunning(scenario, 4, gathered(NodeTopologyLayer=2), affinity=affinity))

    message = "no domain of the network takes 4 tasks in multiples of 2 in each domain of NodeTopologyLayer"
    assert f"{message}, as far as 32 tries show" in outcome.condition_message("g-0")


def test_a_block_with_fewer_nodes_than_pods_that_shun_each_other_is_named() -> None:
    """The message has the number of pods that the block takes, not the number that its CPUs would take."""
    outcome = run(shunning(cluster(n1=8, n2=8), 3, gathered("BlockLayer")))

    assert outcome.bindings == {}
    message = (
        "no domain of BlockLayer or below fits 3 tasks: best n1 (NodeTopologyLayer) fits 1, s1/b1 (BlockLayer) fits 2"
    )
    assert message in outcome.condition_message("g-0")


def test_a_pod_that_nothing_enforces_to_be_alone_is_not() -> None:
    """Without the plugin predicates, which enforces host ports, a node takes two pods with one port."""
    scenario = shunning(cluster(n1=8), 2, gathered("NodeTopologyLayer"), containers=[PORT])
    outcome = scenario.run("allocate", plugins=(("coscheduling", "priority", "gang"),), arguments=ARGUMENTS)

    assert places(outcome) == ["n1", "n1"]


def test_consecutive_pods_share_a_node() -> None:
    """Pods are placed in the order of their indexes, also if their names are in another order."""
    scenario = cluster(n1=2, n2=2)
    for number, index in enumerate((3, 1, 2, 0)):
        annotations = {
            **annotated("g", 4, more=gathered("BlockLayer")),
            "gang.scheduling.koordinator.sh/network-topology-index": str(index),
        }
        scenario = scenario.pod(f"g-{number}", annotations=annotations, cpu=1)
    binds = run(scenario).bindings

    assert binds["g-3"] == binds["g-1"]
    assert binds["g-0"] == binds["g-2"]
    assert binds["g-0"] != binds["g-1"]


def test_victims_are_taken_in_one_block() -> None:
    """A gang of two pods needs two nodes of one block: the block with two less important pods is freed."""
    scenario = cluster(n1=1, n2=1, n3=1, n4=1, n5=1).priority_class("high", 9)
    for name, node in (("low-1", "n1"), ("low-3", "n3"), ("low-4", "n4"), ("low-5", "n5")):
        scenario = scenario.running(name, on=[node], cpu=1)
    scenario = scenario.pod("other", node="n2", cpu=1, scheduler="default-scheduler")
    annotations = annotated("g", 2, more=gathered("BlockLayer"))
    for number in range(2):
        scenario = scenario.pod(f"g-{number}", annotations=annotations, cpu=1, priority=9)
    outcome = run(scenario, "allocate", "gangpreempt")

    assert sorted(each.name for plan in outcome.rounds[0].plans for each in plan.evictions) == ["low-3-0", "low-4-0"]


def test_no_pod_is_evicted_for_a_gang_with_multiples() -> None:
    """Evictions cannot ensure the multiple."""
    scenario = cluster(n1=2).running("low", on=["n1", "n1"], cpu=1).priority_class("high", 9)
    annotations = annotated("g", 2, more=gathered(NodeTopologyLayer=2))
    for number in range(2):
        scenario = scenario.pod(f"g-{number}", annotations=annotations, cpu=1, priority=9)
    outcome = run(scenario, "allocate", "preempt", "gangpreempt")

    assert not any(plan.evictions for plan in outcome.rounds[0].plans)


@pytest.mark.parametrize(
    ("topology", "annotation", "reason"),
    [
        ((), gathered("BlockLayer"), "there is no ClusterNetworkTopology 'default'"),
        ((network_topology(),), gathered("RackLayer"), "the ClusterNetworkTopology has no layer 'RackLayer'"),
    ],
)
def test_an_unknown_layer_is_the_reason(topology: Any, annotation: dict[str, str], reason: str) -> None:
    """A gang waits with the layer that is unknown."""
    scenario = Scenario().queue("default").add(*topology).node("n1", cpu=4)
    outcome = run(gang(scenario, 2, more=annotation))

    assert outcome.bindings == {}
    assert reason in outcome.condition_message("g-0")


def test_gathering_must_be_enabled() -> None:
    """Without awareNetworkTopology, a gang that must be gathered waits, and other gangs are placed anywhere."""
    scenario = cluster(n1=1, n3=1)
    waiting = run(gang(scenario, 2, more=gathered("BlockLayer")), arguments={"coscheduling": {}})
    assert waiting.bindings == {}
    assert "awareNetworkTopology is not enabled" in waiting.condition_message("g-0")

    assert places(run(gang(scenario, 2, more=gathered()), arguments={"coscheduling": {}})) == ["n1", "n3"]


NEAR = {"coscheduling": {"awareNetworkTopology": True, "networkTopologySelector.weight": 10}}


def attracted(scenario: Scenario, name: str, value: str, **more: Any) -> Scenario:
    """Add a gang of one pod that is attracted by pods with an equal value."""
    return scenario.pod(name, annotations=annotated(name, 1, more={TOPOLOGY_SELECTOR: value}), cpu=1, **more)


def test_pods_with_an_equal_selector_are_placed_close_to_each_other() -> None:
    """The node of a running pod first, then its block, then its spine; pods of other values attract nothing."""
    scenario = cluster(n1=3, n2=3, n3=2, n4=1, n5=3).pod("full", node="n3", cpu=1)
    scenario = attracted(scenario, "there", "a", node="n4", namespace="other", scheduler="default-scheduler")
    scenario = attracted(scenario, "elsewhere", "b", node="n5")
    for name in ("first", "second"):
        scenario = attracted(scenario, name, "a")
    binds = run(scenario, arguments=NEAR).bindings

    assert binds["first"] == "n3"
    assert binds["second"] in ("n1", "n2")


def test_a_pod_attracts_those_placed_after_it_in_the_cycle() -> None:
    """Without running pods, the smallest block takes the first pod, and the others follow it."""
    scenario = cluster(n1=3, n2=3, n3=3, n4=3, n5=3)
    for number in range(4):
        scenario = attracted(scenario, f"p-{number}", "a")

    assert places(run(scenario, arguments=NEAR)) == ["n1", "n5", "n5", "n5"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"awareNetworkTopology": True, "networkTopologySelector.weight": 0}],
    ids=["off", "without weight"],
)
def test_a_selector_without_effect_leaves_the_choice_to_other_plugins(arguments: dict[str, Any]) -> None:
    """With awareNetworkTopology off, or the weight 0, the least allocated node takes the pod."""
    scenario = attracted(cluster(n1=8, n5=2).pod("load", node="n5", cpu=1), "there", "a", node="n5")
    outcome = run(attracted(scenario, "p", "a"), arguments={"coscheduling": arguments})

    assert outcome.bindings["p"] == "n1"


def test_a_selector_outweighs_other_scores_by_its_weight() -> None:
    """The more allocated node has the pod that attracts."""
    scenario = attracted(cluster(n1=8, n5=4), "there", "a", node="n5")

    assert run(attracted(scenario, "p", "a"), arguments=NEAR).bindings["p"] == "n5"


def test_a_gang_is_gathered_where_pods_attract_it() -> None:
    """Block b1 is tighter; b2 has a pod with the selector of the gang, which is used in its node first."""
    scenario = attracted(cluster(n1=2, n2=1, n3=2, n4=3), "there", "a", node="n4")
    near = gang(scenario, 3, more={**gathered("BlockLayer"), TOPOLOGY_SELECTOR: "a"})

    assert places(run(gang(scenario, 3, more=gathered("BlockLayer")))) == ["n1", "n1", "n2"]
    assert places(run(near)) == ["n3", "n4", "n4"]
