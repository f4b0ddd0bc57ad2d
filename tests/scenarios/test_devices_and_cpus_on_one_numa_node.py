"""One NUMA plan for CPUs, memory and devices of a pod, whichever of the two plugins comes first."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from pyroclast import Plugin, Session
from pyroclast.testing import Outcome, Scenario
from tests.devices import NVIDIA, device, gpu
from tests.nodenuma import cpus_of, holding, pinned, run, status_of, topology

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
KOORDINATOR: dict[str, Any] = {"deviceshare": {"deviceshare.KoordinatorEnable": True}}
ORDERS = pytest.mark.parametrize(
    "plugins", [("gang", "predicates", "nodenuma", "deviceshare"), ("gang", "predicates", "deviceshare", "nodenuma")]
)


def machine(name: str = "n1", base: Scenario | None = None) -> Scenario:
    """Eight CPUs and four GPUs, half of each in NUMA node 0."""
    gpus = (gpu(minor, at=(minor // 2, f"pci-{minor // 2}")) for minor in range(4))
    there = (base or Scenario()).node(name, cpu=8, memory="128Gi", resources={NVIDIA: 4})
    return there.add(topology(name)).add(device(name, *gpus))


def wants(there: Scenario, cpu: int = 4, gpus: int = 2, **given: Any) -> Scenario:
    """A pod with CPUs of its own and GPUs."""
    return pinned(there, "p", cpu, resources={NVIDIA: gpus}, **given)


def decided(there: Scenario, plugins: Sequence[str], cycles: int = 1, **more: Any) -> Outcome:
    """Allocate both."""
    arguments = {"deviceshare": {**KOORDINATOR["deviceshare"], **more}}
    return run(there, plugins=plugins, more=arguments, cycles=cycles)


def minors(outcome: Outcome, pod: str = "p-0") -> list[int]:
    """GPUs of a pod."""
    for each in outcome.rounds:
        for plan in each.plans:
            for bind in plan.binds:
                if bind.name == pod:
                    return [gpu["minor"] for gpu in json.loads(bind.annotations[ALLOCATED])["gpu"]]
    return []


@ORDERS
def test_both_come_from_one_numa_node(plugins: Sequence[str]) -> None:
    """The first NUMA node has too few CPUs; without the CPUs GPUs 0 and 1 would be chosen."""
    there = holding(machine(), "held", "0,4", 2)
    outcome = decided(wants(there, numa="SingleNUMANode"), plugins)

    assert (cpus_of(outcome), minors(outcome)) == ("2-3,6-7", [2, 3])
    assert minors(decided(wants(there, cpu=2), plugins)) == [0, 1]


@ORDERS
def test_cpus_follow_the_gpus(plugins: Sequence[str]) -> None:
    """Both NUMA nodes have CPUs; the GPUs of the first are in use."""
    first = wants(machine(), cpu=2, numa="SingleNUMANode")
    outcome = decided(pinned(first, "q", 2, resources={NVIDIA: 2}, numa="SingleNUMANode"), plugins)

    assert (cpus_of(outcome), minors(outcome)) == ("0,4", [0, 1])
    assert (cpus_of(outcome, "q-0"), minors(outcome, "q-0")) == ("2,6", [2, 3])


@ORDERS
def test_no_numa_node_has_both(plugins: Sequence[str]) -> None:
    """GPUs are free on one, CPUs on the other."""
    there = holding(machine(), "held", "0,4", 2)
    there = there.running(
        "gpus",
        on=["n1"],
        cpu=0,
        resources={NVIDIA: 2},
        annotations={ALLOCATED: json.dumps({"gpu": [{"minor": minor, "resources": WHOLE} for minor in (2, 3)]})},
    )
    outcome = decided(wants(there, numa="SingleNUMANode"), plugins)

    assert outcome.bindings == {}
    assert "Unaligned NUMA Hint" in outcome.why_pod("p-0")
    assert decided(wants(there, numa="BestEffort"), plugins).bindings == {"p-0": "n1"}


@ORDERS
def test_nodes_with_equal_cpus_answer_by_their_own_devices(plugins: Sequence[str]) -> None:
    """The same CPUs of both nodes are in use; the GPUs beside the free CPUs are in use on the first node alone."""
    there = holding(machine(), "held", "0,4", 2)
    there = holding(machine("n2", there), "held-too", "0,4", 2, on="n2")
    in_use = {ALLOCATED: json.dumps({"gpu": [{"minor": minor, "resources": WHOLE} for minor in (2, 3)]})}
    there = there.running("gpus", on=["n1"], cpu=0, resources={NVIDIA: 2}, annotations=in_use)

    assert decided(wants(there, numa="SingleNUMANode"), plugins).bindings == {"p-0": "n2"}


WHOLE = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory-ratio": "100"}


@ORDERS
def test_devices_that_no_numa_node_has(plugins: Sequence[str]) -> None:
    """Three GPUs span both NUMA nodes."""
    outcome = decided(wants(machine(), cpu=2, gpus=3, numa="SingleNUMANode"), plugins)

    assert "Unaligned NUMA Hint" in outcome.why_pod("p-0")
    both = decided(wants(machine(), cpu=6, gpus=3, numa="Restricted"), plugins)
    assert [each["node"] for each in status_of(both)["numaNodeResources"]] == [0, 1]
    assert len(minors(both)) == 3


@ORDERS
def test_devices_without_alignment(plugins: Sequence[str]) -> None:
    """`disableDeviceNUMATopologyAlignment` leaves them out of the plan."""
    there = holding(machine(), "held", "0,4", 2)
    outcome = decided(wants(there, numa="SingleNUMANode"), plugins, disableDeviceNUMATopologyAlignment=True)

    assert (cpus_of(outcome), minors(outcome)) == ("2-3,6-7", [0, 1])


def test_a_pod_without_cpus_of_its_own() -> None:
    """Its CPU and memory are aligned with its GPUs as amounts."""
    there = holding(machine(), "held", "0,4", 2, amounts={0: {"cpu": "2"}})
    outcome = decided(
        pinned(there, "p", 3, qos="LS", numa="SingleNUMANode", resources={NVIDIA: 1}),
        ("gang", "predicates", "nodenuma", "deviceshare"),
    )

    assert status_of(outcome) == {"numaNodeResources": [{"node": 1, "resources": {"cpu": "3"}}]}
    assert minors(outcome) == [2]


def test_exclusive_numa_nodes_need_the_plugin() -> None:
    """Deviceshare alone refuses such a pod with its reason."""
    there = wants(machine(), cpu=2, numa="SingleNUMANode", numa_exclusive="Required", qos="LS")
    alone = there.run("allocate", plugins=("gang", "predicates", "deviceshare"), arguments=KOORDINATOR)

    assert alone.bindings == {}
    assert "singleNUMANodeExclusive: Required needs the plugin nodenuma" in alone.why_pod("p-0")
    assert decided(there, ("gang", "predicates", "nodenuma", "deviceshare")).bindings == {"p-0": "n1"}


@pytest.mark.parametrize(("plan", "expected"), [(0b10, [2, 3]), (None, [0, 1]), (0, []), ("high", []), (-1, [])])
def test_another_plugin_may_plan(plan: Any, expected: list[int]) -> None:
    """Devices come from the NUMA nodes that it names; a wrong answer is none."""

    class Planner(Plugin):
        name = "planner"

        def on_session_open(self, session: Session) -> None:
            session.extensions.register_numa_plan(self.name, lambda _task, _column, _in_future: plan)

    there = wants(machine(), cpu=2, qos="LS")
    outcome = there.run("allocate", plugins=("gang", "predicates", Planner, "deviceshare"), arguments=KOORDINATOR)

    assert minors(outcome) == expected
