"""The example of docs/plugins/nodeorder.md."""

from typing import Any

from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import node, opened, pod

WEIGHTS = (
    "leastrequested",
    "mostrequested",
    "balancedresource",
    "nodeaffinity",
    "podaffinity",
    "tainttoleration",
    "imagelocality",
    "podtopologyspread",
)
GIB: dict[str, Any] = {"cpu": "1", "memory": "1Gi"}
GB: dict[str, Any] = {"cpu": "1", "memory": "1G"}


def scored(used: dict[str, Any] | None, asked: dict[str, Any], arguments: dict[str, Any], **offered: Any) -> str:
    """The score of a node for a pod, with these arguments."""
    there = [node("n", **offered), pod("p", **asked), *([pod("r", on="n", **used)] if used else [])]
    world = opened(*there, plugins=["predicates", {"name": "nodeorder", "arguments": arguments}])
    return f"{world.scores('p')['n']:g}"


def row(
    told: str, asked: dict[str, Any], parts: str = "lmb", *, used: dict[str, Any] | None = None, **offered: Any
) -> str:
    """A line of the table, with some of least, most, balanced and (by the formula of 1.35) `o`."""

    def only(weight: str, **more: Any) -> str:
        return scored(used, asked, {**{f"{key}.weight": int(key == weight) for key in WEIGHTS}, **more}, **offered)

    least = f" {only('leastrequested')} " if "l" in parts else " "
    most = f" {only('mostrequested')} " if "m" in parts else " "
    balanced = f" {only('balancedresource')} " if "b" in parts else " "
    if "o" in parts:
        balanced = f"{balanced}({only('balancedresource', **{'balancedresource.formula': '1.35'})}) "
    return f"| {told} |{least}|{most}|{balanced}|"


def test_the_page() -> None:
    """Free room, used room and balance, and their sum with the default weights."""
    small: dict[str, Any] = {"cpu": "2", "memory": "4Gi"}
    large: dict[str, Any] = {"cpu": "4", "memory": "8Gi"}
    devices: dict[str, Any] = {"cpu": "8", "memory": "32Gi", "gpu": "8"}
    busy = {"cpu": "1", "memory": "2Gi"}
    third = row("4 CPU / 8 GiB, 1 CPU / 2 GiB used | 1 CPU, 1 GiB", GIB, "lmbo", used=busy, **large)
    least, balanced = (cell.split()[0] for cell in (third.split("|")[3], third.split("|")[5]))
    total = scored(busy, GIB, {}, **large)
    assert int(total) == int(least) + int(balanced) + 3 * 100

    assert_tells(
        "plugins/nodeorder",
        "| node | pod | least | most | balanced (1.35) |",
        row("2 CPU / 4 GiB, empty | 1 CPU, 1 GB", GB, "lm", **small),
        row("4 CPU / 8 GiB, empty | 1 CPU, 1 GB", GB, "lm", **large),
        third,
        row("2 CPU / 2 GiB, empty | 1 CPU, 1 GiB", GIB, "b", cpu="2", memory="2Gi"),
        row("4 CPU / 2 GiB, empty | 1 CPU, 1 GiB", GIB, "b", cpu="4", memory="2Gi"),
        row(
            "4 CPU / 8 GiB, 3 CPU / 1 GiB used | 500m, 4 GiB",
            {"cpu": "500m", "memory": "4Gi"},
            "b",
            used={"cpu": "3", "memory": "1Gi"},
            **large,
        ),
        row(
            "8 CPU / 32 GiB / 8 GPU, 2 / 4 / 2 used | 2 CPU, 4 GiB, 2 GPU",
            {"cpu": "2", "memory": "4Gi", "gpu": "2"},
            "b",
            used={"cpu": "2", "memory": "4Gi", "gpu": "2"},
            **devices,
        ),
        row("4 CPU / 8 GiB, empty | best-effort", {"cpu": "", "memory": ""}, "lmb", **large),
        f"which has no taints, scores {least} + {balanced} + 3 * 100 = {total}.",
    )
