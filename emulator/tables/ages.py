"""Ages in the notation of kubectl: `12s`, `5m10s`, `3h`, `2d4h`."""

import time
from datetime import UTC, datetime
from typing import Any

__all__ = ["age_text", "duration_text", "moment"]

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY


def moment(value: Any) -> float | None:
    """Seconds since the epoch of an RFC 3339 text; none when it is no such text."""
    if not isinstance(value, str):
        return None
    try:
        parsed = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def age_text(value: Any, now: Any) -> str:
    """Time since an RFC 3339 text.

    Args:
        value: The moment; anything else is `<unknown>`.
        now: Seconds since the epoch or RFC 3339; the wall clock when none.
    """
    then = moment(value)
    if then is None:
        return "<unknown>"
    present = now if isinstance(now, (int, float)) else moment(now)
    return duration_text((time.time() if present is None else present) - then)


def duration_text(seconds: float) -> str:
    """A duration with the two largest units that still say something."""
    whole = int(seconds)
    if whole < 0:
        return "<invalid>" if whole < -1 else "0s"
    if whole < 2 * _MINUTE:
        return f"{whole}s"
    for unit, sub, fine, coarse, letters in (
        (_MINUTE, 1, 10 * _MINUTE, 3 * _HOUR, "ms"),
        (_HOUR, _MINUTE, 8 * _HOUR, 2 * _DAY, "hm"),
        (_DAY, _HOUR, 8 * _DAY, 2 * _YEAR, "dh"),
        (_YEAR, _DAY, 8 * _YEAR, float("inf"), "yd"),
    ):
        if whole >= coarse:
            continue
        large, rest = divmod(whole, unit)
        small = rest // sub
        return f"{large}{letters[0]}" + (f"{small}{letters[1]}" if small and whole < fine else "")
    raise AssertionError("the last unit takes every duration")
