"""Schedules: each tick is a run, once, over restarts, instances, daylight saving and clocks that jump."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import Agent, Ensemble, MemoryStore, Platform, Task, runnable
from tactician.clock import Clock
from tactician.errors import ConfigurationError, RequestRejectedError
from tactician.events import Event
from tactician.mesh import Mesh, Node, ScheduleFired
from tactician.mesh.timetable import Timetable
from tactician.testing import FakeClock, ScriptedModel

HOUR = timedelta(hours=1)
BERLIN = ZoneInfo("Europe/Berlin")


class SkewedClock(FakeClock):
    """Clock of a machine whose wall time differs from the others."""

    def __init__(self, clock: FakeClock, skew: float) -> None:
        self.clock, self.skew = clock, skew
        self.monotonic = clock.monotonic  # type: ignore[method-assign]
        self.call_later = clock.call_later  # type: ignore[method-assign]
        self.sleep = clock.sleep  # type: ignore[method-assign]

    def time(self) -> float:
        return self.clock.time() + self.skew


class Reports:
    """Work that notes for which ticks it ran."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def report(self, tick: str) -> str:
        """Report."""
        self.done.append(tick)
        return f"{len(self.done)} reports"


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


@pytest.fixture
def clock() -> FakeClock:
    clock = FakeClock(sleeps_wait=True)
    clock.advance(3600 - clock.time() % 3600 + 600)  # ten minutes past the hour
    return clock


@pytest.fixture
def reports() -> Reports:
    return Reports()


def at(clock: Clock, *hours: int) -> list[str]:
    """Return the inputs of the ticks that are so many hours after the beginning of this hour."""
    start = clock.time() // 3600 * 3600
    return [
        f"report, {datetime.fromtimestamp(start + 3600 * hour, ZoneInfo('UTC')):%Y-%m-%dT%H:%M:%SZ}" for hour in hours
    ]


Change = Callable[[Node], None]


@asynccontextmanager
async def running(
    url: str, clock: Clock, store: MemoryStore, change: Change, heard: list[Event] | None = None
) -> AsyncIterator[Node]:
    async with Mesh(url, clock=clock) as mesh:
        on_event = None if heard is None else heard.append
        node = Node("kitchen", Platform(ScriptedModel(), store=store, clock=clock, on_event=on_event), mesh)
        change(node)
        async with node:
            yield node


async def test_an_interval_and_a_cron_expression_start_a_run_for_each_tick(url: str, clock: FakeClock) -> None:
    hourly, daily, heard = Reports(), Reports(), list[Event]()

    def add(node: Node) -> None:
        node.schedule("report", runnable(hourly.report), every=HOUR)
        hour = (datetime.fromtimestamp(clock.time(), BERLIN) + HOUR).hour
        node.schedule("daily", runnable(daily.report), cron=f"30 {hour} * * *", timezone="Europe/Berlin")

    expected = at(clock, 1, 2)
    async with running(url, clock, MemoryStore(clock=clock), add, heard):
        await clock.run_for(2 * 3600)

    assert hourly.done == expected
    assert daily.done == [expected[0].replace("report", "daily").replace(":00:00", ":30:00")]
    fired = [event for event in heard if isinstance(event, ScheduleFired)]
    assert {(event.schedule, event.node) for event in fired} == {("report", "kitchen"), ("daily", "kitchen")}
    assert len({(event.schedule, event.tick) for event in fired}) == len(fired) == len(hourly.done) + len(daily.done)


