"""Devices of Reservations: chosen with the node, written on the object, and kept from other pods (R29)."""

import json
from typing import Any

from pyroclast.testing import Scenario
from tests.devices import gpu
from tests.reservations import reservation
from tests.unit.plugins.koordinator import with_devices

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
GPU = "koordinator.sh/gpu"
KOORDINATOR = {"deviceshare": {"deviceshare.KoordinatorEnable": True}}


def run(scenario: Scenario) -> Any:
    """Decide until the Reservation is Available and pods are placed."""
    return scenario.run(
        "enqueue",
        "allocate",
        plugins=("gang", "predicates", "deviceshare", "reservation"),
        arguments=KOORDINATOR,
        cycles=3,
    )


def minors(outcome: Any, name: str) -> list[int]:
    """Return the GPUs of a pod or a Reservation."""
    for each in outcome.rounds:
        for plan in each.plans:
            for bind in plan.binds:
                if name in {bind.name, bind.reservation} and ALLOCATED in bind.annotations:
                    return [device["minor"] for device in json.loads(bind.annotations[ALLOCATED])["gpu"]]
    return []


def test_devices_of_a_reservation_are_kept_from_other_pods() -> None:
    """Two GPUs: one is reserved, a pod gets the other, and a second pod waits."""
    there = with_devices(gpu(0), gpu(1)).add(reservation("r", cpu=1, resources={GPU: "100"}))
    outcome = run(there.job("p", tasks=2, min_available=1, cpu=1, resources={GPU: 100}))

    placed = [name for name in ("p-0", "p-1") if name in outcome.bindings]
    assert len(placed) == 1
    assert sorted([*minors(outcome, "r"), *minors(outcome, placed[0])]) == [0, 1]
