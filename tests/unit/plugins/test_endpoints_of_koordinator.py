"""Endpoints of quotas, devices and Reservations: their figures are those of the last cycle."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pyroclast.framework.extension.contract import Endpoint, EndpointRequest
from pyroclast.plugins.deviceshare import DeviceShare
from pyroclast.plugins.elastic_quota import ElasticQuota
from pyroclast.plugins.reservation import Reservations
from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, GIB, MEMORY, RATIO, device, gpu, rdma
from tests.elastic_quotas import elastic_quota, uses
from tests.reservations import claimed, reservation


def ask(outcome: Outcome, endpoint: Endpoint, query: Mapping[str, str] | None = None, **parameters: str) -> Any:
    """The answer about the last cycle."""
    done = outcome.rounds[-1]
    return endpoint(EndpointRequest(done.snapshot, done.report, parameters, query or {}))


def with_quotas() -> Outcome:
    """Two quotas, one with a pod on a node."""
    scenario = Scenario().node("n1", cpu=8)
    scenario = scenario.add(
        elastic_quota("research", least={"cpu": 2}, most={"cpu": 4}), elastic_quota("prod", most={"cpu": 8})
    )
    label = uses("research")
    scenario = scenario.pod("a", cpu=1, node="n1", labels=label).pod("b", cpu=1, labels=label)
    return scenario.run("allocate", plugins=(("elastic-quota",), ("predicates",)))


def test_quotas_have_their_figures() -> None:
    """Limits from the object, usage and requests from the cycle."""
    outcome, endpoints = with_quotas(), ElasticQuota().endpoints()
    shown = ask(outcome, endpoints["quotas/{name}"], name="research")

    assert (shown["min"], shown["max"]) == ({"cpu": "2"}, {"cpu": "4"})
    assert (shown["used"], shown["request"]) == ({"cpu": "1"}, {"cpu": "2"})
    assert shown["parentName"] == "koordinator-root-quota"
    assert "pods" not in shown
    assert ask(outcome, endpoints["quotas/{name}"], name="unknown") is None


def test_pods_of_quotas_are_listed_on_request() -> None:
    """With includePods, pods on nodes and pending pods; a tree selects its quotas."""
    outcome, endpoints = with_quotas(), ElasticQuota().endpoints()
    shown = ask(outcome, endpoints["quotas"], {"includePods": "true"})

    assert shown["research"]["pods"] == ["default/a", "default/b"]
    assert shown["prod"]["pods"] == []
    assert ask(outcome, endpoints["quotas"], {"tree": "gold"}) == {}


def with_devices() -> Outcome:
    """A node with two GPUs, of which a pod has a half, and an RDMA card."""
    allocated = {"gpu": [{"minor": 1, "resources": {CORE: "50", MEMORY: "40Gi", RATIO: "50"}}]}
    scenario = Scenario().node("n1", cpu=8, resources={CORE: 200, RATIO: 200}).node("n2", cpu=8)
    scenario = scenario.add(device("n1", gpu(0), gpu(1), rdma(0))).pod(
        "a",
        node="n1",
        resources={CORE: 50, RATIO: 50},
        annotations={"scheduling.koordinator.sh/device-allocated": json.dumps(allocated)},
    )
    return scenario.run("allocate", plugins=(("deviceshare",), ("predicates",)))


def test_devices_are_summed_up_and_listed() -> None:
    """Total, free and used amounts by resource, by minor, and by pod."""
    outcome, endpoints = with_devices(), DeviceShare().endpoints()
    shown = ask(outcome, endpoints["nodeDeviceSummaries/{name}"], name="n1")

    assert shown["deviceTotal"][CORE] == 200
    assert shown["deviceFree"][CORE] == 150
    assert shown["deviceUsed"][MEMORY] == 40 * GIB
    assert shown["deviceFreeDetail"]["gpu"][1][RATIO] == 50
    assert shown["deviceFreeDetail"]["gpu"][0][RATIO] == 100
    assert shown["allocateSet"]["gpu"]["default/a"][1][RATIO] == 50
    assert list(ask(outcome, endpoints["nodeDeviceSummaries"])) == ["n1"]


def test_reserved_devices_are_in_use() -> None:
    """A Reservation has two GPUs, of which an owner uses one: none is free, and each counts once."""
    whole = {CORE: "100", MEMORY: "80Gi", RATIO: "100"}
    told = {"scheduling.koordinator.sh/device-allocated": json.dumps({"gpu": [{"minor": 0, "resources": whole}]})}
    both = {
        "scheduling.koordinator.sh/device-allocated": json.dumps(
            {"gpu": [{"minor": minor, "resources": whole} for minor in (0, 1)]}
        )
    }
    scenario = Scenario().node("n1", cpu=8, resources={CORE: 200, RATIO: 200}).add(device("n1", gpu(0), gpu(1)))
    asked = {CORE: "200", RATIO: "200"}
    scenario = scenario.add(reservation("r", node="n1", resources=asked, annotations=both, allocateOnce=False))
    scenario = scenario.pod(
        "a",
        node="n1",
        resources={CORE: 100, RATIO: 100},
        labels={"app": "a"},
        annotations={**told, **claimed("r")},
    )
    outcome = scenario.run("allocate", plugins=(("deviceshare", "reservation"), ("predicates",)))
    shown = ask(outcome, DeviceShare().endpoints()["nodeDeviceSummaries/{name}"], name="n1")

    assert (shown["deviceUsed"][CORE], shown["deviceFree"][CORE]) == (200, 0)
    assert [sorted(pod) for pod in map(list, shown["allocateSet"]["gpu"].values())] == [[0], [1]]


def test_a_device_object_that_cannot_be_read_hides_no_other_node() -> None:
    """The first node lists a GPU twice: it has no summary, and the second node has one."""
    scenario = Scenario().node("n1", cpu=8).node("n2", cpu=8)
    scenario = scenario.add(device("n1", gpu(0), gpu(0)), device("n2", gpu(0)))
    outcome = scenario.run("allocate", plugins=(("deviceshare",), ("predicates",)))
    endpoints = DeviceShare().endpoints()

    assert list(ask(outcome, endpoints["nodeDeviceSummaries"])) == ["n2"]
    assert ask(outcome, endpoints["nodeDeviceSummaries/{name}"], name="n1") is None


@pytest.mark.parametrize("name", ["n2", "unknown"])
def test_nodes_without_devices_have_no_summary(name: str) -> None:
    """Neither has an unknown node."""
    assert ask(with_devices(), DeviceShare().endpoints()["nodeDeviceSummaries/{name}"], name=name) is None


def test_reservations_of_a_node_are_listed() -> None:
    """With what is left of them, and the pods that use them."""
    scenario = Scenario().node("n1", cpu=8).add(reservation("r", node="n1", cpu=4, allocateOnce=False))
    scenario = scenario.pod("a", node="n1", cpu=1, labels={"app": "a"}, annotations=claimed("r"))
    outcome = scenario.run("allocate", plugins=(("reservation",), ("predicates",)))
    endpoint = Reservations().endpoints()["nodeReservations/{name}"]
    (shown,) = ask(outcome, endpoint, name="n1")["items"]

    assert (shown["name"], shown["allocatable"]["cpu"], shown["remained"]["cpu"]) == ("r", "4", "3")
    assert shown["assignedPods"]["default/a"]["cpu"] == "1"
    assert ask(outcome, endpoint, name="unknown") is None
