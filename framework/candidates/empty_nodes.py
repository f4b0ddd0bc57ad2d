"""Empty nodes: how many equal tasks would have room if all that can leave the nodes had left.

Other pods count for nothing here, so the count is a bound in favour of the tasks.
"""

from typing import Final, NamedTuple

import numpy as np

from pyroclast.model.arrays import IntArray

__all__ = ["PlacesOnEmptyNodes", "places_for"]

_NO_LIMIT: Final = 1 << 60


class PlacesOnEmptyNodes(NamedTuple):
    """How many tasks of a template would have room."""

    total: int
    by_resource: IntArray
    """The same where one resource alone counts, shape (R,); a bound where the task asks for none of it."""


def places_for(request: IntArray, offered: IntArray) -> PlacesOnEmptyNodes:
    """Count places for tasks of one request, in all resources together and in each.

    Args:
        request: What a task asks for, base units, shape (R,).
        offered: What each node offers that permits it, base units, shape (R, N).
    """
    asked = np.flatnonzero(request > 0)
    places = np.maximum(offered[asked], 0) // request[asked, None]
    by_resource = np.full(request.size, _NO_LIMIT, dtype=np.int64)
    by_resource[asked] = np.minimum(places, _NO_LIMIT // max(places.shape[1], 1)).sum(axis=1)
    return PlacesOnEmptyNodes(int(places.min(axis=0).sum()) if asked.size else 0, by_resource)
