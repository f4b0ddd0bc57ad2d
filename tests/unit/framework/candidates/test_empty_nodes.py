"""Empty nodes: equal ones are counted together."""

import numpy as np
import pytest

from pyroclast.framework.candidates.empty_nodes import NodeSizes
from pyroclast.model.arrays import BoolArray, IntArray

CHANCE = np.random.default_rng(5)


@pytest.mark.parametrize("factor", [None, 0, 1])
def test_places_are_those_of_all_nodes_one_by_one(monkeypatch: pytest.MonkeyPatch, factor: int | None) -> None:
    """Also where the sums that tell unlike nodes apart are equal for some."""
    if factor is not None:
        monkeypatch.setattr("pyroclast.model.arrays._FACTOR", np.uint64(factor))
    allocatable: IntArray = CHANCE.integers(0, 4, size=(3, 60))
    some: BoolArray = CHANCE.integers(0, 4, size=60) > 1
    sizes = NodeSizes(allocatable)
    for request in (np.array([1, 0, 1]), np.array([2, 1, 3]), np.array([0, 3, 0])):
        for permitted in (np.ones(60, dtype=np.bool_), some):
            asked = request > 0
            each = (allocatable[asked] // request[asked, None]).min(axis=0)
            assert sizes.places_for(request, permitted).total == each[permitted].sum()
            assert sizes.places_for(request, permitted).total == each[permitted].sum()
            fits = (allocatable >= request[:, None]).all(axis=0)
            assert sizes.fits(request[:, None], permitted) == (fits & permitted).any()
