"""Scores of Koordinator's devices and of their nodes."""

from typing import Any

import pytest

from pyroclast.framework.extension import contract
from pyroclast.model.devices.koordinator.names import OFFERED, RATIO
from pyroclast.plugins.deviceshare.koordinator.scoring import LEAST, MOST, Scoring
from pyroclast.testing import Scenario
from pyroclast.testing.session import open_session
from tests.devices import CORE, MEMORY, RDMA, gpu
from tests.unit.plugins.koordinator import given, holding, run, wanting, whole, with_devices

GIB = 2**30
Gpu = tuple[int | None, ...]


def amounts(ratio: int | None = None, memory: int | None = None, core: int | None = None) -> Gpu:
    """Amounts of GPUs, memory in gibibytes."""
    named = {RATIO: ratio, MEMORY: None if memory is None else memory * GIB, CORE: core}
    return tuple(named.get(name) for name in OFFERED["gpu"])


@pytest.mark.parametrize(("free", "asked", "least", "most"), [(100, 50, 50, 50), (50, 30, 20, 80), (0, 50, 0, 100)])
def test_a_device_by_one_resource(free: int, asked: int, least: int, most: int) -> None:
    """Scored by how much is left or taken with the pod; more than there is counts as all of it."""
    for strategy, expected in ((LEAST, least), (MOST, most)):
        assert Scoring(strategy).score("gpu", amounts(asked), amounts(100), amounts(free)) == expected


@pytest.mark.parametrize(
    ("total", "free", "asked", "least", "most"),
    [
        (amounts(100, 16), amounts(100, 16), amounts(100), 50, 50),
        (amounts(200, 32), amounts(200, 32), amounts(50), 87, 12),
        (amounts(100, 16), amounts(75, 12), amounts(50), 50, 50),
        (amounts(1000, 160), amounts(975, 156), amounts(50, core=50), 94, 4),
    ],
)
def test_all_gpus_of_a_node(total: Gpu, free: Gpu, asked: Gpu, least: int, most: int) -> None:
    """What the pod does not ask for counts, too; averages are rounded down."""
    for strategy, expected in ((LEAST, least), (MOST, most)):
        assert Scoring(strategy).score("gpu", asked, total, free) == expected


def test_other_devices_and_weights() -> None:
    """A weight of nothing has no say; what a device does not offer has none either."""
    assert Scoring(LEAST).score("rdma", (25,), (1000,), (950,)) == 92
    weighted = Scoring(LEAST, ((RATIO, 3), (MEMORY, 1), (CORE, 0)))
    assert weighted.score("gpu", amounts(100), amounts(100, 16), amounts(100, 16)) == 25
    assert Scoring(LEAST, ()).score("rdma", (25,), (1000,), (950,)) == 0
    assert Scoring(LEAST).score("rdma", (25,), (None,), (None,)) == 0


def scores(scenario: Scenario, **arguments: Any) -> dict[str, float]:
    """Raw scores of the pending pod by node, and what they are rescaled to under `scaled`."""
    given_ = {"deviceshare.KoordinatorEnable": True, "deviceshare.ScheduleWeight": 1, **arguments}
    session = open_session(scenario, plugins=("deviceshare",), arguments={"deviceshare": given_})
    task = next(task for job in session.snapshot.jobs.values() for task in job.tasks.values() if task.node is None)
    each, _ = session.extensions.functions(contract.NODE_ORDER)
    raw = each.function(task, session.nodes.columns())
    assert each.normalise is not None
    names = list(map(str, session.nodes.table.names))
    return {
        **dict(zip(names, raw.tolist(), strict=True)),
        **dict(zip((f"{name} scaled" for name in names), each.normalise(raw).tolist(), strict=True)),
    }


TWO = with_devices(gpu(0), gpu(1), name="busy", base=with_devices(gpu(0), gpu(1), name="idle"))
TWO = holding(TWO, "r", "busy", **whole("gpu", 0))


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        ("LeastAllocated", {"busy": 0, "idle": 50, "busy scaled": 0, "idle scaled": 100}),
        ("MostAllocated", {"busy": 100, "idle": 50, "busy scaled": 100, "idle scaled": 50}),
    ],
)
def test_nodes_compare_with_the_best(strategy: str, expected: Any) -> None:
    """All that the pod would have counts, its memory too; the best node has 100."""
    there = wanting(TWO, nvidia=1)

    assert scores(there, scoringStrategy={"type": strategy}) == expected


def test_all_devices_of_a_pod_count() -> None:
    """Two whole GPUs of two leave nothing, of four half."""
    there = with_devices(gpu(0), gpu(1), name="two", base=with_devices(*(gpu(at) for at in range(4)), name="four"))
    found = scores(wanting(there, nvidia=2))

    assert (found["two"], found["four"]) == (0, 50)


def test_types_add_up_and_weights_multiply() -> None:
    """A node that tells of no devices has no score."""
    there = with_devices(
        gpu(0), {"type": "rdma", "minor": 0, "health": True, "resources": {RDMA: "100"}}, name="both"
    ).node("other", resources={"nvidia.com/gpu": 8, RDMA: 100})
    found = scores(wanting(there, ratio=50, rdma=25), **{"deviceshare.ScheduleWeight": 3})

    assert found == {"both": 125, "other": 0, "both scaled": 300, "other scaled": 0}


def test_where_no_score_is_all_are_equal() -> None:
    """The best has nothing."""
    assert scores(wanting(with_devices(gpu(0)), nvidia=1)) == {"n": 0, "n scaled": 0}


@pytest.mark.parametrize(("strategy", "node"), [("LeastAllocated", "idle"), ("MostAllocated", "busy")])
def test_scores_lead_to_nodes(strategy: str, node: str) -> None:
    """Where they have a say."""
    arguments: Any = {"scoringStrategy": {"type": strategy}, "deviceshare.ScheduleWeight": 1}
    outcome = run(wanting(TWO, nvidia=1), **arguments)

    assert outcome.bindings == {"p-0": node}
    assert given(outcome)["gpu"] == [0 if node == "idle" else 1]
