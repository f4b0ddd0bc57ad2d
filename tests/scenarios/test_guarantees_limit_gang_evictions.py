"""What a queue is guaranteed stays with it, also where one pod of a gang could go and the gang would go whole."""

import pytest

from pyroclast.testing import Scenario

EACH = pytest.mark.parametrize(
    ("action", "plugins"),
    [
        ("reclaim", (("priority", "gang", "conformance"), ("drf", "predicates", "capacity", "nodeorder"))),
        ("gangreclaim", (("priority", "gang", "conformance", "capacity"), ("drf", "predicates", "nodeorder"))),
    ],
)


def victims(action: str, plugins: tuple[tuple[str, ...], ...], *, guarantee: int) -> list[str]:
    """Let a queue reclaim 1 CPU from another that has 6 CPU of 5 deserved, in one gang."""
    there = (
        Scenario()
        .node("n1", cpu=6)
        .queue("poor", deserved={"cpu": 4})
        .queue("rich", deserved={"cpu": 5}, guarantee={"cpu": guarantee})
        .job("gang", queue="rich", tasks=6, running_on=["n1"] * 6)
        .job("waits", queue="poor")
    )
    return there.run("enqueue", "allocate", action, plugins=plugins).evictions


@EACH
def test_a_gang_stays_whose_queue_would_lose_its_guarantee(action: str, plugins: tuple[tuple[str, ...], ...]) -> None:
    """Without one of its pods the queue would keep 4 CPU, without all of them nothing."""
    assert victims(action, plugins, guarantee=4) == []


@EACH
def test_a_gang_goes_whose_queue_is_guaranteed_nothing(action: str, plugins: tuple[tuple[str, ...], ...]) -> None:
    """The same without the guarantee."""
    assert len(victims(action, plugins, guarantee=0)) == 6
