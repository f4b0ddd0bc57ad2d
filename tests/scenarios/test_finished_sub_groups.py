"""Members of sub-groups that succeeded and whose pods are gone are needed no more."""

import pytest

from pyroclast.framework.cycle import run_cycle
from pyroclast.testing import Scenario
from pyroclast.testing.configuration import configured
from tests.laws.living.cluster import LivingCluster

POLICY = {"name": "part", "matchLabelKeys": ["part"], "subGroupSize": 2, "minSubGroups": 2}
PARSED, REGISTRY = configured(("enqueue", "allocate"), ("priority", "gang", "predicates", "nodeorder"), {})


def gang(*pods: str, succeeded: int, minimum: int = 4) -> Scenario:
    """A gang of two sub-groups of two; pods are named by sub-group and number, `+` marks those that run."""
    scenario = Scenario().queue("default").node("n", cpu=8)
    status = {"phase": "Running", "succeeded": succeeded}
    spec = {"minMember": minimum, "queue": "default", "subGroupPolicy": [POLICY]}
    group = {"kind": "PodGroup", "metadata": {"name": "gang", "namespace": "default"}, "spec": spec, "status": status}
    scenario = scenario.add({"apiVersion": "scheduling.volcano.sh/v1beta1", **group})
    for name in pods:
        node = "n" if name.endswith("+") else ""
        scenario = scenario.pod(name.rstrip("+"), job="gang", labels={"part": name[0]}, node=node)
    return scenario


def bound(scenario: Scenario) -> list[str]:
    """Return the pods that a scheduler binds in its first cycle; how many are gone it reads from the status."""
    cluster = LivingCluster(scenario.objects)
    cluster.restart()
    report, _ = run_cycle(cluster.snapshot(), PARSED.configuration, registry=REGISTRY, now=1_900_000_000.0)
    return [bind.name for plan in report.plans for bind in plan.binds]


@pytest.mark.parametrize(
    ("pods", "succeeded"),
    [
        (("a-1+", "b-0+", "b-1"), 1),
        (("b-0+", "b-1"), 2),
        (("a-1+", "b-1"), 2),
        (("b-1",), 3),
    ],
    ids=["one of another sub-group", "another sub-group", "one of each", "all others"],
)
def test_a_member_that_is_made_again_gets_its_place(pods: tuple[str, ...], succeeded: int) -> None:
    """What is there, and what succeeded, make up both sub-groups."""
    assert bound(gang(*pods, succeeded=succeeded)) == ["b-1"]


def test_members_that_did_not_succeed_are_needed() -> None:
    """One succeeded, two are missing: the sub-group of neither is whole."""
    assert bound(gang("a-1+", "b-1", succeeded=1)) == []


def test_pods_that_take_the_places_of_departed_ones_need_the_whole_minimum() -> None:
    """Both sub-groups have all of their pods again, and three of four fit the node."""
    assert bound(gang("a-0", "a-1", "b-0", "b-1", succeeded=2).running("other", on=["n"] * 5)) == []
