"""Defaults: adds the defaults of admission to a Job that bypassed the webhook."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["filled_in"]


def filled_in(job: Mapping[str, Any], patches: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Apply patches. Defaults only add members."""
    whole: dict[str, Any] = copy.deepcopy(dict(job))
    for patch in patches:
        *path, last = (step.replace("~1", "/").replace("~0", "~") for step in patch["path"].split("/")[1:])
        target: Any = whole
        for step in path:
            target = target[int(step)] if isinstance(target, Sequence) else target[step]
        target[last] = patch["value"]
    return whole
