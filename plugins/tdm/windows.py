"""Windows: times of day at which the nodes of a zone may be used."""

import re
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Final

__all__ = ["Window", "parse_window"]

_TIME: Final = r"(\d{1,2}):(\d{2})"
_WINDOW: Final = re.compile(rf"\s*{_TIME}\s*-\s*{_TIME}\s*", re.ASCII)
_HOURS, _MINUTES, _SECONDS = 24, 60, 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A daily time window. If it does not end after its start, it extends over midnight."""

    text: str
    """Text as written."""
    begin: int
    """Seconds after midnight."""
    end: int
    """Seconds after midnight, inclusive."""

    def is_open(self, now: float, zone: tzinfo) -> bool:
        """Return whether a time is in the window; `now` is in seconds since 1970."""
        local = datetime.fromtimestamp(int(now), zone)
        second = (local.hour * _MINUTES + local.minute) * _SECONDS + local.second
        if self.begin < self.end:
            return self.begin <= second <= self.end
        return second >= self.begin or second <= self.end


def parse_window(value: object) -> Window:
    """Parse `H:MM-H:MM`, 24 hours.

    Raises:
        ValueError: It has another format.
    """
    found = _WINDOW.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("a window such as 22:00-6:00")
    hours, minutes = found.group(1, 3), found.group(2, 4)
    if any(int(hour) >= _HOURS for hour in hours) or any(int(minute) >= _MINUTES for minute in minutes):
        raise ValueError("a window of times from 0:00 to 23:59")
    begin, end = ((int(hour) * _MINUTES + int(minute)) * _SECONDS for hour, minute in zip(hours, minutes, strict=True))
    return Window(text=found.group(0).strip(), begin=begin, end=end)
