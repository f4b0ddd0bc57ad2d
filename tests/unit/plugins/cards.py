"""Nodes with cards and pods that want some, for tests of deviceshare."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.model.devices.vgpu_ids import read_ids
from pyroclast.testing import Outcome, Scenario

MEMORY = 16384
MODEL = "NVIDIA-A100-SXM4-40GB"
COUNT = "volcano.sh/vgpu-number"
SIZE = "volcano.sh/vgpu-memory"
CORES = "volcano.sh/vgpu-cores"
IDS = "volcano.sh/vgpu-ids-new"

GROUPS = [
    {"group": "group1", "geometries": [{"name": "1g.5gb", "memory": 5120, "count": 7}]},
    {
        "group": "group2",
        "geometries": [
            {"name": "2g.10gb", "memory": 10240, "count": 3},
            {"name": "1g.5gb", "memory": 5120, "count": 1},
        ],
    },
    {"group": "group3", "geometries": [{"name": "3g.20gb", "memory": 20480, "count": 2}]},
    {"group": "group4", "geometries": [{"name": "7g.40gb", "memory": 40960, "count": 1}]},
]
"""The ways in which a card of 40 GB can be cut."""


def register(*memory: int, shares: int = 10, mode: str = "hami-core", model: str = MODEL, healthy: str = "true") -> str:
    """What the device plugin writes of cards called `GPU-0` and on."""
    return "".join(f"GPU-{index},{shares},{size},{model},{healthy},{mode}:" for index, size in enumerate(memory))


def offered(*memory: int, shares: int = 10) -> dict[str, int]:
    """What a node with these cards offers."""
    return {COUNT: shares * len(memory), SIZE: sum(memory), CORES: 100 * len(memory)}


def with_cards(
    scenario: Scenario, name: str, *memory: int, annotations: Mapping[str, str] | None = None, **told: Any
) -> Scenario:
    """Add a node with cards of so much memory each."""
    told_by = {"volcano.sh/node-vgpu-register": register(*memory, **told), **(annotations or {})}
    return scenario.node(name, cpu=64, resources=offered(*memory, shares=told.get("shares", 10)), annotations=told_by)


def container(name: str = "main", **limits: Any) -> dict[str, Any]:
    """A container with limits, which are its requests too; `number`, `memory`, `cores`, `gpu_memory`, `gpu_number`."""
    names = {
        "number": COUNT,
        "memory": SIZE,
        "cores": CORES,
        "gpu_memory": "volcano.sh/gpu-memory",
        "gpu_number": "volcano.sh/gpu-number",
        "percentage": "volcano.sh/vgpu-memory-percentage",
    }
    listed = {names[key]: str(value) for key, value in limits.items()}
    return {"name": name, "image": "app:1", "resources": {"limits": listed, "requests": listed}}


def wanting(*containers: Mapping[str, Any], init: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """The specification of a pod with these containers."""
    return {"containers": list(containers), "initContainers": list(init)}


def one(**limits: Any) -> dict[str, Any]:
    """The specification of a pod with one container."""
    return wanting(container(**limits))


def run(
    scenario: Scenario,
    *,
    plugins: Sequence[Any] = ("gang", "predicates", "deviceshare"),
    cycles: int = 1,
    **arguments: Any,
) -> Outcome:
    """Allocate with deviceshare; arguments without their prefix, virtual cards where nothing else is said."""
    given = arguments or {"VGPUEnable": True}
    named = {f"deviceshare.{key}": value for key, value in given.items()}
    return scenario.run("allocate", plugins=plugins, arguments={"deviceshare": named}, cycles=cycles)


def annotations_of(outcome: Outcome) -> dict[str, dict[str, str]]:
    """Annotations of each binding, by pod."""
    return {bind.name: dict(bind.annotations) for each in outcome.rounds for plan in each.plans for bind in plan.binds}


def cards_of(outcome: Outcome) -> dict[str, list[str]]:
    """UUIDs of each pod that was bound with cards."""
    return {
        name: [each.uuid for each in read_ids(told[IDS])]
        for name, told in annotations_of(outcome).items()
        if IDS in told
    }


def device_map(geometries: Sequence[Mapping[str, Any]] = GROUPS, **nvidia: Any) -> dict[str, Any]:
    """The device ConfigMap with ways to cut cards, the usual names of resources, and whatever else is said."""
    names = {"resourceCountName": COUNT, "resourceMemoryName": SIZE, "resourceCoreName": CORES}
    known = [{"models": ["A100-SXM4-40GB"], "allowedGeometries": list(geometries)}]
    return config_map(str({"nvidia": {**names, "knownMigGeometries": known, **nvidia}}))


def config_map(text: str, key: str = "device-config.yaml") -> dict[str, Any]:
    """The device ConfigMap with any text."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "volcano-vgpu-device-config", "namespace": "kube-system", "uid": "map"},
        "data": {key: text},
    }
