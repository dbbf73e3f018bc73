"""Events for readers: kept up to a bound, numbered, and never held up by a reader that does not read."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.llm.usage import UsageTally
from tactician.loop import TextReceived, ThinkingReceived
from tactician.platform.host.feed import EventFeed
from tactician.runs import RunEnded, RunStarted, RunStatus
from tactician.secrets import Masking
from tests.support.effort import examples


def started(run_id: str, parent_id: str | None = None) -> RunStarted:
    path = ("A",) if parent_id is None else ("A", "B")
    return RunStarted(run_id=run_id, parent_id=parent_id, path=path, kind="run")


async def read(feed: EventFeed, count: int, run_id: str | None = None, after: int = 0) -> list[int]:
    numbers: list[int] = []
    async with aclosing(feed.read(run_id, after)) as entries:
        async for batch in entries:
            numbers += [entry.number for entry in batch]
            if len(numbers) >= count:
                break
    return numbers


async def test_who_comes_late_sees_what_was_and_what_comes() -> None:
    feed = EventFeed()
    for _ in range(3):
        feed.publish(started("a"))
    reading = asyncio.create_task(read(feed, 5))
    await asyncio.sleep(0)
    feed.publish(started("a"))
    feed.publish(started("b"))

    assert await reading == [1, 2, 3, 4, 5]


async def test_a_reader_of_a_run_sees_what_it_causes_and_nothing_else() -> None:
    feed = EventFeed()
    feed.publish(started("a"))
    feed.publish(started("b"))
    feed.publish(started("c", "a"))
    feed.publish(started("d", "c"))

    assert await read(feed, 3, "a") == [1, 3, 4]
    assert await read(feed, 1, "a", after=3) == [4]


def test_only_the_last_events_of_the_last_runs_are_kept() -> None:
    feed = EventFeed(events_per_run=2, most_runs=2)
    for run_id in "abc":
        for _ in range(3):
            feed.publish(started(run_id))

    assert [entry.number for entry in feed.replay(None)] == [5, 6, 8, 9]
    assert feed.replay("a") == []


def test_the_runs_that_changed_longest_ago_make_room() -> None:
    feed = EventFeed(events_per_run=3, most_events=6)
    for run_id in "abacca":
        feed.publish(started(run_id))
    assert len(feed.replay(None)) == 6

    feed.publish(started("d"))

    assert [entry.number for entry in feed.replay(None)] == [1, 3, 4, 5, 6, 7]
    assert feed.replay("b") == []


async def test_a_reader_that_does_not_read_is_dropped_and_others_are_not() -> None:
    feed = EventFeed(events_per_run=10)
    with feed.open() as sleeper:
        reading = asyncio.create_task(read(feed, 3000))
        for number in range(3000):
            feed.publish(started("a"))
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert sleeper.was_dropped
        assert sleeper.entries.qsize() == 1000
        assert feed.readers == 1
        assert await reading == list(range(1, 3001))


async def test_a_stream_ends_when_its_reader_was_dropped() -> None:
    feed = EventFeed()
    async with aclosing(feed.read()) as entries:
        feed.publish(started("a"))
        assert len(await anext(entries)) == 1
        for _ in range(1100):
            feed.publish(started("a"))
        numbers = [entry.number async for batch in entries for entry in batch]

    assert numbers == list(range(2, 1002))
    assert feed.readers == 0


@examples(50)
@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=30), st.integers(0, 30))
def test_a_replay_has_what_is_kept_after_a_number(events: list[tuple[str, bool]], after: int) -> None:
    feed = EventFeed(events_per_run=5, most_runs=2)
    for run_id, _ in events:
        feed.publish(started(run_id))

    numbers = [entry.number for entry in feed.replay(None, after)]

    assert numbers == sorted(set(numbers))
    assert all(after < number <= len(events) for number in numbers)
    if after < len(events):
        assert numbers[-1] == len(events)


async def test_a_reader_of_a_run_hears_what_it_causes_as_it_happens() -> None:
    feed = EventFeed()
    feed.publish(started("a"))
    reading = asyncio.create_task(read(feed, 3, "a"))
    await asyncio.sleep(0)
    feed.publish(started("inside", "a"))
    feed.publish(started("b"))
    feed.publish(started("inside", "a"))

    async with asyncio.timeout(20):
        assert await reading == [1, 2, 4]


@pytest.mark.parametrize("kind", [TextReceived, ThinkingReceived])
@pytest.mark.parametrize("size", [1, 5, 1000])
async def test_a_key_in_pieces_is_masked_for_readers(kind: type[TextReceived | ThinkingReceived], size: int) -> None:
    feed, key = EventFeed(Masking({})), "sk-abcdefghijklmnop1234567890abcd"
    text = f"It is {key}"
    with feed.open() as reader:
        for start in range(0, len(text), size):
            feed.publish(kind(run_id="a", path=("a",), text=text[start : start + size]))
        feed.publish(RunEnded(run_id="a", path=("a",), status=RunStatus.COMPLETED, seconds=1.0, tally=UsageTally()))
        entries = [reader.entries.get_nowait() for _ in range(reader.entries.qsize())]

    said = [json.loads(entry.format())["text"] for entry in entries if entry.type == kind.type]
    assert "".join(said) == "It is ***"
    assert "".join(entry.event.text for entry in entries if isinstance(entry.event, kind)) == text
    assert entries[-1].type == "RunEnded"
