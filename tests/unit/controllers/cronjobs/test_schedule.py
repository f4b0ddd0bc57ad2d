from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyroclast.controllers.cronjobs.schedule import ScheduleError, parse

BERLIN = "Europe/Berlin"


def moment(text: str, zone: str = "UTC") -> int:
    """Read `2026-03-29 02:30`, by the clock of a zone."""
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def times(schedule: str, after: str, count: int, zone: str = "UTC") -> list[str]:
    """Return the next times, as the zone's clock shows them."""
    read = parse(schedule, ZoneInfo(zone))
    at, found = moment(after, zone), []
    for _ in range(count):
        following = read.first_after(at)
        assert following is not None
        at = following
        found.append(datetime.fromtimestamp(at, ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("schedule", "after", "expected"),
    [
        ("* * * * *", "2026-07-09 14:45", ["2026-07-09 14:46", "2026-07-09 14:47"]),
        ("*/15 * * * *", "2026-07-09 14:45", ["2026-07-09 15:00", "2026-07-09 15:15"]),
        ("20-35/15 * * * *", "2026-07-09 15:40", ["2026-07-09 16:20", "2026-07-09 16:35"]),
        ("50/5 * * * *", "2026-07-09 15:51", ["2026-07-09 15:55", "2026-07-09 16:50"]),
        ("0 12 * * MON-fri", "2026-07-10 13:00", ["2026-07-13 12:00", "2026-07-14 12:00"]),
        ("0 0 1 jan,Jul *", "2026-02-01 00:00", ["2026-07-01 00:00", "2027-01-01 00:00"]),
        ("30 4 29 2 ?", "2026-01-01 00:00", ["2028-02-29 04:30", "2032-02-29 04:30"]),
        ("0 0 29 2 *", "2096-03-01 00:00", ["2104-02-29 00:00"]),
        ("@hourly", "2026-07-09 14:45", ["2026-07-09 15:00"]),
        ("@daily", "2026-07-09 14:45", ["2026-07-10 00:00"]),
        ("@midnight", "2026-07-09 14:45", ["2026-07-10 00:00"]),
        ("@weekly", "2026-07-09 14:45", ["2026-07-12 00:00"]),
        ("@monthly", "2026-07-09 14:45", ["2026-08-01 00:00"]),
        ("@yearly", "2026-07-09 14:45", ["2027-01-01 00:00"]),
        ("@annually", "2026-07-09 14:45", ["2027-01-01 00:00"]),
        ("@every 1h30m", "2026-07-09 14:45", ["2026-07-09 16:15", "2026-07-09 17:45"]),
        ("0 0 * * 1 ", "2026-07-09 14:45", ["2026-07-13 00:00"]),
    ],
)
def test_next_times(schedule: str, after: str, expected: list[str]) -> None:
    """Lists, ranges, steps, names, descriptors and spans."""
    assert times(schedule, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("0 0 1,15 * sun", ["2026-07-12", "2026-07-15", "2026-07-19"]),  # either
        ("0 0 * * sun", ["2026-07-12", "2026-07-19", "2026-07-26"]),
        ("0 0 */10 * sun", ["2026-07-11", "2026-07-12", "2026-07-19"]),  # a step is no star
        ("0 0 15 * *", ["2026-07-15", "2026-08-15", "2026-09-15"]),
    ],
)
def test_days_of_month_and_of_week(schedule: str, expected: list[str]) -> None:
    """Where both are given either will do; a star gives way to the other."""
    assert [text[:10] for text in times(schedule, "2026-07-09 14:45", 3)] == expected


def test_an_hour_that_is_skipped_is_not_due() -> None:
    """On 29 March 2026 the clock of Berlin goes from 02:00 to 03:00."""
    assert times("30 2 * * *", "2026-03-28 12:00", 2, BERLIN) == ["2026-03-30 02:30", "2026-03-31 02:30"]


def test_an_hour_that_comes_twice_is_due_twice() -> None:
    """On 25 October 2026 the clock of Berlin goes from 03:00 back to 02:00."""
    read = parse("30 2 * * *", ZoneInfo(BERLIN))
    first = read.first_after(moment("2026-10-24 12:00", BERLIN))
    assert first is not None

    assert datetime.fromtimestamp(first, UTC).strftime("%d %H:%M") == "25 00:30"
    assert read.first_after(first) == first + 3600


def test_hours_go_on_across_changes() -> None:
    """What is due every hour is due every hour, 23 times on the short day and 25 times on the long one."""
    read = parse("0 * * * *", ZoneInfo(BERLIN))

    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25), ("2026-10-26", 24)):
        begin = moment(f"{day} 00:00", BERLIN) - 1
        end = int(datetime.fromtimestamp(begin + 1 + hours * 3600, UTC).timestamp())
        assert read.count_until(end - 1, after=begin, most=99) == hours


