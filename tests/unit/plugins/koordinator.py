"""Nodes with Koordinator's devices and pods that want some, for tests of deviceshare."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.testing import Outcome, Scenario
from tests.devices import CORE, FPGA, MEMORY, NVIDIA, RATIO, RDMA, SHARED, device, gpu, rdma
from tests.unit.plugins.cards import annotations_of

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
NAMES = {
    "core": CORE,
    "fpga": FPGA,
    "gpu": "koordinator.sh/gpu",
    "memory": MEMORY,
    "nvidia": NVIDIA,
    "ratio": RATIO,
    "rdma": RDMA,
    "shared": SHARED,
}
GENERAL = {"rdma": {"vfSelector": {"matchLabels": {"type": "general"}}}}
TOGETHER = {"deviceTypes": ["gpu", "rdma"]}
A, B = (0, "0000:3b"), (1, "0000:5b")

FOUR = (
    *(gpu(minor, at=A) for minor in (0, 1)),
    *(gpu(minor, at=B) for minor in (2, 3)),
    rdma(0, at=A, functions=["0000:3d:00.3", "0000:3d:00.2"]),
    rdma(1, at=B, functions=["0000:5d:00.2"]),
)
"""Four GPUs and two RDMA cards: half of them at each of two PCIe switches in NUMA nodes of their own."""

_SWITCHES = ((0, "pci-0", "1f"), (0, "pci-1", "90"), (1, "pci-2", "51"), (1, "pci-3", "b9"))
EIGHT = (
    *(gpu(minor, memory="83201216Ki", at=_SWITCHES[minor // 2][:2]) for minor in range(8)),
    *(
        rdma(number + 1, at=(numa, pcie), functions=[f"0000:{bus}:00.{function}" for function in (2, 3)])
        for number, (numa, pcie, bus) in enumerate(_SWITCHES)
    ),
)
"""Eight GPUs and four RDMA cards, these from number 1 on: two and one at each of four switches in two NUMA nodes."""


def with_devices(*devices: Mapping[str, Any], name: str = "n", base: Scenario | None = None, **told: Any) -> Scenario:
    """Add a node with devices; `told` has labels of the node (`labels`) and metadata of its Device (`own`)."""
    offered = {NVIDIA: 8}
    there = (base or Scenario()).node(name, cpu=64, resources=offered, labels=told.get("labels"))
    return there.add(device(name, *devices, **told.get("own", {})))


def whole(kind: str, *minors: int, **more: Any) -> dict[str, Any]:
    """What an annotation tells of devices that are taken whole, or of so much of each."""
    amounts = {"gpu": {CORE: "100", RATIO: "100"}, "rdma": {RDMA: "100"}, "fpga": {FPGA: "100"}}[kind]
    return {kind: [{"minor": minor, "resources": {**amounts, **more}} for minor in minors]}


def holding(scenario: Scenario, name: str, on: str = "n", **allocated: Any) -> Scenario:
    """Add pods that run with devices, by type as annotations tell of them: one for each device, which it asks for."""
    for kind, devices in allocated.items():
        for number, each in enumerate(devices):
            scenario = scenario.running(
                f"{name}-{kind}-{number}",
                on=[on],
                cpu=0,
                resources=asked_for(each["resources"]),
                annotations={ALLOCATED: json.dumps({kind: [each]})},
            )
    return scenario


def asked_for(told: Mapping[str, Any]) -> dict[str, Any]:
    """What a pod asks for that was given so much of one device; a ratio stands for the memory beside it."""
    return {name: amount for name, amount in told.items() if name != MEMORY or RATIO not in told}


def annotated(
    hint: Any = None, joint: Any = None, partition: Any = None, numa: Any = None, **plain: str
) -> dict[str, str]:
    """Annotations of a pod that requests more of devices than amounts."""
    told = {
        "device-allocate-hint": hint,
        "device-joint-allocate": joint,
        "gpu-partition-spec": partition,
        "numa-topology-spec": numa,
    }
    written = {f"scheduling.koordinator.sh/{key}": json.dumps(each) for key, each in told.items() if each is not None}
    return {**written, **plain}


def wanting(
    scenario: Scenario, *, name: str = "p", annotations: Mapping[str, str] | None = None, tasks: int = 1, **more: Any
) -> Scenario:
    """Add a job whose pods want devices, by short names; its members need not run together."""
    asked = {NAMES[key]: more.pop(key) for key in list(more) if key in NAMES}
    return scenario.job(name, tasks=tasks, min_available=1, resources=asked, annotations=annotations, **more)


def run(
    scenario: Scenario,
    *actions: str,
    plugins: Sequence[Any] = ("gang", "predicates", "deviceshare"),
    cycles: int = 1,
    **arguments: Any,
) -> Outcome:
    """Allocate with Koordinator's devices; arguments as they are spelled."""
    given = {"deviceshare.KoordinatorEnable": True, **arguments}
    return scenario.run(*(actions or ("allocate",)), plugins=plugins, arguments={"deviceshare": given}, cycles=cycles)


def told_of(outcome: Outcome, pod: str = "p-0") -> dict[str, Any]:
    """What the binding of a pod tells of devices, by type; empty where it was not bound with any."""
    told: dict[str, Any] = json.loads(annotations_of(outcome).get(pod, {}).get(ALLOCATED, "{}"))
    return told


def given(outcome: Outcome, pod: str = "p-0") -> dict[str, list[Any]]:
    """Numbers of a pod's devices, by type, with the addresses of virtual functions behind them where it has some."""
    return {kind: [_number(each) for each in devices] for kind, devices in told_of(outcome, pod).items()}


def _number(told: Mapping[str, Any]) -> Any:
    functions = [each["busID"].partition(":")[2] for each in told.get("extension", {}).get("vfs", [])]
    return (told["minor"], *functions) if functions else told["minor"]
