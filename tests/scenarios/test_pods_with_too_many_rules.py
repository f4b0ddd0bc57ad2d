"""A pod has a bounded number of rules of placement; one with more waits, and says so."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.model.matching.bounds import (
    MOST_HOST_PORTS,
    MOST_NODE_EXPRESSIONS,
    MOST_POD_TERMS,
    MOST_SPREAD_CONSTRAINTS,
    MOST_TOLERATIONS,
)
from pyroclast.testing import Scenario

CLUSTER = Scenario().node("n1", labels={"zone": "a"}).node("n2", labels={"zone": "b"})
CONTAINER = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}


def spread(count: int) -> Mapping[str, Any]:
    """So many constraints over the zones."""
    each = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    selectors = ({"matchLabels": {"app": f"a{number}"}} for number in range(count))
    return {"topologySpreadConstraints": [{**each, "labelSelector": selector} for selector in selectors]}


def apart(count: int) -> Mapping[str, Any]:
    """So many terms of anti-affinity."""
    selectors = ({"matchLabels": {"app": f"a{number}"}} for number in range(count))
    terms = [{"topologyKey": "zone", "labelSelector": selector} for selector in selectors]
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}}


def expressions(count: int) -> Mapping[str, Any]:
    """So many expressions over labels of nodes."""
    each = [{"key": f"k{number}", "operator": "DoesNotExist"} for number in range(count)]
    required = {"nodeSelectorTerms": [{"matchExpressions": each}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def tolerations(count: int) -> Mapping[str, Any]:
    """So many tolerations."""
    return {"tolerations": [{"key": f"k{number}", "operator": "Exists"} for number in range(count)]}


def ports(count: int) -> Mapping[str, Any]:
    """So many host ports."""
    listed = [{"containerPort": 80, "hostPort": 1000 + number} for number in range(count)]
    return {"containers": [{**CONTAINER, "ports": listed}]}


@pytest.mark.parametrize(
    ("rules", "most"),
    [
        (spread, MOST_SPREAD_CONSTRAINTS),
        (apart, MOST_POD_TERMS),
        (expressions, MOST_NODE_EXPRESSIONS),
        (tolerations, MOST_TOLERATIONS),
        (ports, MOST_HOST_PORTS),
    ],
)
def test_a_pod_within_the_bound_is_placed_and_one_beyond_it_says_why_not(rules: Any, most: int) -> None:
    """The next job is placed in any case, and no eviction is looked for."""
    scenario = CLUSTER.job("within", pod=rules(most)).job("beyond", pod=rules(most + 1)).job("next")
    outcome = scenario.run(
        "enqueue", "allocate", "preempt", plugins=(("priority", "gang"), ("predicates", "nodeorder"))
    )

    assert sorted(outcome.bindings) == ["next-0", "within-0"]
    (refusal,) = outcome.refusals_of_pod("beyond-0")
    assert refusal.reason == "TooManyRules"
    assert f"the pod has {most + 1} " in refusal.message
    assert f"more than {most}" in refusal.message
    assert not refusal.resolvable