def test_a_change_at_midnight() -> None:
    """In Cuba the clock goes from 00:00 to 01:00: that day has no midnight, and its hours are due all the same."""
    assert times("0 0,1 * * *", "2026-03-07 12:00", 2, "America/Havana") == ["2026-03-08 01:00", "2026-03-09 00:00"]


def test_a_clock_set_back_past_midnight() -> None:
    """In St. John's of 2010 it went from 00:01 back to 23:01 of the day before, so that midnight came twice."""
    zone = ZoneInfo("America/St_Johns")
    read = parse("0 0 7 11 *", zone)
    first = read.first_after(moment("2010-11-06 22:00", "America/St_Johns"))
    assert first is not None

    assert read.first_after(first) == first + 3600
    assert parse("59 23 8 11 *", zone).first_after(first + 1800) == moment("2010-11-08 23:59", "America/St_Johns")


def test_zone_in_the_schedule() -> None:
    """It overrules the zone given beside it."""
    for written in ("TZ=Asia/Tokyo 0 9 * * *", "CRON_TZ=Asia/Tokyo 0 9 * * *"):
        assert parse(written, ZoneInfo(BERLIN)).first_after(moment("2026-01-01 12:00")) == moment("2026-01-02 00:00")


def test_what_never_comes() -> None:
    """There is no 31 February, and the search for it ends."""
    read = parse("0 0 31 2 *")

    assert read.first_after(moment("2026-01-01 00:00")) is None
    assert read.last_until(moment("2026-01-01 00:00"), after=0) is None


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("", "0 fields"),
        ("* * * *", "4 fields"),
        ("* * * * * *", "6 fields"),
        ("60 * * * *", "minute '60' is not a range within 0-59"),
        ("* 24 * * *", "hour '24'"),
        ("* * 0 * *", "day of month '0'"),
        ("* * * 13 *", "month '13'"),
        ("* * * * 7", "day of week '7'"),
        ("30-10 * * * *", "minute '30-10' is not a range"),
        ("*/0 * * * *", "a step below 1"),
        ("1-2-3 * * * *", "'2-3' is not a number"),
        ("1/2/3 * * * *", "'2/3' is not a number"),
        ("x * * * *", "minute 'x': 'x' is not a number"),
        ("-1 * * * *", "'' is not a number"),
        ("² * * * *", "is not a number"),
        (", * * * *", "names no value"),
        ("* * * foo *", "month 'foo'"),
        ("@often", "is none of @yearly"),
        ("@every", "is none of @yearly"),
        ("@every soon", "'soon' is not a duration"),
        ("TZ=Nowhere/Land 0 0 * * *", "unknown time zone 'Nowhere/Land'"),
        ("TZ=../etc/passwd 0 0 * * *", "unknown time zone"),
    ],
)
def test_what_cannot_be_read(schedule: str, message: str) -> None:
    """The part at fault is named."""
    with pytest.raises(ScheduleError) as caught:
        parse(schedule)

    assert message in str(caught.value)


def test_spans_are_whole_seconds() -> None:
    """At least one."""
    assert parse("@every 1500ms").first_after(10) == 11
    assert parse("@every 1ms").first_after(10) == 11


@given(
    schedule=st.sampled_from(["* * * * *", "7 */3 * * *", "0 0 1 * *", "30 2 * * *", "0 4 29 2 *", "15 1 * 10 0"]),
    zone=st.sampled_from(["UTC", BERLIN, "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu"]),
    after=st.integers(1_600_000_000, 1_900_000_000),
    span=st.integers(0, 100_000),
)
def test_last_and_count_agree_with_counting_one_by_one(schedule: str, zone: str, after: int, span: int) -> None:
    """The last due time is found after any time without a controller."""
    read = parse(schedule, ZoneInfo(zone))
    due, at = [], read.first_after(after)
    while at is not None and at <= after + span:
        due.append(at)
        at = read.first_after(at)

    assert read.last_until(after + span, after=after) == (due[-1] if due else None)
    assert read.count_until(after + span, after=after, most=50) == min(len(due), 50)


@given(zone=st.sampled_from([BERLIN, "Australia/Lord_Howe", "America/Havana"]), day=st.integers(0, 4000))
def test_due_is_what_the_clock_shows(zone: str, day: int) -> None:
    """Minute by minute through a day: due are the minutes that the wall clock shows, and no others."""
    read, begin = parse("*/20 1-3 * * *", ZoneInfo(zone)), 1_600_000_200 // 60 * 60 + day * 86400
    shown = [
        at
        for at in range(begin + 60, begin + 86400, 60)
        if (wall := datetime.fromtimestamp(at, ZoneInfo(zone))).minute % 20 == 0 and 1 <= wall.hour <= 3
    ]

    due, at = [], read.first_after(begin)
    while at is not None and at < begin + 86400:
        due.append(at)
        at = read.first_after(at)

    assert due == shown
