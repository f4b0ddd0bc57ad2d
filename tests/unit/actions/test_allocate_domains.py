"""Allocate: jobs with a network topology get a domain before their nodes."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.testing import Scenario
from tests.hypernodes import hyper_node, rack

PLUGINS = (("gang",), ("predicates", "network-topology-aware"))
NODES = ("s0-n1", "s0-n2", "s1-n3", "s1-n4")


def two_racks() -> Scenario:
    """Racks s0 and s1 of two nodes, each for one pod, in row s2."""
    scenario = Scenario()
    for name in NODES:
        scenario = scenario.node(name, cpu=1)
    return scenario.add(
        hyper_node("s0", 1, "Node", ["s0-n1", "s0-n2"], tier_name="rack"),
        hyper_node("s1", 1, "Node", ["s1-n3", "s1-n4"], tier_name="rack"),
        hyper_node("s2", 2, "HyperNode", ["s0", "s1"], tier_name="row"),
    )


def topology(mode: str, tier: int | None = None, name: str = "") -> dict[str, Any]:
    """The part of a PodGroup's spec."""
    return {"networkTopology": {"mode": mode, "highestTierAllowed": tier, "highestTierName": name}}


HARD_1, HARD_2, SOFT = topology("hard", 1), topology("hard", 2), topology("soft")


def racks(binds: Mapping[str, str]) -> list[str]:
    """Racks used, one for each bound pod."""
    return sorted(node[:2] for node in binds.values())


@pytest.mark.parametrize(
    ("group", "tasks", "minimum", "bound"),
    [
        (SOFT, 3, 3, 3),
        (SOFT, 2, 1, 2),
        (HARD_1, 3, 3, 0),
        (HARD_2, 3, 3, 3),
        (HARD_2, 4, 4, 4),
        (HARD_1, 2, 2, 2),
        (HARD_1, 2, 1, 2),
        (topology("hard", 0), 1, 1, 0),
        (topology("hard", None, "rack"), 3, 3, 0),
        (topology("hard", None, "rack"), 2, 2, 2),
        (topology("hard", None, "row"), 3, 3, 3),
    ],
)
def test_how_much_of_a_job_is_placed(group: dict[str, Any], tasks: int, minimum: int, bound: int) -> None:
    """A hard topology never spans more than it may; a soft one spans what it needs."""
    outcome = two_racks().job("j", tasks=tasks, min_available=minimum, group=group).run("allocate", plugins=PLUGINS)

    assert len(outcome.bindings) == bound


def test_two_pods_share_a_rack() -> None:
    """The lowest tier that holds the job is taken, also where more is allowed."""
    for group in (HARD_2, SOFT):
        outcome = two_racks().job("j", tasks=2, group=group).run("allocate", plugins=PLUGINS)
        assert racks(outcome.bindings) == ["s0", "s0"]


def test_the_fuller_rack_is_taken() -> None:
    """The domain that the job would leave fullest is used."""
    scenario = Scenario()
    for name in NODES:
        scenario = scenario.node(name, cpu=2)
    scenario = scenario.add(rack("s0", *NODES[:2]), rack("s1", *NODES[2:]))
    scenario = scenario.running("old", on=("s1-n3",)).job("j", tasks=2, group=HARD_1)

    assert racks(scenario.run("allocate", plugins=PLUGINS).bindings) == ["s1", "s1"]


@pytest.mark.parametrize(("group", "bound"), [(HARD_1, 0), (HARD_2, 1), (SOFT, 1)])
def test_what_runs_ties_the_rest(group: dict[str, Any], bound: int) -> None:
    """The rack of what runs is full: only where more is allowed the missing pod goes elsewhere."""
    scenario = two_racks().job("j", tasks=3, min_available=1, running_on=("s0-n1", "s0-n2"), group=group)

    assert len(scenario.run("allocate", plugins=PLUGINS).bindings) == bound


def test_the_rest_joins_what_runs() -> None:
    """A missing pod goes to the rack where the others run, though the other rack is as good."""
    scenario = two_racks().job("j", tasks=2, min_available=1, running_on=("s1-n4",), group=HARD_1)

    assert scenario.run("allocate", plugins=PLUGINS).bindings == {"j-1": "s1-n3"}


