"""What a server fills in when it takes a pod."""

from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.scheduler.simulation.pod_defaults import as_admitted


def admitted(*others: Mapping[str, Any], **spec: Any) -> Mapping[str, Any]:
    """Return the specification of a pod as admitted beside other objects."""
    filled: Mapping[str, Any] = as_admitted([{"kind": "Pod", "spec": spec}, *others])[0]["spec"]
    return filled


def priority_class(name: str, value: int, **more: Any) -> dict[str, Any]:
    """Make a class."""
    return {"kind": "PriorityClass", "metadata": {"name": name}, "value": value, **more}


def test_limits_are_requests_where_nothing_is_requested() -> None:
    """Requests of containers and init containers, resource by resource."""
    resources = {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "1"}}
    spec = admitted(
        containers=[{"name": "a", "resources": resources}], initContainers=[{"resources": {"limits": {"x": 1}}}]
    )

    assert spec["containers"][0]["resources"]["requests"] == {"cpu": "1", "memory": "1Gi"}
    assert spec["initContainers"][0]["resources"]["requests"] == {"x": 1}
    assert spec["containers"][0]["name"] == "a"


@pytest.mark.parametrize(
    ("spec", "priority"),
    [
        ({"priorityClassName": "high"}, 100),
        ({"priorityClassName": "high", "priority": 5}, 5),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "nobody-made-it"}, None),
        ({}, 0),
    ],
)
def test_priority_is_that_of_the_class(spec: dict[str, Any], priority: int | None) -> None:
    """What is written stays; who names no class has none; a class that is not there gives nothing."""
    assert admitted(priority_class("high", 100), **spec).get("priority") == priority


def test_of_default_classes_the_lowest_holds() -> None:
    """For pods that name none, with its policy."""
    low = priority_class("low", -5, globalDefault=True, preemptionPolicy="Never")
    spec = admitted(priority_class("high", 100, globalDefault=True), low)

    assert (spec["priority"], spec["preemptionPolicy"]) == (-5, "Never")


def test_pods_of_lists_are_admitted_too() -> None:
    """As `kubectl get -o json` writes them."""
    (pod,) = as_admitted([{"kind": "List", "items": [{"kind": "Pod", "spec": {}}]}])

    assert pod["spec"] == {"priority": 0}


@pytest.mark.parametrize("pod", [{"kind": "Pod"}, {"kind": "Pod", "spec": 5}])
def test_other_objects_than_pods_are_not_changed(pod: dict[str, Any]) -> None:
    """The fault is reported there."""
    assert as_admitted([pod]) == (pod,)


@pytest.mark.parametrize(
    "containers", [5, [5], [{"resources": 5}], [{"resources": {"limits": {"cpu": 1}, "requests": 5}}]]
)
def test_broken_containers_stay_as_they_are(containers: Any) -> None:
    """As above."""
    assert admitted(containers=containers)["containers"] == containers
