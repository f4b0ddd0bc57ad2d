"""Counted amounts: the annotation by which a pod counts as more than it requests.

The scheduler writes it with the bind of a pod that a plugin resizes: a JSON object of quantities by resource name.
Each name counts with the larger of request and annotation, so that a pod never counts as less than it requests.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from pyroclast.model.annotations import read_json
from pyroclast.model.quantity import QuantityError
from pyroclast.model.requests import amounts, resource_list, saturated
from pyroclast.model.resources import PODS, Amounts

__all__ = ["COUNTED", "MOST_RESOURCES", "counted_text", "read_counted"]

COUNTED: Final = "scheduling.pyroclast.io/counted-amounts"
MOST_RESOURCES: Final = 64
_LONGEST: Final = 16_384


def read_counted(annotations: Mapping[str, str]) -> dict[str, int]:
    """Return the amounts of the annotation, thousandths by name; empty without one.

    Raises:
        ValueError: It cannot be used.
    """
    text = annotations.get(COUNTED, "")
    if not text:
        return {}
    listed = read_json(text, dict[str, str], longest=_LONGEST)
    if len(listed) > MOST_RESOURCES:
        raise ValueError(f"{len(listed)} resources, at most {MOST_RESOURCES} are supported")
    try:
        found = amounts(listed)
    except QuantityError as error:
        raise ValueError(str(error)) from None
    if any(amount < 0 for amount in found.values()):
        raise ValueError("a negative amount")
    return {name: saturated(name, amount) for name, amount in found.items() if name != PODS}


def counted_text(request: Amounts, counted: Amounts) -> str:
    """Return the value of the annotation: the amounts that a pod counts as beyond its request."""
    more = {name: amount for name, amount in counted.items() if amount > request.get(name, 0)}
    return msgspec.json.encode(resource_list(more)).decode()