def test_why_a_job_waits_names_the_best_domain_of_each_tier() -> None:
    """Counted over all domains, exactly; then the nodes of the best domain are counted by what refuses a task."""
    scenario = two_racks().running("old", on=("s0-n1", "s0-n2", "s1-n3")).job("j", tasks=2, group=HARD_2)
    outcome = scenario.run("allocate", plugins=PLUGINS)

    best = "best s1 (tier 1) fits 1, s2 (tier 2) fits 1"
    causes = "0/2 nodes of s1 take more: 2 Insufficient cpu"
    assert outcome.why("j") == f"allocate: no domain of tier 2 or below fits 2 tasks: {best}; {causes}"


def test_domains_that_are_too_small_even_if_empty_are_the_cause() -> None:
    """That one of them is full as well does not matter."""
    outcome = two_racks().running("old", on=("s0-n1",)).job("j", tasks=3, group=HARD_1).run("allocate", plugins=PLUGINS)

    largest = "largest s0 (tier 1) fits 2; 0/2 nodes of s0 take more: 2 Insufficient cpu"
    assert f"no domain of tier 1 or below could fit 3 tasks even if empty: {largest}" in outcome.why("j")


def test_an_unknown_tier_name_is_refused() -> None:
    """A required rule is kept or refused."""
    group = topology("hard", None, "hall")
    outcome = two_racks().job("j", group=group).run("allocate", plugins=PLUGINS)

    assert outcome.bindings == {}
    assert "'hall', which names no tier" in outcome.why("j")


def test_a_hard_topology_of_a_sub_group_without_the_plugin_is_refused() -> None:
    """As that of a job is."""
    policy = {"name": "p", "matchLabelKeys": ["part"], "subGroupSize": 1, **HARD_1}
    scenario = two_racks().job("j", labels={"part": "1"}, group={"subGroupPolicy": [policy]})

    assert "needs the plugin network-topology-aware" in scenario.run("allocate", plugins=(("gang",),)).why("j")


def divided(
    job: dict[str, Any], part: dict[str, Any], parts: str, *, size: int, at_least: int, minimum: int
) -> Scenario:
    """A job whose pods belong to the parts that a text names, a letter a pod."""
    policy = {"name": "p", "matchLabelKeys": ["part"], "subGroupSize": size, "minSubGroups": at_least, **part}
    scenario = two_racks().job("j", tasks=0, min_available=minimum, group={"subGroupPolicy": [policy], **job})
    for number, letter in enumerate(parts):
        scenario = scenario.pod(f"j-{number}", job="j", labels={"part": letter})
    return scenario


@pytest.mark.parametrize(
    ("job", "part", "parts", "size", "at_least", "minimum", "bound"),
    [
        (HARD_2, SOFT, "aab", 1, 0, 3, 3),
        (SOFT, HARD_1, "aaa", 3, 1, 3, 0),
        (SOFT, HARD_1, "aabb", 2, 2, 4, 4),
        (HARD_1, HARD_1, "aab", 1, 2, 3, 0),
        (HARD_2, HARD_1, "aabbcc", 2, 2, 4, 4),
        (HARD_2, HARD_1, "aabbcc", 2, 3, 4, 0),
        ({}, HARD_1, "aabb", 2, 2, 4, 4),
        ({}, {}, "aabb", 2, 2, 4, 4),
    ],
)
def test_jobs_and_sub_groups_each_keep_to_their_topology(
    *, job: dict[str, Any], part: dict[str, Any], parts: str, size: int, at_least: int, minimum: int, bound: int
) -> None:
    """Each sub-group lies within its own limit, all of them within that of the job."""
    outcome = divided(job, part, parts, size=size, at_least=at_least, minimum=minimum).run("allocate", plugins=PLUGINS)

    assert len(outcome.bindings) == bound
    if part is HARD_1:
        used: dict[str, set[str]] = {}
        for name, node in outcome.bindings.items():
            used.setdefault(parts[int(name.rsplit("-", 1)[1])], set()).add(node[:2])
        assert all(len(each) == 1 for each in used.values())


def test_the_domain_is_written_to_the_group() -> None:
    """The innermost domain around what is placed, for people to read."""
    outcome = two_racks().job("j", tasks=2, group=HARD_2).run("allocate", plugins=PLUGINS)

    written = [status.annotations for status in outcome.rounds[0].report.group_statuses]
    assert written == [{"volcano.sh/job-allocated-hypernode": "s0"}]


