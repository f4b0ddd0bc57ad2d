"""The example of docs/plugins/deviceshare.md."""

import json
from typing import Any

from pyroclast.framework.extension import contract
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.unit.examples.page import assert_tells
from tests.unit.plugins import ascend, koordinator
from tests.unit.plugins.cards import IDS, MEMORY, annotations_of, one, run, with_cards
from tests.unit.plugins.test_deviceshare_scores import scores

FOUR, TOGETHER = koordinator.FOUR, koordinator.TOGETHER
WEIGHT, TAKEN = 10, 4096
ARGUMENTS: dict[str, Any] = {"VGPUEnable": True, "SchedulePolicy": "binpack", "ScheduleWeight": WEIGHT}
HELD = with_cards(Scenario(), "n", MEMORY, MEMORY).running(
    "r", on=["n"], pod=one(number=1, memory=TAKEN), annotations={IDS: f"GPU-0,NVIDIA,{TAKEN},0:"}
)


def given(**limits: Any) -> str:
    """Cards of a pod with such limits, or why it has none."""
    outcome = run(HELD.job("p", pod=one(**limits)), **ARGUMENTS)
    if outcome.bindings:
        return f"`{annotations_of(outcome)['p-0'][IDS]}`"
    return f"none: {outcome.why_pod('p-0').rpartition(': ')[2].rstrip('.')}"


def score(**limits: Any) -> float:
    """Score of the node for such a pod."""
    named = {f"deviceshare.{key}": value for key, value in ARGUMENTS.items()}
    session = open_session(HELD.job("p", pod=one(**limits)), plugins=("deviceshare",), arguments={"deviceshare": named})
    task = next(task for job in session.snapshot.jobs.values() for task in job.tasks.values() if task.node is None)
    (each, _) = session.extensions.functions(contract.NODE_ORDER)
    return float(each.function(task, session.nodes.columns())[0])


NEAR = {"joint": TOGETHER}


def devices(wish: Any = None, **amounts: Any) -> str:
    """Koordinator's devices of a pod that asks for so much, or why it has none."""
    there = koordinator.holding(koordinator.with_devices(*FOUR), "r", **koordinator.whole("gpu", 2))
    asking = koordinator.wanting(there, annotations=koordinator.annotated(**(wish or {})), **amounts)
    outcome = koordinator.run(asking)
    found = koordinator.given(outcome).items()
    told = "; ".join(f"{kind} {', '.join(map(str, numbers))}" for kind, numbers in found)
    return told or f"none: {outcome.why_pod('p-0').rpartition(': ')[2].rstrip('.')}"


CHIP = "Ascend910A"
CHIPS = ascend.holding(
    ascend.with_chips(Scenario().add(ascend.chips_map()), CHIP, 4, networks=[0, 1, 1, 0]), CHIP, "r", 32768, 0
)


def chips(**limits: int) -> str:
    """Chips of a pod with such limits and the score of the node, or why it has none."""
    job = CHIPS.job("p", pod=ascend.one(CHIP, **limits))
    outcome = ascend.run(job)
    if not outcome.bindings:
        return f"none: {outcome.why_pod('p-0').rpartition(': ')[2].rstrip('.')} |"
    template = json.loads(annotations_of(outcome)["p-0"][f"huawei.com/{CHIP}"])[0].get("temp")
    named = f", template `{template}`" if template else ""
    (points,) = scores(job, AscendHAMiVNPUEnable=True, VGPUEnable=False, ScheduleWeight=1).values()
    return f"`{ascend.allocated(outcome, CHIP)}`{named} | {points:g}"


def test_the_page() -> None:
    """What pods are given, and what the node scores: of virtual cards, Koordinator's devices and Ascend chips."""
    after = TAKEN + 4096
    part = 100 * after // MEMORY

    assert_tells(
        "plugins/deviceshare",
        f"A node has two cards of {MEMORY}, the first with {TAKEN} in use, and `binpack` with weight {WEIGHT}.",
        f"| 1 card, 4096 | {given(number=1, memory=4096)} |",
        f"| 1 card | {given(number=1)} |",
        f"| 2 cards, 3000, 50 percent | {given(number=2, memory=3000, cores=50)} |",
        f"| 1 card, 20000 | {given(number=1, memory=20000)} |",
        f"The first scores 100 * {after} / {MEMORY}, so {part}, times the weight {score(number=1, memory=4096):g}.",
        "four GPUs of 80Gi and two RDMA cards, half of them at each of two PCIe switches",
        "GPU 2 is in use.",
        f"| 1 `nvidia.com/gpu` | {devices(nvidia=1)} |",
        f"| 2 `nvidia.com/gpu` | {devices(nvidia=2)} |",
        f"| 3 `nvidia.com/gpu` and 1 percent of RDMA cards, near each other | {devices(NEAR, nvidia=3, rdma=1)} |",
        f"| 50 percent of cores and memory | {devices(core=50, ratio=50)} |",
        f"| 4 `nvidia.com/gpu` | {devices(nvidia=4)} |",
        f"four Ascend {CHIP.removeprefix('Ascend')} chips in the networks 0, 1, 1 and 0; chip `id0` is in use.",
        f"| 2 `huawei.com/{CHIP}` | {chips(number=2)} |",
        f"| 1 `huawei.com/{CHIP}`, 4096 | {chips(number=1, memory=4096)} |",
        f"| 2 `huawei.com/{CHIP}`, 4096 | {chips(number=2, memory=4096)} |",
    )
