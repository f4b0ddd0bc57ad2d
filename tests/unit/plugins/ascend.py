"""Nodes with Ascend chips and pods that request them, for tests of deviceshare."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pyroclast.testing import Outcome, Scenario
from tests.unit.plugins.cards import annotations_of, config_map, wanting

KINDS: Mapping[str, tuple[int, int, int, Sequence[tuple[str, int]]]] = {
    "Ascend910A": (
        32768,
        32768,
        30,
        [("vir02", 2184), ("vir04", 4369), ("vir08", 8738), ("vir16", 17476)],
    ),
    "Ascend910B2": (65536, 65536, 24, [("vir03_1c_8g", 8192), ("vir06_1c_16g", 16384), ("vir12_3c_32g", 32768)]),
    "Ascend910B3": (65536, 65536, 20, [("vir05_1c_16g", 16384), ("vir10_3c_32g", 32768)]),
    "Ascend910B4-1": (65536, 65536, 20, [("vir05_1c_8g", 8192), ("vir10_3c_16g", 16384)]),
    "Ascend910B4": (32768, 32768, 20, [("vir05_1c_8g", 8192), ("vir10_3c_16g", 16384)]),
    "Ascend310P": (21527, 24576, 8, [("vir01", 3072), ("vir02", 6144), ("vir04", 12288)]),
}
"""Memory of a whole chip, most memory of a request, AI cores and templates, as Volcano's tests list them."""


def chips_map(kinds: Sequence[str] = tuple(KINDS), *, as_list: bool = False, **more: Any) -> dict[str, Any]:
    """The device ConfigMap with these kinds of chips."""
    configs = [
        {
            "commonWord": kind,
            "chipName": kind.removeprefix("Ascend"),
            "resourceName": f"huawei.com/{kind}",
            "resourceMemoryName": f"huawei.com/{kind}-memory",
            "memoryAllocatable": KINDS[kind][0],
            "memoryCapacity": KINDS[kind][1],
            "aiCore": KINDS[kind][2],
            "templates": [{"name": name, "memory": memory, "aiCore": 1} for name, memory in KINDS[kind][3]],
        }
        for kind in kinds
    ]
    return config_map(json.dumps({"vnpus": configs if as_list else {"configs": configs, **more}}))


def register(
    kind: str, count: int, *, shares: int = 7, networks: Sequence[Any] = (), first: int = 0, **more: Any
) -> str:
    """What the device plugin writes of chips called `id0` and on."""
    memory, _, cores, _ = KINDS[kind]
    chips = (
        {
            "id": f"id{first + at}",
            "index": at,
            "count": shares,
            "devmem": memory,
            "devcore": cores,
            "type": kind,
            "health": True,
            **({"custominfo": {"NetworkID": networks[at]}} if networks else {}),
            **more,
        }
        for at in range(count)
    )
    return json.dumps([*chips])


def with_chips(
    base: Scenario,
    kind: str,
    count: int,
    *,
    name: str = "n",
    annotations: Mapping[str, str] | None = None,
    **told: Any,
) -> Scenario:
    """Add a node with chips. As with HAMi's device plugin, it offers their number alone."""
    written = {f"hami.io/node-register-{kind}": register(kind, count, **told), **(annotations or {})}
    offered = {f"huawei.com/{kind}": count * told.get("shares", 7)}
    return base.node(name, cpu=64, resources=offered, annotations=written)


def chips(kind: str, name: str = "main", **limits: int) -> dict[str, Any]:
    """A container that requests chips: `number`, `memory` and `cores` of each."""
    names = {"number": "", "memory": "-memory", "cores": "-core"}
    listed = {f"huawei.com/{kind}{names[key]}": str(value) for key, value in limits.items()}
    return {"name": name, "image": "app:1", "resources": {"limits": listed, "requests": listed}}


def one(kind: str, **limits: Any) -> dict[str, Any]:
    """The specification of a pod with one container that requests chips."""
    return wanting(chips(kind, **limits))


def holding(
    scenario: Scenario, kind: str, name: str, memory: int, *cards: int, cores: int = 0, on: str = "n", **more: Any
) -> Scenario:
    """Add a pod that runs with so much of each of some chips."""
    ids = "".join(f"id{card},{kind},{memory},{cores}:" for card in cards) + ";"
    asked: dict[str, Any] = {"number": len(cards), "memory": memory, **({"cores": cores} if cores else {})}
    written = {f"hami.io/{kind}-devices-allocated": ids, **more.pop("annotations", {})}
    return scenario.running(name, on=[on], pod=one(kind, **asked), annotations=written, **more)


def run(scenario: Scenario, *, now: float = 1_800_000_000.5, cycles: int = 1, **arguments: Any) -> Outcome:
    """Allocate with Ascend chips; arguments without their prefix."""
    given = {"AscendHAMiVNPUEnable": True, **arguments}
    return scenario.run(
        "allocate",
        plugins=("gang", "predicates", "deviceshare"),
        arguments={"deviceshare": {f"deviceshare.{key}": value for key, value in given.items()}},
        now=now,
        cycles=cycles,
    )


def allocated(outcome: Outcome, kind: str, pod: str = "p-0") -> str:
    """The chips in the annotation of a pod; empty if it has none."""
    return annotations_of(outcome).get(pod, {}).get(f"hami.io/{kind}-devices-allocated", "")
