"""The example of docs/plugins/binpack.md."""

from typing import Any

from tests.unit.examples.page import assert_tells
from tests.unit.plugins.binpack import WEIGHTS
from tests.unit.plugins.policies import node, opened, pod

SMALL: dict[str, Any] = {"cpu": "1", "memory": "1Gi"}
DEVICES: dict[str, Any] = {"cpu": "2", "memory": "10Gi", "gpu": "2"}
FOO: dict[str, Any] = {"cpu": "3", "memory": "4Gi", "foo": "3"}
LARGE = node("n", cpu="4", memory="16Gi", gpu="4")
UNLISTED = {"binpack.resources": "nvidia.com/gpu", "binpack.resources.nvidia.com/gpu": 23}


def score(asked: dict[str, Any], *there: Any, arguments: dict[str, Any] = WEIGHTS) -> str:
    """The score of the node for a pod."""
    world = opened(*there, pod("p", **asked), plugins=[{"name": "binpack", "arguments": arguments}])
    return str(round(world.scores("p")["n"], 4)).removesuffix(".0")


def test_the_page() -> None:
    """Five pods and nodes, and two of them with other weights."""
    half = node("n", cpu="2", memory="4Gi"), pod("r", on="n", cpu="1", memory="1Gi")
    full = node("n", cpu="2", memory="4Gi"), pod("r", on="n", cpu="1500m", memory="")
    by_hand = (1.0 * 2 + 0.5 * 3) / 5 * 1000
    first = score(SMALL, *half)
    assert float(first) == by_hand

    assert_tells(
        "plugins/binpack",
        "weight 10, cpu 2, memory 3, gpu 7, foo 8:",
        "| 1 CPU, 1 GiB | 2 CPU / 4 GiB, half the CPU and a quarter of the memory used "
        f"| (1.0*2 + 0.5*3) / 5 * 1000 = {first} |",
        f"| 1 CPU, 1 GiB | 4 CPU / 16 GiB / 4 GPU, empty | {score(SMALL, LARGE)} |",
        f"| 1 CPU, 1 GiB | 2 CPU with 1.5 used | {score(SMALL, *full)} |",
        f"| 2 CPU, 10 GiB, 2 GPU | 4 CPU / 16 GiB / 4 GPU, empty | {score(DEVICES, LARGE)} |",
        f"| 3 CPU, 4 GiB, 3 foo | the same, which has no foo | {score(FOO, LARGE)} |",
        f"With weights 1 and gpu 23, foo not listed: {score(DEVICES, LARGE, arguments=UNLISTED)} and "
        f"{score(FOO, LARGE, arguments=UNLISTED)} for the last two.",
    )
