"""Schedules: five fields, `@hourly` and its like, or `@every 1h30m`, in a time zone.

The grammar and the meaning are those of Volcano and of Kubernetes' CronJob: a time is due when the local clock of the
zone shows it. An hour that the change to summer time skips is not due, and an hour that occurs twice is due twice. If
days of the month and of the week are both restricted, one of them must match. If one of them begins with `*`, both must
match.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from pyroclast.controllers.jobs.durations import seconds_of

__all__ = ["Schedule", "ScheduleError", "parse", "zone_named"]

_MINUTE: Final = 60
_LONGEST_GAP_DAYS: Final = 9 * 366
"""Longest time between two due times: 29 February, across a century that is no leap year."""
_DESCRIPTORS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_EVERY: Final = "@every "
_ZONE: Final = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)", re.DOTALL)
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")


class ScheduleError(ValueError):
    """A schedule is invalid. The message names the part and its permitted values."""


class Schedule(Protocol):
    """Due times in whole seconds since 1970."""

    def first_after(self, seconds: int) -> int | None:
        """Return the first due time after `seconds`, None if there is none."""
        ...

    def last_until(self, seconds: int, *, after: int) -> int | None:
        """Return the last due time after `after` and not later than `seconds`, None if there is none."""
        ...

    def count_until(self, seconds: int, *, after: int, most: int) -> int:
        """Return the number of due times after `after` and not later than `seconds`, at most `most`."""
        ...


def parse(text: str, zone: tzinfo = UTC) -> Schedule:
    """Parse a schedule.

    Args:
        text: The schedule; A prefix `TZ=<zone>` or `CRON_TZ=<zone>` overrides `zone`.
        zone: Time zone of the schedule.

    Raises:
        ScheduleError: The schedule is invalid.
    """
    if written := _ZONE.fullmatch(text):
        return parse(written[2], zone_named(written[1]))
    text = text.strip()
    if text.startswith(_EVERY):
        return _every(text)
    if text.startswith("@") and text not in _DESCRIPTORS:
        raise ScheduleError(f"{text!r} is none of {', '.join(_DESCRIPTORS)}, @every <duration>")
    parts = _DESCRIPTORS.get(text, text).split()
    if len(parts) != len(_FIELDS):
        raise ScheduleError(f"{text!r} has {len(parts)} fields instead of {len(_FIELDS)}")
    return _Calendar(zone, *(field.read(part) for field, part in zip(_FIELDS, parts, strict=True)))


def zone_named(name: str) -> tzinfo:
    """Return a time zone.

    Raises:
        ScheduleError: The zone is unknown.
    """
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        raise ScheduleError(f"unknown time zone {name!r}") from None


# --- fields ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that one field permits."""

    allowed: frozenset[int]
    is_any: bool
    """Whether the field is `*` without steps."""


@dataclass(frozen=True, slots=True)
class _Field:
    """One of the five fields."""

    name: str
    least: int
    most: int
    names: tuple[str, ...] = ()
    """Names of the values, beginning with `least`."""

    def read(self, text: str) -> _Values:
        """Parse a list of ranges.

        Raises:
            ScheduleError: A part is invalid or outside the limits.
        """
        parts = [self._range(part) for part in text.split(",") if part]
        if not parts:
            raise ScheduleError(f"{self.name} {text!r} names no value")
        return _Values(frozenset().union(*(values for values, _ in parts)), any(is_any for _, is_any in parts))

    def _range(self, text: str) -> tuple[range, bool]:
        """Parse `*`, `5`, `mon-fri`, `10-30/5`, `*/15` or `5/15`."""
        span, slash, step_text = text.partition("/")
        low_text, dash, high_text = span.partition("-")
        step = self._number(step_text, text) if slash else 1
        is_any = low_text in {"*", "?"}
        low = self.least if is_any else self._value(low_text, text)
        is_open = is_any or (bool(slash) and not dash)
        high = self.most if is_open else self._value(high_text if dash else low_text, text)
        if not self.least <= low <= high <= self.most:
            raise ScheduleError(f"{self.name} {text!r} is not a range within {self.least}-{self.most}")
        if step < 1:
            raise ScheduleError(f"{self.name} {text!r} has a step below 1")
        return range(low, high + 1, step), is_any and step == 1

    def _value(self, text: str, whole: str) -> int:
        word = text.lower()
        return self.names.index(word) + self.least if word in self.names else self._number(text, whole)

    def _number(self, text: str, whole: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) <= 9):
            raise ScheduleError(f"{self.name} {whole!r}: {text!r} is not a number")
        return int(text)


