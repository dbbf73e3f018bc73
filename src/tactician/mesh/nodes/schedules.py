"""Schedules of a node: each tick becomes a run, once, however many instances the node has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Final

from pydantic import JsonValue

from tactician.clock import pause
from tactician.errors import RequestRejectedError, StoreError
from tactician.events.bus import EventEmitter
from tactician.frozen import frozen
from tactician.loggers import get_logger
from tactician.mesh.connection import MeshConnection
from tactician.mesh.events import ScheduleFired
from tactician.mesh.messages.cards import ScheduleCard
from tactician.mesh.nodes.bookmarks import Bookmarks
from tactician.mesh.nodes.intake import Intake
from tactician.mesh.nodes.own_work import OwnTask, OwnWork
from tactician.mesh.timetable import Timetable
from tactician.mesh.transports.transport import TransportError
from tactician.platform import Platform

_LOOK_EVERY: Final = 60.0
"""Seconds after which the wall clock is read again at the latest, as it may jump."""
_LATER: Final = 5.0
_PUNCTUAL: Final = 60.0
"""Seconds within which a tick does not count as missed."""
_SET_BACK: Final = 300.0
"""Seconds by which the last tick may be ahead of the clock; above, the clock was set back."""
_logger = get_logger(__name__)


@frozen(kw_only=True)
class NodeSchedule:
    """Work that a node begins by itself.

    Attributes:
        name: its name.
        timetable: the moments of the work.
        capability: name of the offer that does it.
        input: input of the work; text that names the schedule and the tick, when it is `None`.
        publish_to: topic of the results.
    """

    name: str
    timetable: Timetable
    capability: str
    input: JsonValue = None
    publish_to: str | None = None

    def describe(self, tick: int) -> JsonValue:
        """Return the input of the work for a tick."""
        moment = datetime.fromtimestamp(tick, UTC).isoformat().replace("+00:00", "Z")
        return f"{self.name}, {moment}" if self.input is None else self.input


@dataclass(slots=True)
class _Course:
    schedule: NodeSchedule
    last: float | None = None


class NodeSchedules:
    """Schedules of an instance of a node.

    Args:
        node: name of the node.
        platform: the platform, whose store keeps the last ticks.
        mesh: the connection, whose clock the schedules follow.
        work: starts the work.
        intake: the queue of the node.
    """

    def __init__(self, node: str, platform: Platform, mesh: MeshConnection, work: OwnWork, intake: Intake) -> None:
        self._key = f"{mesh.realm}/{node}"
        self._node = node
        self._clock = mesh.clock
        self._work = work
        self._intake = intake
        self._bookmarks = Bookmarks(platform.store, self._key)
        self._emitter = EventEmitter(platform.services.bus, "", (node,), mesh.clock)
        self._courses: list[_Course] = []

    def add(self, schedule: NodeSchedule) -> None:
        """Add a schedule."""
        self._courses.append(_Course(schedule))

    def list_cards(self) -> tuple[ScheduleCard, ...]:
        """Return the schedules as the node publishes them."""
        now = self._clock.time()
        return tuple(
            ScheduleCard(
                name=course.schedule.name,
                timetable=str(course.schedule.timetable),
                next_at=self._find_next(course, now),
                last_tick=course.last,
                publish_to=course.schedule.publish_to,
            )
            for course in self._courses
        )

    async def keep_firing(self) -> None:
        """Start the work of each tick, until it is cancelled."""
        while True:
            wait = _LOOK_EVERY
            for course in self._courses:
                try:
                    await self._fire_due(course)
                    wait = min(wait, self._find_next(course, self._clock.time()) - self._clock.time())
                except (StoreError, TransportError, RequestRejectedError) as error:
                    _logger.warning("%s: %s begins later: %s", self._node, course.schedule.name, error)
                    wait = min(wait, _LATER)
            await pause(max(wait, 0.001) if self._courses else inf, self._clock)

    def _find_next(self, course: _Course, now: float) -> float:
        """Return when the next tick is due, with its delay."""
        timetable = course.schedule.timetable
        tick = timetable.find_next(now if course.last is None else min(course.last, now))
        return tick + timetable.find_delay(self._name_course(course), tick)

    async def _fire_due(self, course: _Course) -> None:
        now = self._clock.time()
        if course.last is None:
            course.last = await self._find_beginning(course, now)
        if course.last > now + _SET_BACK:
            course.last = now
        ticks = course.schedule.timetable.list_due(self._name_course(course), course.last, now)
        for tick in _choose(course.schedule.timetable, ticks, now):
            await self._fire(course.schedule, tick)
            course.last = tick
        if ticks:
            course.last = ticks[-1]
            await self._bookmarks.advance(self._name_source(course), course.last)

    async def _find_beginning(self, course: _Course, now: float) -> float:
        """Return the tick from which the schedule goes on: that of the last start, or now."""
        earlier = await self._bookmarks.load(self._name_source(course))
        if earlier is None:
            await self._bookmarks.advance(self._name_source(course), now)
        return now if earlier is None else earlier

    async def _fire(self, schedule: NodeSchedule, tick: int) -> None:
        task = OwnTask(
            id=f"schedule/{self._key}/{schedule.name}/{tick}",
            capability=schedule.capability,
            input=schedule.describe(tick),
            publish_to=schedule.publish_to,
        )
        if await self._work.start(self._intake, task):
            self._emitter.emit(ScheduleFired, schedule=schedule.name, node=self._node, tick=tick)

    def _name_course(self, course: _Course) -> str:
        return f"{self._key}/{course.schedule.name}"

    def _name_source(self, course: _Course) -> str:
        return f"schedule/{course.schedule.name}"


def _choose(timetable: Timetable, ticks: list[int], now: float) -> list[int]:
    """Return the ticks that are made up for."""
    if timetable.catch_up == "all":
        return ticks
    if timetable.catch_up == "latest":
        return ticks[-1:]
    late = now - _PUNCTUAL - timetable.jitter.total_seconds()
    return [tick for tick in ticks if tick >= late]
