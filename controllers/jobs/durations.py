"""Durations in Go's notation: timeouts of policies are parsed, the running time of a Job is formatted."""

from pyroclast.model.durations import parse_duration

__all__ = ["duration_text", "seconds_of"]


def seconds_of(text: str) -> float | None:
    """Parse a non-negative duration such as `1h30m`. Return None for any other text."""
    try:
        seconds = float(parse_duration(text))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def duration_text(seconds: float) -> str:
    """Return whole seconds in Go's notation: 3661 is `1h1m1s`, 60 is `1m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