_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day of month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 0, 6, _DAYS),
)


# --- times -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Calendar:
    """Due at every minute at which the local clock matches all fields."""

    zone: tzinfo
    minutes: _Values
    hours: _Values
    days: _Values
    months: _Values
    weekdays: _Values

    def first_after(self, seconds: int) -> int | None:
        """Advance the local clock by the largest steps that cannot skip a matching minute."""
        at = (seconds // _MINUTE + 1) * _MINUTE
        end = at + _LONGEST_GAP_DAYS * 86400
        while at < end:
            wall = datetime.fromtimestamp(at, self.zone)
            if wall.month not in self.months.allowed:
                at = self._start_of((wall.replace(day=1) + timedelta(days=31)).replace(day=1), at)
            elif not self._has_day(wall):
                at = self._start_of(wall + timedelta(days=1), at)
            elif wall.hour not in self.hours.allowed:
                at += (60 - wall.minute) * _MINUTE - wall.second
            elif wall.minute not in self.minutes.allowed:
                at += _MINUTE - wall.second
            else:
                return at
        return None

    def last_until(self, seconds: int, *, after: int) -> int | None:
        """Find the last due time by bisection: it is the first due time after the latest moment that has one."""
        found = self._first_within(after, seconds)
        # Usually at most one time is due since the last call.
        if found is None or self._first_within(found, seconds) is None:
            return found
        low, high = found, seconds
        while high - low > 1:
            middle = (low + high) // 2
            if self._first_within(middle, seconds) is None:
                high = middle
            else:
                low = middle
        return self.first_after(low)

    def _first_within(self, after: int, until: int) -> int | None:
        found = self.first_after(after)
        return found if found is not None and found <= until else None

    def count_until(self, seconds: int, *, after: int, most: int) -> int:
        """Count the due times one by one."""
        count, at = 0, self.first_after(after)
        while at is not None and at <= seconds and count < most:
            count, at = count + 1, self.first_after(at)
        return count

    def _has_day(self, wall: datetime) -> bool:
        in_month, in_week = wall.day in self.days.allowed, wall.isoweekday() % 7 in self.weekdays.allowed
        either = not (self.days.is_any or self.weekdays.is_any)
        return in_month or in_week if either else in_month and in_week

    def _start_of(self, wall: datetime, at: int) -> int:
        """Return the first moment of a day that is later than `at`.

        If a clock change skips midnight, it is the moment of the change. If the clock is set back past midnight,
        midnight occurs twice.
        """
        midnight = wall.replace(hour=0, minute=0, second=0, fold=0)
        first = int(midnight.timestamp())
        return first if first > at else int(midnight.replace(fold=1).timestamp())


@dataclass(frozen=True, slots=True)
class _Every:
    """Due at a fixed interval after a start time."""

    span: int

    def first_after(self, seconds: int) -> int | None:
        """Add one interval."""
        return seconds + self.span

    def last_until(self, seconds: int, *, after: int) -> int | None:
        """Add as many intervals as fit."""
        spans = (seconds - after) // self.span
        return after + spans * self.span if spans > 0 else None

    def count_until(self, seconds: int, *, after: int, most: int) -> int:
        """Divide by the interval."""
        return max(0, min((seconds - after) // self.span, most))


def _every(text: str) -> _Every:
    """Parse `@every <duration>`: whole seconds, at least one."""
    duration = text.removeprefix(_EVERY)
    seconds = seconds_of(duration.strip())
    if seconds is None:
        raise ScheduleError(f"{text!r}: {duration!r} is not a duration such as 1h30m")
    return _Every(max(1, int(seconds)))
