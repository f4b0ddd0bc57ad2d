"""Node groups: the worked example of docs/plugins/nodegroup.md."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.testing import Scenario
from tests.unit.plugins.policies import World, node, opened, pod, queue

GROUPS = ("group1", "group2", "group3", "group4")
NODES = (*(node(name, labels={"volcano.sh/nodegroup-name": name}) for name in GROUPS), node("none"))


def affinity(
    required: Sequence[str] = (),
    preferred: Sequence[str] = (),
    never: Sequence[str] = (),
    rather_not: Sequence[str] = (),
) -> wire.QueueAffinity:
    """What a queue says of groups."""
    return wire.QueueAffinity(
        node_group_affinity=wire.NodeGroupTerms(required=tuple(required), preferred=tuple(preferred)),
        node_group_anti_affinity=wire.NodeGroupTerms(required=tuple(never), preferred=tuple(rather_not)),
    )


WORKED = affinity(["group1", "group3"], ["group3"], ["group2", "group4"], ["group4"])


def limited(name: str, limits: str, **spec: Any) -> wire.Queue:
    """A queue with the annotation for limits."""
    plain = queue(name, **spec)
    metadata = wire.ObjectMeta(name=name, uid=name, annotations={"volcano.sh/nodegroup-resource-limits": limits})
    return wire.Queue(metadata=metadata, spec=plain.spec, status=plain.status)


def world(*objects: Any, hierarchy: bool = False, **arguments: Any) -> World:
    """A session with nodegroup alone."""
    option = {"name": "nodegroup", "arguments": arguments, "enableHierarchy": hierarchy}
    return opened(*NODES, *objects, plugins=[option])


def refusals(there: World, name: str = "p") -> dict[str, str]:
    """The reason of each node that refuses a task."""
    each = there.function(contract.PREDICATE)
    answer = each.function(there.task(name), there.session.nodes.columns())
    assert answer is not None
    names = there.session.nodes.table.names
    return {str(names[at]): each.reasons[answer[at] - 1].text for at in np.flatnonzero(answer)}


def test_the_worked_scores() -> None:
    """A group in the preferred anti-affinity scores -1, whatever else holds."""
    there = world(queue("default", affinity=WORKED), pod("p"))

    assert there.scores("p") == {"group1": 100, "group2": 0, "group3": 150, "group4": -1, "none": 0}


def test_the_worked_refusals() -> None:
    """The preferred anti-affinity lets group4 pass."""
    there = world(queue("default", affinity=WORKED), pod("p"))

    assert refusals(there) == {
        "group2": "node does not satisfy the node group affinity",
        "none": "node group label not found",
    }


def test_preferred_groups_score_by_place() -> None:
    """The first of two 50, the second 25; of equal names the last counts."""
    there = world(queue("default", affinity=affinity((), ["group1", "group3"])), pod("p"), enablePreferredOrder=True)

    assert [there.scores("p")[name] for name in ("group1", "group3")] == [50, 25]


def test_a_queue_without_rules_uses_no_group() -> None:
    """Nor nodes without one, unless strict is off."""
    groups = dict.fromkeys(GROUPS, "node group affinity not specified")

    assert refusals(world(pod("p"))) == {**groups, "none": "node group label not found"}
    assert refusals(world(pod("p"), strict=False)) == groups


def test_limits_bound_what_a_queue_uses_of_a_group() -> None:
    """2 of 3 CPU are used in group1; memory and group2 are not spoken of."""
    rules = affinity(["group1", "group2"])
    there = world(
        limited("default", '{"group1": {"cpu": "3"}}', affinity=rules),
        pod("r", on="group1", cpu="2"),
        pod("p", cpu="2", memory="20Gi"),
        pod("small", cpu="1"),
    )

    assert refusals(there)["group1"] == "node group resource limit exceeded"
    assert "group2" not in refusals(there)
    assert "group1" not in refusals(there, "small")


def test_placements_and_evictions_count_and_are_undone() -> None:
    """A pod placed in group1 leaves no room there; undone, there is room again; evicting makes room."""
    rules = affinity(["group1"])
    objects = limited("default", '{"group1": {"cpu": 3}}', affinity=rules), pod("p", cpu="2"), pod("q", cpu="2")
    there = world(*objects)
    with there.session.statement() as statement:
        there.place(statement, "q", "group1")
        assert "group1" in refusals(there)
    assert "group1" not in refusals(there)

    there = world(*objects, pod("r", on="group1", cpu="2"))
    with there.session.statement() as statement:
        there.evict(statement, "r")
        assert "group1" not in refusals(there)
    assert "group1" in refusals(there)


def test_an_invalid_limit_refuses_every_node() -> None:
    """And says so."""
    there = world(limited("default", "{", affinity=WORKED), pod("p"))

    assert set(refusals(there).values()) == {"node group resource limit annotation invalid"}
    assert len(refusals(there)) == len(NODES)


def test_a_queue_inherits_affinity_where_hierarchy_is_on() -> None:
    """From the nearest ancestor that has one."""
    queues = queue("above", affinity=affinity(["group1"])), queue("default", parent="above")

    assert "group1" not in refusals(world(*queues, pod("p"), hierarchy=True))
    assert refusals(world(*queues, pod("p")))["group1"] == "node group affinity not specified"


def test_evicting_helps_against_a_limit_alone() -> None:
    """The other refusals are final for preempt and reclaim."""
    reasons = world(pod("p")).function(contract.PREDICATE).reasons

    assert [reason.text for reason in reasons if reason.resolvable] == ["node group resource limit exceeded"]


def test_a_queue_at_its_limit_preempts_its_own() -> None:
    """The victim's share of the limit is free for the more important task, as with the limits of queues."""
    scenario = Scenario().priority_class("low", 1).priority_class("high", 9)
    scenario = scenario.node("n1", cpu=8, labels={"volcano.sh/nodegroup-name": "group1"})
    scenario = scenario.queue("q", annotations={"volcano.sh/nodegroup-resource-limits": '{"group1": {"cpu": "2"}}'})
    terms = {"nodeGroupAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": ["group1"]}}
    *others, made = scenario.objects
    scenario = replace(scenario, objects=(*others, {**made, "spec": {**made["spec"], "affinity": terms}}))
    scenario = scenario.running("low", on=["n1"] * 2, min_available=0, queue="q", priority_class="low")
    scenario = scenario.job("high", queue="q", priority_class="high", phase="Inqueue")

    outcome = scenario.run("allocate", "preempt", plugins=("priority", "gang", "predicates", "nodegroup"))

    assert outcome.evictions == ["low-1"]
    assert outcome.pipelined == {"high-0": "n1"}
