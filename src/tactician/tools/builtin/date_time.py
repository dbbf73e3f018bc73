"""Date and time, by the clock of the run."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from tactician.errors import ToolError
from tactician.frozen import frozen
from tactician.runs import RunContext
from tactician.tools.function import tool

_NOW: Final = "now"
_DURATION: Final = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<weeks>\d{1,7})W)?(?:(?P<days>\d{1,7})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?",
    re.ASCII,
)
_LONGEST: Final = 100


@frozen
class Moment:
    """Moment in a time zone.

    Attributes:
        time: ISO 8601, with the offset from UTC.
        weekday: English name of the day.
        zone: the time zone.
        unix: seconds since the start of 1970 in UTC.
        seconds_until: seconds until the other moment, if there is one; negative when it is earlier.
        until: the same in days, hours, minutes and seconds.
    """

    time: str
    weekday: str
    zone: str
    unix: float
    seconds_until: float | None = None
    until: str | None = None


@tool
def date_time(
    context: RunContext, moment: str = _NOW, zone: str = "UTC", add: str | None = None, until: str | None = None
) -> Moment:
    """Tell the date and time, convert it to a time zone, add a duration, or measure the time between two moments.

    Args:
        context: the context of the run
        moment: ISO 8601, such as 2026-03-29T14:30 or 2026-03-29, or the word now
        zone: time zone of the answer, and of moments without an offset, such as Europe/Paris
        add: ISO 8601 duration to add, such as P1W2D or -PT90M; days are days of the calendar
        until: another moment, to measure the time until it
    """
    place = _find_zone(zone)
    now = context.clock.time()
    start = _read_moment(moment, place, now)
    if add is not None:
        start = _add(start, add)
    if until is None:
        return _describe(start, zone)
    end = _read_moment(until, place, now)
    return _describe(start, zone, (end.astimezone(UTC) - start.astimezone(UTC)).total_seconds())


def _find_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (LookupError, ValueError, OSError) as error:  # a folder of zones is an OSError
        raise ToolError(
            f"There is no time zone {name[:_LONGEST]!r}. Use a name such as UTC or Europe/Paris."
        ) from error


def _read_moment(text: str, zone: ZoneInfo, now: float) -> datetime:
    if text.strip().lower() == _NOW:
        return datetime.fromtimestamp(now, zone)
    try:
        read = datetime.fromisoformat(text.strip() if len(text) < _LONGEST else "")
        # By way of UTC: a time that a clock change skips becomes the time that clocks show instead.
        return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC).astimezone(zone)
    except (ValueError, OverflowError) as error:
        example = "Write ISO 8601, such as 2026-03-29T14:30, or now."
        raise ToolError(f"{text[:_LONGEST]!r} is not a date or time. {example}") from error


def _add(moment: datetime, duration: str) -> datetime:
    """Return a later or earlier moment. Days are added on the calendar, hours on the clock."""
    match = _DURATION.fullmatch(duration.strip())
    if match is None or match.end() == match.end("sign") + 1 or duration.strip().endswith("T"):
        example = "Write ISO 8601 without months and years, such as P1W2D or PT90M."
        raise ToolError(f"{duration[:_LONGEST]!r} is not a duration. {example}")
    amounts = {unit: int(amount) for unit, amount in match.groupdict().items() if unit != "sign" and amount}
    sign = -1 if match["sign"] == "-" else 1
    days = timedelta(weeks=amounts.pop("weeks", 0), days=amounts.pop("days", 0))
    try:
        shifted = (moment + sign * days).astimezone(UTC) + sign * timedelta(**amounts)
        return shifted.astimezone(moment.tzinfo)
    except OverflowError as error:
        raise ToolError("The result is not between the years 1 and 9999.") from error


def _describe(moment: datetime, zone: str, seconds: float | None = None) -> Moment:
    until = None if seconds is None else _format_seconds(seconds)
    return Moment(moment.isoformat(), f"{moment:%A}", zone, moment.timestamp(), seconds, until)


def _format_seconds(seconds: float) -> str:
    days, rest = divmod(abs(timedelta(seconds=seconds)), timedelta(days=1))
    hours, rest = divmod(rest, timedelta(hours=1))
    minutes, rest = divmod(rest, timedelta(minutes=1))
    parts = [f"{amount} {unit}" for amount, unit in ((days, "d"), (hours, "h"), (minutes, "min")) if amount]
    if (left := rest.total_seconds()) or not parts:
        parts.append(f"{left:g} s")
    return f"{'-' if seconds < 0 else ''}{' '.join(parts)}"
