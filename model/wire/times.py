"""Times as the API writes them: RFC 3339 in UTC, whole seconds (`Time`) or microseconds (`MicroTime`)."""

from datetime import UTC, datetime

__all__ = ["micro_time", "time_text", "unix_seconds"]


def unix_seconds(text: str) -> float:
    """Read a `Time` or `MicroTime` as seconds since 1970; an absent one (empty text) is 0.

    Raises:
        ValueError: The text is no RFC 3339 time with a zone.
    """
    if not text:
        return 0.0
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    try:
        return moment.timestamp()
    except OverflowError as error:
        raise ValueError(f"{text!r} is out of range") from error


def time_text(seconds: float) -> str:
    """Write seconds since 1970 as a `Time`, cut to whole seconds."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(seconds: float) -> str:
    """Write seconds since 1970 as a `MicroTime`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
