"""Durations as Go writes them: timeouts of policies are read, the running time of a Job is written."""

import re
from fractions import Fraction
from typing import Final

__all__ = ["duration_text", "seconds_of"]

_SECONDS: Final = {
    "ns": Fraction(1, 10**9),
    "us": Fraction(1, 10**6),
    "µs": Fraction(1, 10**6),
    "μs": Fraction(1, 10**6),
    "ms": Fraction(1, 10**3),
    "s": Fraction(1),
    "m": Fraction(60),
    "h": Fraction(3600),
}
_PIECE: Final = re.compile(r"([0-9]{1,19}(?:\.[0-9]{0,19})?|\.[0-9]{1,19})(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"(?:{_PIECE.pattern}){{1,8}}|0")


def seconds_of(text: str) -> float | None:
    """Read a duration such as `1h30m` that is not negative; None for anything else."""
    if not _WHOLE.fullmatch(text):
        return None
    return float(sum(Fraction(f"0{amount}".rstrip(".")) * _SECONDS[unit] for amount, unit in _PIECE.findall(text)))


def duration_text(seconds: float) -> str:
    """Write whole seconds as Go does: 3661 is `1h1m1s`, 60 is `1m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
