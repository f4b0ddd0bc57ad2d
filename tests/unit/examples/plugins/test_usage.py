"""The example of docs/plugins/usage.md."""

from fractions import Fraction

import pytest

from pyroclast.model import wire
from pyroclast.model.usage import NodeUsage
from pyroclast.plugins.usage.arithmetic import PARTS, Weights, estimate, part_used_of_one, score_of_one
from tests.unit.examples.page import assert_tells
from tests.unit.plugins.policies import opened, pod

NOW = 1_000_000_000.0
AMOUNTS = {"cpu": "8", "memory": "16Gi", "pods": "110"}
MACHINE = wire.Node(
    metadata=wire.ObjectMeta(name="n", uid="n"), status=wire.NodeStatus(allocatable=AMOUNTS, capacity=AMOUNTS)
)


def estimated(request: int, limit: int = 0, *, ratio: str = "0.7", burst: str = "0", risk: str = "1") -> str:
    """What a pod is taken to use, in thousandths of a CPU."""
    amount = estimate(
        request, limit, request_ratio=Fraction(ratio), burst_ratio=Fraction(burst), risk_factor=Fraction(risk)
    )
    return f"{amount // PARTS}m"


def scored(cpu: float, memory: float, weights: Weights) -> str:
    """The score of a node."""
    return f"{round(score_of_one(cpu, memory, weights), 6):g}"


def score_beside(young: wire.Pod, *, cpu: float, memory: float, **arguments: int) -> float:
    """The score of the machine on which a pod has just begun."""
    usage = {"n": NodeUsage(cpu_percent=cpu, memory_percent=memory, measured=NOW)}
    option = {"name": "usage", "arguments": {key.replace("_", "."): value for key, value in arguments.items()}}
    return opened(MACHINE, young, pod("p"), plugins=[option], usage=usage, now=NOW).scores("p")["n"]


def estimated_of_nothing() -> str:
    """What a pod that asks for nothing is taken to use on a loaded machine: by how much the score is less."""
    light = pod("light", on="n", phase="Pending", cpu="", memory="")
    score = score_beside(light, cpu=80, memory=80, memory_weight=0)
    return f"{8000 * (1 - 0.8 - score / 500):.0f}m"


def test_the_page() -> None:
    """Scores, estimates, and a node with a young pod."""
    young = score_beside(pod("young", on="n", phase="Pending", cpu="1", memory=""), cpu=50, memory=40)
    cpu = part_used_of_one(50, int(700 * PARTS), 8000)
    assert young == pytest.approx(score_of_one(cpu, 0.4, Weights(cpu=1, memory=1, usage=5)))

    assert_tells(
        "plugins/usage",
        f"| CPU 0.3, memory 0.5 | 1, 1, usage 5 | {scored(0.3, 0.5, Weights(cpu=1, memory=1, usage=5))} |",
        f"| CPU 0.6, memory 0.5 | 2, 8, usage 5 | {scored(0.6, 0.5, Weights(cpu=2, memory=8, usage=5))} |",
        f"| nothing | 1, 1, usage 1 | {scored(0, 0, Weights(cpu=1, memory=1, usage=1))} |",
        f"| 500m, 2000m | 0.5, burst 0.2 | {estimated(500, 2000, ratio='0.5', burst='0.2')} |",
        f"| 500m, 600m | 0.7, risk 1.2 | {estimated(500, 600, risk='1.2')} |",
        f"| 500m, none | 1, risk 1.2 | {estimated(500, ratio='1', risk='1.2')}, the limit |",
        f"| nothing | risk 1.2 | {estimated_of_nothing()} |",
        "A node of 8 CPUs and 16 GiB, 50 % of its CPU and 40 % of its memory in use, with a pod of 1 CPU that has just "
        f"begun: used {cpu:g} and 0.4, score {young:g}.",
    )
