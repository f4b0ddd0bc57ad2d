"""In which order devices are gone through one by one."""

from typing import Any

import pytest

from pyroclast.model.devices.cards import Holder, Shelf, Use
from pyroclast.model.devices.koordinator.device_hints import NO_HINT
from pyroclast.model.devices.koordinator.layout import DeviceLayout
from pyroclast.model.ids import TaskId
from pyroclast.plugins.deviceshare.koordinator.free import Free, fits_in
from pyroclast.plugins.deviceshare.koordinator.generic import one_by_one
from pyroclast.plugins.deviceshare.koordinator.needs import Need
from pyroclast.plugins.deviceshare.koordinator.scoring import MOST, Scoring
from tests.devices import rdma
from tests.unit.model.koordinator.test_layout import of

PLACES = {1: "A", 2: "A", 5: "B", 6: "B"}
EIGHT: DeviceLayout = of(*(rdma(number, at=(0, PLACES.get(number, f"own-{number}"))) for number in range(8))).layout


def order(count: int, near: Any, **taken: int) -> list[int] | None:
    """Devices for a need of one percent of so many, where of some so much is taken."""
    shelf = Shelf(8)
    for name, amount in taken.items():
        use = Use(int(name.removeprefix("d")), 0, amounts=(amount,))
        shelf.put(TaskId(name), Holder((use,)))
    need = Need("rdma", count, (1,), NO_HINT, tuple(range(8)))
    uses = one_by_one(Free(EIGHT, shelf.state()), need, Scoring(MOST), near)
    return None if uses is None else [use.card for use in uses]


def test_the_best_of_each_switch_then_the_second_best() -> None:
    """Then all others; without switches by score and number alone."""
    assert order(8, ["A", "B"]) == [1, 5, 2, 6, 0, 3, 4, 7]
    assert order(8, []) == list(range(8))


def test_scores_decide_at_a_switch_and_among_switches() -> None:
    """The fullest first: 6 with 49 percent of it taken, 5 with 9."""
    assert order(8, ["A", "B"], d5=9, d6=49) == [6, 1, 5, 2, 0, 3, 4, 7]


def test_more_than_needed_where_there_are_more_switches() -> None:
    """As many, wherever they are; no fewer than needed, and none of which nothing is left."""
    assert order(1, ["A", "B"]) == [1, 5]
    assert order(1, ["A", "B"], d1=100, d2=100) == [5, 6]
    assert order(8, [], d0=100) is None


@pytest.mark.parametrize(
    ("asked", "offered", "fits"),
    [
        ((1, None), (1, 0), True),
        ((1, 1), (1, None), True),
        ((2, None), (1, None), False),
        ((0, 1), (5, 0), False),
        ((None, None), (0, 0), True),
    ],
)
def test_what_is_not_spoken_of_limits_nothing(asked: Any, offered: Any, fits: bool) -> None:
    """A zero does."""
    assert fits_in(asked, offered) is fits


def test_what_is_left_of_devices() -> None:
    """Never less than nothing, whatever pods were given; of what is all gone nothing fits, spoken of or not."""
    bare = {"type": "gpu", "minor": 0, "health": True, "resources": {"koordinator.sh/gpu-core": "100"}}
    layout = of(bare, rdma(0)).layout
    shelf = Shelf(2)
    shelf.put(TaskId("p"), Holder((Use(0, 0, amounts=(100, 0, 0, 0, 0, 0)), Use(1, 0, amounts=(130,)))))
    free = Free(layout, shelf.state())

    assert free.amounts == [(0, None, None, None, None, None), (0,)]
    assert not free.fits(0, (None, 1, None, None, None, None))
    assert Free(layout, Shelf(2).state()).fits(0, (None, 1, None, None, None, None))
