"""Go durations."""

import contextlib
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.model.durations import parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h2m3s4ms5µs6ns", Fraction(3723004005006, 10**9)),
        ("1.5h", Fraction(5400)),
        (".5s", Fraction(1, 2)),
        ("5.s", Fraction(5)),
        ("-10m", Fraction(-600)),
        ("100ms", Fraction(1, 10)),
        ("1us1μs1µs", Fraction(3, 10**6)),
        ("0", Fraction(0)),
        ("0.3ns", Fraction(0)),
    ],
)
def test_a_duration_is_exact(text: str, seconds: Fraction) -> None:
    """Units add up to exact seconds; what is below a nanosecond is cut off."""
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "5", "1d", "s", "1h ", "--1s", "1,5s", "1e3s", "9999999999h", None, 5, "1s" * 100]
)
def test_what_is_no_duration_is_refused(text: object) -> None:
    """Numbers without a unit, foreign units, other types and overflows raise ValueError."""
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@given(st.text(alphabet="0123456789.-+hmsnuµ", max_size=20))
def test_no_text_raises_anything_else(text: str) -> None:
    """Whatever stands there, the answer is a fraction or a ValueError."""
    with contextlib.suppress(ValueError):
        assert isinstance(parse_duration(text), Fraction)
