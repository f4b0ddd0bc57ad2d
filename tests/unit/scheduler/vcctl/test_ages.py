"""Ages in kubectl's spelling."""

from datetime import UTC, datetime

import pytest

from pyroclast.scheduler.cli.commands.vcctl.ages import age, human_duration

HOUR, DAY = 3600, 86400


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (125, "2m5s"),
        (600, "10m"),
        (179 * 60, "179m"),
        (3 * HOUR, "3h"),
        (3 * HOUR + 60, "3h1m"),
        (9 * HOUR + 60, "9h"),
        (2 * DAY, "2d"),
        (2 * DAY + HOUR, "2d1h"),
        (9 * DAY + HOUR, "9d"),
        (730 * DAY, "2y"),
        (731 * DAY, "2y1d"),
        (3000 * DAY, "8y"),
    ],
)
def test_durations(seconds: int, words: str) -> None:
    """The longer, the coarser."""
    assert human_duration(seconds) == words


def test_age() -> None:
    """The time since a moment; none is unknown."""
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    assert age("2026-01-02T03:03:00Z", now) == "65s"
    assert age("", now) == "<unknown>"
