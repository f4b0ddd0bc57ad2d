"""Bounds of requests for devices: steps of a namespace, and devices of a pod."""

from typing import Any

import msgspec
import numpy as np
import pytest

from pyroclast.model import wire
from pyroclast.plugins.predicates.devices.pools import Pools
from pyroclast.plugins.predicates.devices.requests import MOST_STEPS, Requests
from pyroclast.plugins.predicates.devices.search import Search
from pyroclast.plugins.predicates.devices.usage import DeviceUsage
from pyroclast.testing import Scenario
from tests.device_claims import DRIVER, claim, device, device_class, exactly, resource_slice

TABLE = Scenario().node("n").run().rounds[0].snapshot.nodes


def requests_for(count: int) -> tuple[Pools, Requests]:
    """Devices of one node."""
    offered = resource_slice("n", *(device(f"d{number}", number=number) for number in range(count)))
    pools = Pools({"n": msgspec.convert(offered, wire.ResourceSlice)}, TABLE)
    return pools, Requests(pools, {"gpu": msgspec.convert(device_class(), wire.DeviceClass)})


def made(name: str, *requests: Any, namespace: str = "default") -> wire.ResourceClaim:
    """A claim."""
    body = claim(name, *requests)
    body["metadata"]["namespace"] = namespace
    return msgspec.convert(body, wire.ResourceClaim)


def selecting(number: int) -> dict[str, Any]:
    """A request with a selector of its own."""
    return exactly("r", f'device.attributes["{DRIVER}"].number == {number}')


def test_selectors_of_a_namespace_end_after_a_number_of_steps() -> None:
    """Each claim reads all devices; those of another namespace are still served."""
    _, requests = requests_for(3000)
    faults = [requests.fault(made(f"c{number}", selecting(number))) for number in range(8)]
    steps = requests.steps["default"]

    assert faults[0] == ""
    assert steps > 8 * 3000
    requests.steps["default"] = MOST_STEPS
    assert requests.is_exhausted("default")
    assert f"take more than {MOST_STEPS} steps in a cycle" in requests.fault(made("last", selecting(2999)))
    assert requests.fault(made("other", selecting(2998), namespace="other")) == ""


def test_steps_of_one_namespace_do_not_cut_off_the_results_of_another() -> None:
    """The first claim ends amid the devices; an equal claim of another namespace has its device."""
    _, requests = requests_for(3000)
    requests.steps["greedy"] = MOST_STEPS - 100
    cut_off = requests.fault(made("a", selecting(2999), namespace="greedy"))

    assert "steps in a cycle" in cut_off
    assert requests.fault(made("b", selecting(2999))) == ""
    assert requests.need(made("b", selecting(2999))).requests[0][0].usable.sum() == 1


TAINT = {"key": "broken", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("fields", "taints"),
    [
        ({"capacity": {"requests": {f"{DRIVER}/memory": "8Gi"}}}, []),
        ({"tolerations": [{"operator": "Exists"}]}, [TAINT]),
    ],
    ids=["capacity", "tolerations"],
)
def test_capacity_and_taints_of_each_device_count_as_steps(fields: Any, taints: Any) -> None:
    """A namespace whose steps end amid the devices has fewer of them, and another namespace has all."""
    devices = [device(f"d{number}", memory="80Gi", taints=taints) for number in range(1000)]
    pools = Pools({"n": msgspec.convert(resource_slice("n", *devices), wire.ResourceSlice)}, TABLE)
    requests = Requests(pools, {"gpu": msgspec.convert(device_class(), wire.DeviceClass)})
    requests.steps["greedy"] = MOST_STEPS - 500
    (cut_off,) = requests.need(made("a", exactly("r", **fields), namespace="greedy")).requests[0]
    (whole,) = requests.need(made("b", exactly("r", **fields))).requests[0]

    assert cut_off.usable.sum() < 500
    assert requests.is_exhausted("greedy")
    assert whole.usable.sum() == 1000


def test_equal_requests_cost_no_further_steps() -> None:
    """The devices that match are known."""
    _, requests = requests_for(100)
    requests.fault(made("a", selecting(5)))
    steps = requests.steps["default"]
    requests.fault(made("b", selecting(5)))

    assert requests.steps["default"] == steps


@pytest.mark.parametrize(("claims", "is_found"), [(4, True), (5, False)])
def test_a_pod_has_at_most_128_devices(claims: int, is_found: bool) -> None:  # a parameter of the test
    """Each claim takes its 32 devices."""
    pools, requests = requests_for(200)
    needs = [requests.need(made(f"c{number}", exactly("r", count=32))) for number in range(claims)]
    search = Search(pools, needs, np.arange(200), usage=DeviceUsage(pools, ()), knows_all=True)

    assert (search.run() is not None) is is_found
