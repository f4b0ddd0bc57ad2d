"""Durations as Go writes them: timeouts of policies are read, the running time of a Job is written."""

from pyroclast.model.durations import parse_duration

__all__ = ["duration_text", "seconds_of"]


def seconds_of(text: str) -> float | None:
    """Read a duration such as `1h30m` that is not negative; None for anything else."""
    try:
        seconds = float(parse_duration(text))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def duration_text(seconds: float) -> str:
    """Write whole seconds as Go does: 3661 is `1h1m1s`, 60 is `1m0s`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
