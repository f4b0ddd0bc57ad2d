"""Reservations of a ground: created, and read back."""

import json
from collections.abc import Mapping
from typing import Any

from tests.e2e.ground import Ground
from tests.reservations import reservation

__all__ = ["CONFIGURATION", "CONTROLLER", "LABELS", "RESERVATIONS", "reserve", "status"]

CONFIGURATION = """\
actions: enqueue, allocate
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: reservation}]
"""
CONTROLLER = "--controllers=reservation-controller"
"""Flag of the controllers."""
LABELS = {"app": "a"}
"""Labels of the owners."""
RESERVATIONS = "reservations.scheduling.koordinator.sh"


def reserve(ground: Ground, name: str, *, template: Mapping[str, Any] | None = None, **fields: Any) -> None:
    """Create a Reservation of the scheduler of a ground; `template` has fields of the specification of its pod."""
    wanted = reservation(name, template={"schedulerName": ground.name, **(template or {})}, **fields)
    wanted.pop("status")
    wanted["metadata"] = {"name": name, **{key: wanted["metadata"][key] for key in ("labels", "annotations")}}
    ground.kubectl("apply", "-f", "-", input=json.dumps(wanted))


def status(ground: Ground, name: str) -> dict[str, Any]:
    """Return the status of a Reservation."""
    found: dict[str, Any] = json.loads(ground.kubectl("get", RESERVATIONS, name, "-o", "json"))
    shown: dict[str, Any] = found.get("status", {})
    return shown