def test_room_that_siblings_take_is_no_reason_against_a_domain() -> None:
    """A sub-group's minimum goes in, though its siblings leave too little for all of its pods: those wait."""
    policy = {"name": "p", "matchLabelKeys": ["part"], "subGroupSize": 1, "minSubGroups": 4, **SOFT}
    scenario = two_racks().job("j", tasks=0, min_available=1, group={"subGroupPolicy": [policy]})
    for number, part in enumerate("abcdd"):
        scenario = scenario.pod(f"j-{number}", job="j", labels={"part": part})

    assert set(scenario.run("allocate", plugins=PLUGINS).bindings) == {"j-0", "j-1", "j-2", "j-3"}


def test_room_that_others_took_in_this_cycle_is_found_out_by_trying() -> None:
    """Domains are left out by their room as the cycle began; an elastic job has of one what is still there."""
    scenario = two_racks().job("first", tasks=1, cpu=1).job("second", tasks=4, min_available=1, group=HARD_2)

    assert len(scenario.run("allocate", plugins=PLUGINS).bindings) == 4
    begun = two_racks().pod("alone", node="s0-n1").job("second", tasks=4, min_available=1, group=HARD_2)
    assert begun.run("allocate", plugins=PLUGINS).bindings == {}


def test_a_wider_domain_is_tried_with_all_tasks() -> None:
    """What was placed, or failed, on the nodes of one rack begins anew on those of the row."""
    scenario = two_racks()
    for node in ("s0-n1", "s1-n3"):
        scenario = scenario.pod(f"web-{node}", node=node, cpu=None, labels={"app": "web"}, scheduler="other")
    apart = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}
    spec = {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}}
    scenario = scenario.job("j", tasks=2, role="worker", group=SOFT, pod=spec)

    assert scenario.run("allocate", plugins=PLUGINS).bindings == {"j-0": "s0-n2", "j-1": "s1-n4"}


def test_a_gang_that_has_waited_long_enough_holds_what_its_domain_has() -> None:
    """Less than its minimum, as without a topology: sla permits it before gang is asked."""
    waits = {"sla-waiting-time": "1s"}
    scenario = two_racks().job("long", tasks=3, cpu="600m", group=HARD_1, annotations=waits)  # 1,800m of 2, one a node
    scenario = scenario.job("later", tasks=4, min_available=1)

    outcome = scenario.run("allocate", plugins=(("sla",), *PLUGINS))

    assert racks(outcome.bindings) == ["s1", "s1"]


def test_a_job_begins_where_all_of_it_has_room() -> None:
    """Its pods above the minimum count too, whatever the scores are; here there are none."""
    scenario = two_racks().pod("busy", node="s0-n1").job("j", tasks=2, min_available=1, group=SOFT)

    outcome = scenario.run("allocate", plugins=PLUGINS, arguments={"network-topology-aware": {"weight": 0}})

    assert outcome.bindings["j-0"] == "s1-n3"


def test_the_message_names_the_sub_group_without_a_domain() -> None:
    """All racks together have capacity for three; the sub-group needs them in one."""
    policy = {"name": "s", "matchLabelKeys": ["part"], "subGroupSize": 3, "minSubGroups": 1, **HARD_1}
    group = {"subGroupPolicy": [policy]}
    outcome = two_racks().job("j", tasks=3, group=group, labels={"part": "a"}).run("allocate", plugins=PLUGINS)

    largest = "largest s0 (tier 1) fits 2; 0/2 nodes of s0 take more: 2 Insufficient cpu"
    words = f"sub-group s-a: no domain of tier 1 or below could fit 3 tasks even if empty: {largest}"
    assert outcome.why("j") == f"allocate: {words}"
    assert outcome.condition_message("j-0") == words


def test_all_nodes_together_are_called_so() -> None:
    """A soft topology may span them all; the root of the tree is not a HyperNode object."""
    scenario = two_racks().running("old", on=("s1-n3",)).job("j", tasks=4, group=SOFT)
    outcome = scenario.run("allocate", plugins=PLUGINS)

    best = "best s0 (tier 1) fits 2, s2 (tier 2) fits 3, all nodes fit 3"
    assert f"allocate: no domain, nor all nodes together, fits 4 tasks: {best}" in outcome.why("j")
