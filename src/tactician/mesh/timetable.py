"""Timetables: the moments at which scheduled work is due, by an interval or by a cron expression in a time zone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from math import floor
from typing import Final, Literal, TypedDict, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tactician.errors import ConfigurationError
from tactician.frozen import frozen

CatchUp = Literal["latest", "all", "skip"]
MOST_MISSED: Final = 1_000
"""Number of missed ticks that are made up for at most; older ones are left out."""
_LONGEST: Final = timedelta(days=3_660)


class TimetableOptions(TypedDict, total=False):
    """Options of a timetable; see `Timetable`."""

    every: timedelta | None
    cron: str | None
    timezone: str | None
    jitter: timedelta
    catch_up: CatchUp


@frozen(kw_only=True)
class Timetable:
    """Moments at which work is due. A tick is such a moment, in whole seconds since the epoch.

    The ticks are the same on all machines: an interval is counted from 1970 on, in UTC.

    Attributes:
        every: the interval, in whole seconds.
        cron: the cron expression, in place of an interval. A time that the clocks pass over in spring is moved, and
            a time that comes twice in autumn counts once.
        timezone: time zone of the cron expression.
        jitter: time by which a tick is delayed at most; each tick has its own delay, the same on all machines.
        catch_up: which of the ticks are made up for that were missed: the latest, all or none.

    Raises:
        ConfigurationError: when a value is not valid.
    """

    every: timedelta | None = None
    cron: str | None = None
    timezone: str | None = None
    jitter: timedelta = timedelta(0)
    catch_up: CatchUp = "latest"

    def __post_init__(self) -> None:
        if (self.every is None) == (self.cron is None):
            raise ConfigurationError("A schedule has an interval or a cron expression: every=timedelta(hours=1)")
        if self.catch_up not in get_args(CatchUp):
            raise ConfigurationError(f"catch_up is {self.catch_up!r}; write 'latest', 'all' or 'skip'")
        if not _is_between(timedelta(0), self.jitter):
            raise ConfigurationError(f"jitter is {self.jitter!r}; write jitter=timedelta(minutes=5)")
        if self.every is not None:
            self._check_interval(self.every)
        else:
            self._check_cron()

    def _check_interval(self, every: timedelta) -> None:
        if not _is_between(timedelta(seconds=1), every) or every.microseconds:
            raise ConfigurationError(f"every is {every!r}; write a whole number of seconds: every=timedelta(hours=1)")
        if self.timezone is not None:
            raise ConfigurationError('A time zone belongs to a cron expression: cron="0 7 * * *"')

    def _check_cron(self) -> None:
        from cronsim import CronSimError

        try:
            self._zone()
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ConfigurationError(f"{self.timezone!r} is no time zone; write timezone='Europe/Berlin'") from error
        try:
            self.find_next(0.0)
        except (CronSimError, StopIteration, AttributeError) as error:
            raise ConfigurationError(
                f"{self.cron!r} is no cron expression with a time that comes: {str(error) or 'it never comes'}. "
                "Write minute, hour, day, month and weekday, such as '0 7 * * mon-fri'."
            ) from error

    def __str__(self) -> str:
        zone = f" {self.timezone}" if self.timezone else ""
        return f"every {self.every}" if self.every is not None else f"{self.cron}{zone}"

    def find_next(self, after: float) -> int:
        """Return the first tick after a time."""
        if self.every is None:
            return _to_seconds(next(self._simulate(after)))
        seconds = int(self.every.total_seconds())
        return (floor(after) // seconds + 1) * seconds

    def list_due(self, key: str, after: float, now: float) -> list[int]:
        """Return the ticks after a time that are due, oldest first; of more than a thousand, the newest.

        Args:
            key: name of the schedule, by which its ticks are delayed.
            after: the last tick that was seen.
            now: the time.
        """
        passed = list(islice(takewhile(lambda tick: tick > after, self._iterate_back(now)), MOST_MISSED))
        return list(takewhile(lambda tick: tick + self.find_delay(key, tick) <= now, reversed(passed)))

    def find_delay(self, key: str, tick: int) -> float:
        """Return the seconds by which a tick is delayed."""
        digest = hashlib.sha256(f"{key}@{tick}".encode()).digest()
        return int.from_bytes(digest[:8]) / 2**64 * self.jitter.total_seconds()

    def _iterate_back(self, now: float) -> Iterator[int]:
        """Yield the ticks up to a time, newest first."""
        if self.every is None:
            yield from map(_to_seconds, self._simulate(floor(now) + 1, reverse=True))
            return
        seconds = int(self.every.total_seconds())
        yield from range(floor(now) // seconds * seconds, 0, -seconds)

    def _simulate(self, start: float, *, reverse: bool = False) -> Iterator[datetime]:
        from cronsim import CronSim

        moment = datetime.fromtimestamp(start, self._zone())
        simulated: Iterator[datetime] = CronSim(self.cron or "", moment, reverse=reverse)
        return simulated

    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone or "UTC")


def _is_between(shortest: timedelta, time: object) -> bool:
    return isinstance(time, timedelta) and shortest <= time <= _LONGEST


def _to_seconds(moment: datetime) -> int:
    return int(moment.astimezone(UTC).timestamp())
