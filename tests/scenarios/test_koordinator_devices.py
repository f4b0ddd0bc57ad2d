"""Koordinator's devices in clusters that live: evictions, faults, and what nodes say they offer."""

import json
from typing import Any

import pytest

from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, GIB, MEMORY, NVIDIA, RATIO, gpu, rdma
from tests.unit.plugins.koordinator import ALLOCATED, FOUR, annotated, given, holding, run, wanting, whole, with_devices

PLUGINS = (("priority", "conformance"), ("gang", "predicates", "deviceshare"))
BASE = Scenario().priority_class("high", 100).queue("q")
HIGH: dict[str, Any] = {"queue": "q", "priority_class": "high", "priority": 100, "phase": "Inqueue"}
HALF = {CORE: "50", RATIO: "50", MEMORY: "40Gi"}


def held(scenario: Scenario, name: str, minor: int, ratio: int = 50, **more: Any) -> Scenario:
    """Add a running pod with a share of one GPU, for which it asks, too."""
    part = {CORE: str(ratio), RATIO: str(ratio), MEMORY: str(80 * GIB * ratio // 100)}
    told = {ALLOCATED: json.dumps(whole("gpu", minor, **part))}
    return scenario.running(
        name, on=["n"], cpu=0, queue="q", annotations=told, resources={CORE: ratio, RATIO: ratio}, **more
    )


def roomy(scenario: Scenario) -> Scenario:
    """Let nodes offer more percent than their GPUs have, so that devices alone decide."""
    return Scenario(tuple(map(_roomy, scenario.objects)))


def _roomy(each: Any) -> Any:
    if each["kind"] != "Node":
        return each
    offered = {**each["status"]["allocatable"], RATIO: 1000, CORE: 1000, MEMORY: "1Ti"}
    return {**each, "status": {**each["status"], "allocatable": offered}}


def decide(scenario: Scenario, *actions: str, cycles: int = 1) -> Outcome:
    """Decide with Koordinator's devices."""
    return run(scenario, *actions, plugins=PLUGINS, cycles=cycles)


@pytest.mark.parametrize("action", ["preempt", "gangpreempt"])
def test_the_victim_holds_the_requested_gpu(action: str) -> None:
    """Half of each of two GPUs is free, percent enough together, and yet only all of one GPU will do."""
    there = held(held(with_devices(gpu(0), gpu(1), base=BASE), "a", 0), "b", 1)
    outcome = decide(wanting(there, name="high", ratio=100, **HIGH), "allocate", action, cycles=3)

    (victim,) = outcome.evictions
    assert given(outcome, "high-0") == {"gpu": [{"a-0": 0, "b-0": 1}[victim]]}
    assert outcome.is_at_rest


@pytest.mark.parametrize(
    ("hint", "amounts", "reason"),
    [
        (None, {"memory": "81Gi"}, "Insufficient gpu devices, were they all free"),
        ({"gpu": {"selector": {"matchLabels": {"pool": "x"}}}}, {"ratio": 50}, "were they all free"),
        ({"gpu": {"requiredTopologyScope": "PCIe"}}, {"ratio": 200}, "Insufficient Topology Scoped GPU Devices"),
    ],
)
def test_no_pod_is_evicted_if_no_gpus_would_fit(hint: Any, amounts: Any, reason: str) -> None:
    """Two GPUs at different switches, both in use: freed, they would not do either."""
    there = held(held(with_devices(gpu(0, at=(0, "a")), gpu(1, at=(0, "b")), base=BASE), "a", 0, 80), "b", 1, 80)
    high = wanting(roomy(there), name="high", annotations=annotated(hint=hint), **amounts, **HIGH)
    outcome = decide(high, "allocate", "preempt", cycles=2)

    assert (outcome.evictions, outcome.pipelined) == ([], {})
    assert reason in outcome.why_pod("high-0")


def test_pipelined_pods_hold_devices() -> None:
    """The room of one that leaves is for one alone."""
    there = held(with_devices(gpu(0), base=BASE), "a", 0, 100)
    leaving = [
        {**each, "metadata": {**each["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}
        if each["kind"] == "Pod"
        else each
        for each in there.objects
    ]
    there = roomy(Scenario(tuple(leaving)))
    both = wanting(wanting(there, name="p", queue="q", ratio=60), name="r", queue="q", ratio=60)
    outcome = decide(both, "allocate")

    assert given(outcome, "p-0") == {"gpu": [0]}
    assert "1 Insufficient gpu devices" in outcome.why_pod("r-0")


def test_a_gang_fills_a_node_to_the_last_gpu() -> None:
    """Four members of a whole GPU each; a fifth would be one too many."""
    outcome = run(with_devices(*FOUR).job("g", tasks=4, resources={NVIDIA: 1}))
    assert sorted(given(outcome, f"g-{number}")["gpu"][0] for number in range(4)) == [0, 1, 2, 3]

    outcome = run(with_devices(*FOUR).job("g", tasks=5, resources={NVIDIA: 1}))
    assert outcome.bindings == {}
    assert "Insufficient gpu devices" in outcome.why("g")


def test_each_node_is_counted_under_its_first_reason() -> None:
    """What never fits says so; what may fit later does not."""
    there = with_devices(gpu(0), name="few")
    there = with_devices(gpu(0), gpu(1), gpu(2, health=False), name="sick", base=there)
    there = with_devices(rdma(0), name="none", base=there)
    there = with_devices(*FOUR, name="used", base=there)
    there = with_devices(gpu(0), gpu(0), name="broken", base=there)
    there = holding(there, "r", "used", **whole("gpu", 0, 1))
    (refusal,) = run(wanting(there, nvidia=3)).refusals_of_pod("p-0")

    assert dict(refusal.counts) == {
        "Insufficient gpu devices": 1,
        "Insufficient gpu devices, were they all free": 3,
        "the node's registered cards cannot be read": 1,
    }


def test_an_unhealthy_gpu_stays_with_its_pod() -> None:
    """It is not lent; when the gang is complete again, nothing has changed."""
    part = whole("gpu", 0, **HALF)
    sick = holding(with_devices(gpu(0, health=False), gpu(1)), "r", **part)
    well = holding(with_devices(gpu(0), gpu(1)), "r", **part)

    assert given(run(wanting(sick, ratio=50))) == {"gpu": [1]}
    assert given(run(wanting(sick, nvidia=2))) == {}
    assert given(run(wanting(well, ratio=50), scoringStrategy={"type": "MostAllocated"})) == {"gpu": [0]}
    assert given(run(wanting(well, ratio=60), scoringStrategy={"type": "MostAllocated"})) == {"gpu": [1]}


def test_an_invalid_device_is_reported_on_its_node() -> None:
    """The node takes no pod that asks for devices, and all others."""
    there = with_devices(gpu(0, memory="much"))
    outcome = run(wanting(there.job("plain"), nvidia=1))
    (event,) = [each for each in outcome.events if each.reason == "DeviceRegisterInvalid"]

    assert outcome.bindings == {"plain-0": "n"}
    assert (event.kind, event.name) == ("Node", "n")
    assert "spec.devices[0].resources.koordinator.sh/gpu-memory" in event.message


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ("{", "device-allocated: "),
        ('{"gpu": [{"minor": 7}]}', "device-allocated: 1 of its devices are not devices of the node"),
        ('{"gpu": [{"minor": 0, "resources": {"koordinator.sh/gpu-core": "x"}}]}', "device-allocated: gpu 0: "),
    ],
)
def test_an_invalid_annotation_is_reported_on_its_pod(told: str, fault: str) -> None:
    """It does not count, because its amount is unknown."""
    there = with_devices(gpu(0)).running("r", on=["n"], annotations={ALLOCATED: told})
    outcome = run(wanting(there, nvidia=1))
    (event,) = [each for each in outcome.events if each.reason == "DeviceIdsInvalid"]

    assert (event.kind, event.name) == ("Pod", "r-0")
    assert fault in event.message
    assert given(outcome) == {"gpu": [0]}


def test_what_devices_offer_need_not_stand_on_the_node() -> None:
    """Where it does, it holds, also where it is less."""
    there = with_devices(gpu(0), gpu(1))
    assert given(run(wanting(there, gpu=200))) == {"gpu": [0, 1]}

    less = with_devices(gpu(0), gpu(1), name="n")
    told = [
        {**each, "status": {**each["status"], "allocatable": {"cpu": 8, "pods": 9, "koordinator.sh/gpu": 100}}}
        if each["kind"] == "Node"
        else each
        for each in less.objects
    ]
    assert "Insufficient koordinator.sh/gpu" in run(wanting(Scenario(tuple(told)), gpu=200)).why_pod("p-0")
    unreadable = with_devices(gpu(0, memory="much"))
    assert "the node's registered cards cannot be read" in run(wanting(unreadable, gpu=100)).why_pod("p-0")


def test_without_the_argument_no_devices_are_allocated() -> None:
    """Devices are followed, and amounts are all that counts."""
    switched_off: Any = {"deviceshare.KoordinatorEnable": False}
    outcome = run(wanting(with_devices(*FOUR), nvidia=1), **switched_off)

    assert outcome.bindings == {"p-0": "n"}
    assert given(outcome) == {}
