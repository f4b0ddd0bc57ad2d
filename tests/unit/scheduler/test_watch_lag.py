"""The silence of a watch grows while it stands where it stood."""

from pyroclast.scheduler.monitoring.watch_lag import WatchLag


def test_it_begins_anew_whenever_the_watch_moves_on() -> None:
    """A bookmark is enough."""
    lag = WatchLag()

    told = [
        lag.seconds("pods", version, now, is_synced=True)
        for version, now in (("7", 0.0), ("7", 60.0), ("9", 70.0), ("9", 75.0))
    ]

    assert told == [0.0, 60.0, 0.0, 5.0]


def test_a_kind_that_the_server_never_had_is_not_waited_for() -> None:
    """Else every cluster without the newest kinds would have warnings about a silent watch."""
    lag = WatchLag()

    assert [lag.seconds("deviceclasses", "", now, is_synced=True) for now in (0.0, 900.0)] == [0.0, 0.0]


def test_a_first_list_that_does_not_come_counts() -> None:
    """So does a kind that was there and is gone."""
    lag = WatchLag()

    assert [lag.seconds("pods", "", now, is_synced=False) for now in (0.0, 900.0)] == [0.0, 900.0]
    assert [
        lag.seconds("queues", version, now, is_synced=True) for version, now in (("7", 0.0), ("", 1.0), ("", 901.0))
    ] == [
        0.0,
        0.0,
        900.0,
    ]
