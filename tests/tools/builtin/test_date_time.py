"""Dates and times by the clock of the run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.testing import FakeClock
from tactician.tools import date_time
from tests.tools.builtin.support import call, create_context, refuse


async def ask(clock: Clock | None = None, /, **arguments: object) -> dict[str, object]:
    told = json.loads(await call(date_time, create_context(clock or FakeClock()), **arguments))
    assert isinstance(told, dict)
    return told


async def test_now_is_the_time_of_the_run() -> None:
    clock = FakeClock()
    assert (await ask(clock))["unix"] == clock.time()
    clock.advance(3600)
    assert (await ask(clock))["unix"] == clock.time()


async def test_now_is_the_same_moment_throughout_a_call() -> None:
    told = await ask(SYSTEM_CLOCK, moment="now", until="now")
    assert (told["seconds_until"], told["until"]) == (0, "0 s")


async def test_the_answer_has_the_weekday_and_the_zone() -> None:
    told = await ask(moment="2026-11-22T20:00", zone="Asia/Tokyo")
    assert told == {
        "time": "2026-11-22T20:00:00+09:00",
        "weekday": "Sunday",
        "zone": "Asia/Tokyo",
        "unix": datetime(2026, 11, 22, 11, tzinfo=UTC).timestamp(),
        "seconds_until": None,
        "until": None,
    }


async def test_a_moment_with_an_offset_is_converted_to_the_zone() -> None:
    told = await ask(moment="2026-07-01T12:00:00Z", zone="America/New_York")
    assert told["time"] == "2026-07-01T08:00:00-04:00"


@pytest.mark.parametrize(
    ("moment", "add", "time"),
    [
        ("2026-01-31", "P1D", "2026-02-01T00:00:00+00:00"),
        ("2026-01-31", "P1W2D", "2026-02-09T00:00:00+00:00"),
        ("2026-01-31", "-PT90M", "2026-01-30T22:30:00+00:00"),
        ("2026-01-31T10:00", "P1DT1H1M1S", "2026-02-01T11:01:01+00:00"),
        ("2026-01-31", "+PT0S", "2026-01-31T00:00:00+00:00"),
    ],
)
async def test_a_duration_is_added(moment: str, add: str, time: str) -> None:
    assert (await ask(moment=moment, add=add))["time"] == time


async def test_days_are_those_of_the_calendar_and_hours_those_of_the_clock() -> None:
    night = {"moment": "2026-03-28T12:00", "zone": "Europe/Paris"}  # the clocks go forward in the night
    assert (await ask(**night, add="P1D"))["time"] == "2026-03-29T12:00:00+02:00"
    assert (await ask(**night, add="PT24H"))["time"] == "2026-03-29T13:00:00+02:00"


async def test_a_time_that_the_clocks_skip_is_the_one_that_they_show_instead() -> None:
    assert (await ask(moment="2026-03-29T02:30", zone="Europe/Paris"))["time"] == "2026-03-29T03:30:00+02:00"


@pytest.mark.parametrize(
    ("until", "seconds", "text"),
    [
        ("2026-01-02T03:04:05", 97_445, "1 d 3 h 4 min 5 s"),
        ("2025-12-31T23:00", -3_600, "-1 h"),
        ("2026-01-01", 0, "0 s"),
        ("2026-01-01T00:00:00.5", 0.5, "0.5 s"),
    ],
)
async def test_the_time_between_two_moments(until: str, seconds: float, text: str) -> None:
    told = await ask(moment="2026-01-01", until=until)
    assert (told["seconds_until"], told["until"]) == (seconds, text)


async def test_a_difference_counts_hours_that_passed_over_a_clock_change() -> None:
    told = await ask(moment="2026-03-29", until="2026-03-30", zone="Europe/Paris")
    assert told["seconds_until"] == 23 * 3600


@pytest.mark.parametrize("zone", ["Nowhere", "", "../../etc/passwd", "/etc/passwd", "Europe", "a\0b", "x" * 10_000])
async def test_an_unknown_zone_is_an_error_that_says_what_to_write(zone: str) -> None:
    reason = await refuse(date_time, zone=zone)
    assert "There is no time zone" in reason
    assert "Europe/Paris" in reason
    assert len(reason) < 500


@pytest.mark.parametrize("moment", ["yesterday", "2026-13-01", "", "0001-01-01T00:00+14:00", "1" * 10_000])
async def test_what_is_not_a_moment_is_an_error_that_says_what_to_write(moment: str) -> None:
    reason = await refuse(date_time, moment=moment)
    assert "is not a date or time. Write ISO 8601" in reason
    assert len(reason) < 500


@pytest.mark.parametrize("add", ["", "P", "-P", "PT", "P1DT", "P1Y", "1 day", "P1.5D", "P99999999D", "P\u0661D"])
async def test_what_is_not_a_duration_is_an_error_that_says_what_to_write(add: str) -> None:
    assert "is not a duration. Write ISO 8601" in await refuse(date_time, add=add)


async def test_a_result_outside_of_the_calendar_is_an_error() -> None:
    assert "between the years 1 and 9999" in await refuse(date_time, moment="2026-01-01", add="P9999999W")


_ZONES = st.sampled_from(["UTC", "Europe/Paris", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe"])


@given(st.datetimes(datetime(1971, 1, 1), datetime(2060, 1, 1)), _ZONES, st.integers(-(10**8), 10**8))
async def test_seconds_that_are_added_are_the_difference(moment: datetime, zone: str, seconds: int) -> None:
    sign = "-" if seconds < 0 else ""
    start = moment.replace(microsecond=0, tzinfo=UTC)
    told = await ask(moment=start.isoformat(), zone=zone, add=f"{sign}PT{abs(seconds)}S")
    end = datetime.fromisoformat(str(told["time"]))
    assert end == start + timedelta(seconds=seconds)
    assert end.utcoffset() == end.astimezone(ZoneInfo(zone)).utcoffset()
    between = await ask(moment=start.isoformat(), until=str(told["time"]), zone=zone)
    assert between["seconds_until"] == seconds
