"""The example of docs/plugins/resource-strategy-fit.md."""

from typing import Any

from pyroclast.framework.extension import contract
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import World, node, opened, pod

LEAST, MOST = "LeastAllocated", "MostAllocated"
DEVICES = ("example.com/t4", "example.com/a10")


def world(*objects: Any, **arguments: Any) -> World:
    """A session with the plugin alone."""
    return opened(*objects, plugins=[{"name": "resource-strategy-fit", "arguments": arguments}])


def fit(cpu: tuple[str, int], memory: tuple[str, int]) -> str:
    """The score of a node of 500 of which 200 are used, for a pod of 100, by strategy and weight of both."""
    counted = {name: {"type": kind, "weight": weight} for name, (kind, weight) in (("cpu", cpu), ("memory", memory))}
    used, asked = pod("r", on="n", cpu="200m", memory="200"), pod("p", cpu="100m", memory="100")
    scored = world(node("n", cpu="500m", memory="500"), used, asked, resources=counted).scores("p")["n"]
    return f"{scored:.3f}".removesuffix(".000")


def scarce() -> dict[str, str]:
    """The scores of nodes with some devices for a pod that asks for CPU."""
    weights = dict(zip(DEVICES, (2, 3), strict=True))
    sra = {"enable": True, "resources": ", ".join(DEVICES), "weight": 5, "resourceWeight": weights}
    nodes = node("none"), node("t4", t4="1"), node("a10", a10="1"), node("both", t4="1", a10="1")
    found = world(*nodes, pod("p", memory=""), resourceStrategyFitWeight=0, sra=sra).scores("p")
    return {name: f"{each:g}" for name, each in found.items()}


def passes(idle: int, gpus: int, cpu: int, **device: Any) -> bool:
    """Whether a pod passes where so much is idle and 4 CPU and 4G are kept for each GPU."""
    kept = {
        "enable": True,
        "resources": "nvidia.com/gpu",
        "resourceProportion": {"nvidia.com/gpu.cpu": 4, "nvidia.com/gpu.memory": 4},
    }
    asked = pod("p", cpu=str(cpu), memory=f"{cpu}G", **device)
    there = world(node("n", cpu=str(idle), memory=f"{idle}G", gpu=str(gpus)), asked, proportional=kept)
    answer = there.function(contract.PREDICATE).function(there.task("p"), there.session.nodes.columns())
    return answer is None or not answer.any()


def test_the_page() -> None:
    """Fit, scarce devices, and room kept beside devices."""
    scores = scarce()
    assert [passes(30, 6, 4), passes(30, 6, 10), passes(30, 6, 10, gpu="1"), passes(26, 2, 10)] == [
        True,
        False,
        True,
        True,
    ]

    assert_tells(
        "plugins/resource-strategy-fit",
        f"weight 10, 100 of 500 used 200, of both CPU and memory: {LEAST} {fit((LEAST, 1), (LEAST, 1))}, "
        f"{MOST} {fit((MOST, 1), (MOST, 1))};",
        f"CPU {LEAST} with weight 2 and memory {MOST} with weight 1: {fit((LEAST, 2), (MOST, 1))}.",
        f"Scarce with weight 5, t4 weighs 2 and a10 3; a pod that requests CPU: {scores['none']} on a node "
        f"without GPU, {scores['t4']} with t4, {scores['a10']} with a10, {scores['both']} with both.",
        "A node with 30 CPU, 30G and 6 GPU idle, 4 CPU and 4G kept for each: "
        f"a pod of 4 CPU and 4G passes ({30 - 4} ≥ {6 * 4}), one of 10 does not, one of 10 with a GPU does.",
        f"With 26 CPU, 26G and 2 GPU idle one of 10 passes ({26 - 10} ≥ {2 * 4}).",
    )
