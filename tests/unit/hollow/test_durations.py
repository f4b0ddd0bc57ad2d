"""Durations are read as plain seconds or as Go writes them."""

import pytest

from pyroclast.emulator.hollow.kubelets import seconds_in


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90.0), ("0.5", 0.5), ("1m30s", 90.0), ("1h", 3600.0), ("250ms", 0.25), ("1.5h", 5400.0), ("0", 0.0)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """Both spellings give seconds."""
    assert seconds_in(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "soon", "-5", "5x", "1m 30s", "s"])
def test_what_is_no_duration_is_none(text: str) -> None:
    """A broken annotation means no duration at all."""
    assert seconds_in(text) is None
