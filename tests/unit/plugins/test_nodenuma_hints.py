"""Sets of NUMA nodes, and the best of them."""

import pytest

from pyroclast.framework.extension.contract import NumaHint
from pyroclast.plugins.nodenuma.hints import NumaUse, best_nodes, mask_of, masks, nodes_in, respects

SINGLE, RESTRICTED, BEST_EFFORT = "SingleNUMANode", "Restricted", "BestEffort"


def hints(*nodes: int, preferred: bool = True, score: int = 0) -> list[NumaHint]:
    """Hints for masks."""
    return [NumaHint(mask, preferred, score) for mask in nodes]


def test_masks_of_nodes() -> None:
    """In the order of their masks."""
    assert [mask_of(nodes) for nodes in masks((0, 1, 3), 2)] == [0b0011, 0b1001, 0b1010]
    assert nodes_in(0b1011) == (0, 1, 3)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [(SINGLE, 0b10), (RESTRICTED, 0b10), (BEST_EFFORT, 0b10)],
)
def test_a_set_that_serves_everything(policy: str, expected: int) -> None:
    """CPU on any, memory on the second alone or on both."""
    found = {"cpu": hints(0b01, 0b10, 0b11), "memory": hints(0b10, 0b11)}

    assert best_nodes(found, (0, 1), policy) == expected


@pytest.mark.parametrize(("policy", "expected"), [(SINGLE, 0), (RESTRICTED, 0b11), (BEST_EFFORT, 0b11)])
def test_a_request_that_needs_two(policy: str, expected: int) -> None:
    """Restricted admits as many NUMA nodes as the request needs."""
    assert best_nodes({"cpu": hints(0b11)}, (0, 1), policy) == expected


@pytest.mark.parametrize(("policy", "expected"), [(SINGLE, 0), (RESTRICTED, 0), (BEST_EFFORT, 0b11)])
def test_no_common_set(policy: str, expected: int) -> None:
    """Best effort uses all NUMA nodes."""
    assert best_nodes({"cpu": hints(0b01), "gpu": hints(0b10)}, (0, 1), policy) == expected
    assert best_nodes({"cpu": hints(0b01), "memory": []}, (0, 1), policy) == expected


def test_best_effort_prefers_a_common_set() -> None:
    """A narrower set that serves only a part of the request is no reason to spread it over all NUMA nodes."""
    assert best_nodes({"cpu": hints(0b001, 0b011), "gpu": hints(0b011)}, (0, 1, 2), BEST_EFFORT) == 0b011


def test_a_set_that_a_device_does_not_prefer() -> None:
    """GPUs of one NUMA node would do, CPUs need both: Restricted admits none."""
    gpus = [*hints(0b01), *hints(0b11, preferred=False)]

    assert best_nodes({"cpu": hints(0b11), "gpu": gpus}, (0, 1), RESTRICTED) == 0
    assert best_nodes({"cpu": hints(0b11), "gpu": gpus}, (0, 1), BEST_EFFORT) == 0b11


def test_the_score_decides_among_equally_wide_sets() -> None:
    """Scores of all hints add up; then the smaller mask wins."""
    gpus = [NumaHint(0b01), NumaHint(0b10, score=500)]
    cpus = [NumaHint(0b01, score=80), NumaHint(0b10, score=20)]

    assert best_nodes({"cpu": cpus, "gpu": gpus}, (0, 1), SINGLE) == 0b10
    assert best_nodes({"cpu": cpus}, (0, 1), SINGLE) == 0b01
    assert best_nodes({"cpu": hints(0b10, 0b01)}, (0, 1), SINGLE) == 0b01


def test_nothing_to_align() -> None:
    """A pod that requests nothing which NUMA nodes report may use all."""
    assert best_nodes({}, (0, 1), SINGLE) == 0b11


@pytest.mark.parametrize(
    ("mask", "use", "expected"),
    [
        (0b01, NumaUse(single=0b01), True),
        (0b01, NumaUse(shared=0b01), False),
        (0b01, NumaUse(shared=0b10), True),
        (0b11, NumaUse(single=0b01), False),
        (0b11, NumaUse(shared=0b01), True),
        (0b11, NumaUse(single=0b01, shared=0b01), True),
    ],
)
def test_exclusive_numa_nodes(mask: int, use: NumaUse, expected: bool) -> None:
    """A pod on one NUMA node does not meet pods that span several, and the other way around."""
    assert respects(mask, use) is expected


def test_an_exclusive_pod_takes_another_numa_node() -> None:
    """The first one has a pod that spans two sockets."""
    use = NumaUse(shared=0b001)

    assert best_nodes({"cpu": hints(0b001, 0b010)}, (0, 1), SINGLE, exclusive=use) == 0b010
    assert best_nodes({"cpu": hints(0b001)}, (0, 1), SINGLE, exclusive=use) == 0
    assert best_nodes({"cpu": hints(0b001)}, (0, 1), BEST_EFFORT, exclusive=use) == 0b001
