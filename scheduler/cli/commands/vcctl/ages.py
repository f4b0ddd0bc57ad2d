"""Ages as kubectl shows them: at most two units, and only one if that is precise enough."""

from datetime import UTC, datetime

__all__ = ["age", "human_duration"]

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_YEAR = 365 * _DAY


def human_duration(seconds: int) -> str:
    """Format a duration."""
    if seconds < -1:
        return "<invalid>"
    for limit, unit, name, rest_unit, rest_name in (
        (2 * _MINUTE, 1, "s", 0, ""),
        (10 * _MINUTE, _MINUTE, "m", 1, "s"),
        (3 * _HOUR, _MINUTE, "m", 0, ""),
        (8 * _HOUR, _HOUR, "h", _MINUTE, "m"),
        (2 * _DAY, _HOUR, "h", 0, ""),
        (8 * _DAY, _DAY, "d", _HOUR, "h"),
        (2 * _YEAR, _DAY, "d", 0, ""),
        (8 * _YEAR, _YEAR, "y", _DAY, "d"),
    ):
        if seconds < limit:
            whole, left = divmod(max(seconds, 0), unit)
            rest = left // rest_unit if rest_unit else 0
            return f"{whole}{name}{rest}{rest_name}" if rest else f"{whole}{name}"
    return f"{seconds // _YEAR}y"


def age(moment: str, now: datetime) -> str:
    """Return the time since an RFC 3339 timestamp."""
    try:
        begun = datetime.fromisoformat(moment)
    except ValueError:
        return "<unknown>"
    return human_duration(int((now - (begun if begun.tzinfo else begun.replace(tzinfo=UTC))).total_seconds()))
