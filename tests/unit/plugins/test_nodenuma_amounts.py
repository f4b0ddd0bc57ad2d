"""A request spread over NUMA nodes."""

import pytest

from pyroclast.model.resources import CPU
from pyroclast.plugins.nodenuma.amounts import spread

GIB = 2**30 * 1000


def test_the_emptiest_node_comes_last() -> None:
    """6 of 10 CPUs on a NUMA node with 1 free and one with 9: 1 and 5."""
    parts, lacking = spread({CPU: 6000}, {0: {CPU: 9000}, 1: {CPU: 1000}}, (0, 1))

    assert parts == {0: {CPU: 5000}, 1: {CPU: 1000}}
    assert lacking == ()


def test_equal_nodes_share_evenly() -> None:
    """The last one has what does not divide."""
    free = {node: {CPU: 4000, "memory": 8 * GIB} for node in (0, 1, 2)}
    parts, _ = spread({CPU: 1000, "memory": 3 * GIB}, free, (0, 1, 2))

    assert parts == {
        0: {CPU: 333, "memory": GIB},
        1: {CPU: 333, "memory": GIB},
        2: {CPU: 334, "memory": GIB},
    }


@pytest.mark.parametrize(("step", "expected"), [(1000, {0: 2000, 1: 3000}), (2000, {0: 2000, 1: 4000})])
def test_whole_cpus_and_whole_cores(step: int, expected: dict[int, int]) -> None:
    """Parts are multiples of a step; what a NUMA node has beyond is not used."""
    parts, lacking = spread({CPU: sum(expected.values())}, {0: {CPU: 4500}, 1: {CPU: 4500}}, (0, 1), step)

    assert parts == {node: {CPU: amount} for node, amount in expected.items()}
    assert lacking == ()


def test_what_is_lacking() -> None:
    """Only the named NUMA nodes give; resources that no NUMA node reports do not count."""
    free = {0: {CPU: 4000, "memory": GIB}, 1: {CPU: 4000, "memory": GIB}}
    parts, lacking = spread({CPU: 6000, "memory": GIB, "example.com/x": 1000}, free, (1,))

    assert parts == {1: {CPU: 4000, "memory": GIB}}
    assert lacking == (CPU,)