async def test_agents_ensembles_and_tools_are_scheduled_and_results_go_to_a_topic(url: str, clock: FakeClock) -> None:
    model = ScriptedModel("of the agent", "of the ensemble")

    def count() -> int:
        """Count."""
        return 3

    def add(node: Node) -> None:
        node.schedule("a", Agent("reporter", model=model), every=HOUR, publish_to="hotel.a", input="Count the beer.")
        node.schedule("b", Ensemble("team", [Task("Report.")], model=model), every=2 * HOUR, publish_to="hotel.b")
        node.schedule("c", count, every=HOUR, publish_to="hotel.c")

    values = dict[str, object]()
    async with (
        running(url, clock, MemoryStore(clock=clock), add),
        Mesh(url, clock=clock) as listener,
        listener.open_subscription("hotel.*") as events,
    ):
        start = clock.time()
        clock.advance(2 * 3600 - start % 3600 if (start // 3600) % 2 == 0 else 3600 - start % 3600)
        await clock.run_for(60)
        while len(values) < 3:
            event = await anext(events)
            values[event.topic] = event.value

    outputs = {topic: value["output"] for topic, value in values.items() if isinstance(value, dict)}
    assert outputs == {"hotel.a": "of the agent", "hotel.b": "of the ensemble", "hotel.c": 3}
    assert any("Count the beer." in message.text for call in model.calls for message in call.messages)


@pytest.mark.parametrize(("skew", "is_shared"), [(60.0, True), (-60.0, False)])
async def test_a_tick_runs_once_however_many_instances_whose_clocks_differ_by_a_minute(
    url: str, clock: FakeClock, reports: Reports, skew: float, is_shared: bool
) -> None:
    store, expected = MemoryStore(clock=clock), at(clock, 1, 2)
    other = SkewedClock(clock, skew)

    def add(node: Node) -> None:
        node.schedule("report", runnable(reports.report), every=HOUR)

    async with (
        running(url, clock, store, add),
        running(url, other, store if is_shared else MemoryStore(clock=clock), add),
        running(url, clock, store if is_shared else MemoryStore(clock=clock), add),
    ):
        await clock.run_for(2 * 3600)

    assert sorted(reports.done) == expected


@pytest.mark.parametrize(("catch_up", "hours"), [("latest", [1, 4, 5]), ("all", [1, 2, 3, 4, 5]), ("skip", [1, 5])])
async def test_ticks_that_were_missed_while_the_node_was_away_are_made_up_for(
    url: str, clock: FakeClock, reports: Reports, catch_up: str, hours: list[int]
) -> None:
    store, expected = MemoryStore(clock=clock), at(clock, *hours)

    def add(node: Node) -> None:
        node.schedule("report", runnable(reports.report), every=HOUR, catch_up=catch_up)  # type: ignore[arg-type]

    async with running(url, clock, store, add):
        await clock.run_for(3600)
    clock.advance(3 * 3600)
    for _ in range(2):  # a second restart makes up for nothing more
        async with running(url, clock, store, add):
            await clock.run_for(600)
    async with running(url, clock, store, add):
        await clock.run_for(3600)

    assert reports.done == expected


async def test_a_clock_that_jumps_fires_no_tick_twice_and_does_not_stop_the_schedule(
    url: str, clock: FakeClock, reports: Reports
) -> None:
    expected = at(clock, 1, 2, 3)
    wall = SkewedClock(clock, 0.0)

    def add(node: Node) -> None:
        node.schedule("report", runnable(reports.report), every=HOUR)

    async with running(url, wall, MemoryStore(clock=clock), add):
        await clock.run_for(3600)
        wall.skew = -1800.0  # set back before the tick that has fired
        await clock.run_for(3600 + 1800)
        assert reports.done == expected[:2]
        wall.skew += 3600  # set ahead, over the next tick
        await clock.run_for(120)
        assert reports.done == expected
        wall.skew -= 10 * 86_400  # set back for good
        await clock.run_for(3600)

    assert len(reports.done) == len(set(reports.done)) == 4


async def test_a_full_queue_delays_a_tick_and_loses_none(url: str, clock: FakeClock, reports: Reports) -> None:
    expected = at(clock, 1)
    async with Mesh(url, clock=clock) as mesh:
        platform = Platform(ScriptedModel(), store=MemoryStore(clock=clock), clock=clock)
        node = Node("kitchen", platform, mesh, queue_limit=0)
        node.schedule("report", runnable(reports.report), every=HOUR)
        async with node:
            await clock.run_for(3600)
            assert reports.done == []
        node = Node("kitchen", platform, mesh)
        node.schedule("report", runnable(reports.report), every=HOUR)
        async with node:
            await clock.run_for(60)

    assert reports.done == expected


async def test_nobody_else_may_ask_for_scheduled_work(url: str, clock: FakeClock, reports: Reports) -> None:
    async with running(
        url, clock, MemoryStore(clock=clock), lambda node: node.schedule("report", runnable(reports.report), every=HOUR)
    ) as node:
        async with Mesh(url, clock=clock) as mesh:
            with pytest.raises(RequestRejectedError, match="It offers nothing"):
                await mesh.submit("schedule:report", "x", on="kitchen")
        assert node.capabilities == ()
        (card,) = node.card().schedules

    assert (card.name, card.timetable) == ("report", "every 1:00:00")
    assert card.next_at % 3600 == 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "an interval or a cron expression"),
        ({"every": HOUR, "cron": "0 7 * * *"}, "an interval or a cron expression"),
        ({"every": 3600}, "every is 3600"),
        ({"every": timedelta(milliseconds=1500)}, "whole number of seconds"),
        ({"every": HOUR, "timezone": "Europe/Berlin"}, "belongs to a cron expression"),
        ({"cron": "0 7 * *"}, "Wrong number of fields"),
        ({"cron": "0 0 31 2 *"}, "no cron expression"),
        ({"cron": "0 7 * * *", "timezone": "Europe/Berlyn"}, "no time zone"),
        ({"cron": "0 7 * * *", "timezone": "../../etc/passwd"}, "no time zone"),
        ({"every": HOUR, "catch_up": "some"}, "'latest', 'all' or 'skip'"),
        ({"every": HOUR, "jitter": 5}, "jitter is 5"),
    ],
)
async def test_a_wrong_timetable_is_an_error_at_once(
    url: str, options: dict[str, object], problem: str, reports: Reports
) -> None:
    node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), Mesh(url))
    with pytest.raises(ConfigurationError, match=problem):
        node.schedule("report", runnable(reports.report), **options)  # type: ignore[arg-type]


