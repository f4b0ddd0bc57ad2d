"""Cooldown protection: the worked example of docs/plugins/cdp.md."""

from typing import Any

import msgspec
import pytest

from pyroclast.framework.extension import contract
from pyroclast.model import wire
from pyroclast.model.wire.times import time_text
from pyroclast.plugins.cdp import is_cooling_down
from tests.unit.plugins.policies import node, opened, pod

NOW = 1_800_000_000.0


def scheduled(
    cooldown: str, *, ago: float, phase: str = "Running", annotations: dict[str, str] | None = None, name: str = "p"
) -> wire.Pod:
    """A pod on a node, scheduled some seconds ago."""
    labels = {"volcano.sh/cooldown-time": cooldown} if cooldown else {}
    plain = pod(name, on="n", phase=phase, labels=labels, annotations=annotations)
    condition = wire.Condition(type="PodScheduled", status="True", last_transition_time=time_text(NOW - ago))
    return msgspec.structs.replace(plain, status=msgspec.structs.replace(plain.status, conditions=(condition,)))


@pytest.mark.parametrize(
    ("cooldown", "ago", "phase", "spared"),
    [
        ("600s", 100, "Running", True),
        ("600s", 700, "Running", False),
        ("600s", 600, "Running", False),
        ("600s", 100, "Pending", False),
        ("600abcde", 100, "Running", False),
        ("", 100, "Running", False),
    ],
)
def test_protected_pods(cooldown: str, ago: float, phase: str, *, spared: bool) -> None:
    """Running, and scheduled less than the cooldown time ago."""
    assert is_cooling_down(scheduled(cooldown, ago=ago, phase=phase), NOW) is spared


def test_the_label_goes_before_the_annotation() -> None:
    """Also where it protects less."""
    annotated = {"volcano.sh/cooldown-time": "600s"}

    assert is_cooling_down(scheduled("", ago=100, annotations=annotated), NOW)
    assert not is_cooling_down(scheduled("50s", ago=100, annotations=annotated), NOW)


@pytest.mark.parametrize("point", [contract.PREEMPTABLE, contract.RECLAIMABLE], ids=lambda point: str(point.name))
def test_candidates_that_cool_down_are_left_out(point: contract.Point[Any]) -> None:
    """The others keep their order."""
    there = opened(
        node("n"),
        scheduled("600s", ago=100, name="fresh"),
        scheduled("600s", ago=700, name="old"),
        plugins=["cdp"],
        now=NOW,
    )
    victims, _ = there.function(point).function(there.task("old"), there.tasks("fresh", "old"))

    assert [task.name for task in victims] == ["old"]
