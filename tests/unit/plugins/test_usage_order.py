"""Estimates of young pods are added in the order of their names, so the risk factor always meets the same ones."""

from itertools import permutations

import msgspec
import pytest

from pyroclast.model import wire
from pyroclast.model.usage import NodeUsage
from tests.unit.plugins.policies import opened, pod

NOW = 1_000_000_000.0
AMOUNTS = {"cpu": "8", "memory": "16Gi", "pods": "110"}


def young(name: str, uid: str, cpu: str) -> wire.Pod:
    """A pod that has just been bound."""
    made = pod(name, on="n", phase="Pending", cpu=cpu, memory="")
    return msgspec.structs.replace(made, metadata=msgspec.structs.replace(made.metadata, uid=uid))


def test_the_order_of_the_input_does_not_matter() -> None:
    """The load is 59.5%: a, of one CPU, lifts it above 60%, so b counts with the factor: 0.7 + 4 x 0.7 x 1.2 of 8."""
    machine = wire.Node(
        metadata=wire.ObjectMeta(name="n", uid="n"), status=wire.NodeStatus(allocatable=AMOUNTS, capacity=AMOUNTS)
    )
    usage = {"n": NodeUsage(cpu_percent=20, memory_percent=99, measured=NOW)}
    left = 1 - 0.2 - (0.7 + 4 * 0.7 * 1.2) / 8

    for order in permutations((young("a", "2", "1"), young("b", "1", "4"), pod("p", cpu="1", memory=""))):
        there = opened(machine, *order, plugins=["usage"], usage=usage, now=NOW)

        assert there.scores("p")["n"] == pytest.approx(500 * (left + 0.01) / 2)