async def test_two_schedules_have_two_names(url: str, reports: Reports) -> None:
    node = Node("kitchen", Platform(ScriptedModel(), store=MemoryStore()), Mesh(url))
    node.schedule("report", runnable(reports.report), every=HOUR)
    with pytest.raises(ConfigurationError, match="another name"):
        node.schedule("report", runnable(reports.report), every=HOUR)


@pytest.mark.parametrize(
    ("cron", "day", "expected"),
    [
        ("30 2 * * *", (2026, 3, 29), ["03:00+0200"]),  # the time does not exist
        ("30 2 * * *", (2026, 10, 25), ["02:30+0200"]),  # the time comes twice
        ("15 2,3 * * *", (2026, 10, 25), ["02:15+0200", "03:15+0100"]),
    ],
)
def test_a_change_of_the_clocks_fires_once(cron: str, day: tuple[int, int, int], expected: list[str]) -> None:
    timetable = Timetable(cron=cron, timezone="Europe/Berlin")
    midnight = datetime(*day, tzinfo=BERLIN)
    ticks = timetable.list_due("k", midnight.timestamp(), (midnight + timedelta(days=1)).timestamp())

    assert [f"{datetime.fromtimestamp(tick, BERLIN):%H:%M%z}" for tick in ticks] == expected


@given(
    start=st.floats(1.77e9, 1.8e9),
    cron=st.sampled_from(["0 * * * *", "30 2 * * *", "*/20 1-4 * * *", "5 4 * * sun", "0 0 1 * *"]),
    zone=st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
)
def test_the_ticks_that_are_due_are_those_that_come_next(start: float, cron: str, zone: str) -> None:
    timetable, end = Timetable(cron=cron, timezone=zone), start + 3 * 86_400
    expected, tick = list[int](), timetable.find_next(start)
    while tick <= end:
        expected.append(tick)
        tick = timetable.find_next(tick)

    assert timetable.list_due("k", start, end) == expected


def test_ticks_are_spread_by_the_jitter_in_the_same_way_on_all_machines() -> None:
    timetable = Timetable(every=HOUR, jitter=timedelta(minutes=10))
    delays = [timetable.find_delay("kitchen/report", tick) for tick in range(0, 100 * 3600, 3600)]

    assert delays == [timetable.find_delay("kitchen/report", tick) for tick in range(0, 100 * 3600, 3600)]
    assert 0 <= min(delays) < 60 < 540 < max(delays) <= 600
    tick = 7200
    due = tick + timetable.find_delay("kitchen/report", tick)
    assert timetable.list_due("kitchen/report", 3600, due - 0.01) == []
    assert timetable.list_due("kitchen/report", 3600, due) == [tick]


def test_of_very_many_missed_ticks_the_newest_thousand_are_made_up_for() -> None:
    ticks = Timetable(every=timedelta(seconds=1), catch_up="all").list_due("k", 0, 1e9)
    assert (len(ticks), ticks[0], ticks[-1]) == (1000, 10**9 - 999, 10**9)
