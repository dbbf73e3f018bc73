"""The same thread and run twice: the second request gets the run of the first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import httpx
from ag_ui.core import Event, RunErrorEvent, RunFinishedEvent

from tactician import Platform
from tactician.serve import Person, ag_ui_app
from tests.serve.ag_ui.newsroom import Json, ask, create_platform, read_stream, run, served
from tests.serve.ag_ui.order import check_order
from tests.serve.ag_ui.test_runs import interrupts, text
from tests.serve.api.serving import Gate, until
from tests.serve.listening import listening

PEOPLE = {"a-token-of-anna-only": Person("Anna"), "a-token-of-bert-only": Person("Bert")}


async def count_runs(platform: Platform) -> int:
    return len(await platform.runs())


def find_result(events: list[Event]) -> object:
    check_order(events)
    last = events[-1]
    assert isinstance(last, RunFinishedEvent)
    return last.result


class TestStarts:
    async def test_a_run_that_has_completed(self) -> None:
        platform, body = create_platform(), ask()
        async with served(platform) as client:
            first, second = [await run(client, "talker", body) for _ in range(2)]
            other = await run(client, "talker", {**body, "threadId": "t2"})
            assert await count_runs(platform) == 2

        assert find_result(first) == find_result(second) == text(second) == "Hello."
        assert find_result(other) == "Again."

    async def test_a_run_that_waits(self) -> None:
        platform, body = create_platform(), ask()
        async with served(platform) as client:
            first, second = [await run(client, "newsroom", body) for _ in range(2)]
            assert await count_runs(platform) == 1

        assert [one.id for one in interrupts(first)] == [one.id for one in interrupts(second)]
        check_order(second)

    async def test_a_run_that_has_failed(self) -> None:
        platform, body = create_platform(), ask()
        async with served(platform) as client:
            first, second = [await run(client, "broken", body) for _ in range(2)]
            assert await count_runs(platform) == 1

        assert isinstance(first[-1], RunErrorEvent)
        assert isinstance(second[-1], RunErrorEvent)
        assert "it is broken" in second[-1].message

    async def test_two_at_once_start_one_run(self) -> None:
        platform, body = create_platform(), ask()
        async with served(platform) as client:
            events = await asyncio.gather(*(run(client, "talker", body) for _ in range(4)))
            assert await count_runs(platform) == 1

        assert {find_result(found) for found in events} == {"Hello."}

    async def test_somebody_else_has_a_run_of_their_own(self) -> None:
        platform, body = create_platform(), ask()
        async with AsyncExitStack() as stack:
            anna, bert = [await stack.enter_async_context(served(platform, PEOPLE, token)) for token in PEOPLE]
            results = [find_result(await run(client, "talker", body)) for client in (anna, bert)]

        assert results == ["Hello.", "Again."]


class TestAnswers:
    async def test_an_answer_that_was_taken(self) -> None:
        platform = create_platform()
        async with served(platform) as client:
            (asked,) = interrupts(await run(client, "newsroom", ask()))
            resume = [{"interruptId": asked.id, "status": "resolved", "payload": {"approved": True}}]
            body = ask(resume=resume)
            first, second = [await run(client, "newsroom", body) for _ in range(2)]
            late = await run(client, "newsroom", ask(resume=resume))

        assert find_result(first) == find_result(second) == {"text": "It is out."}
        assert isinstance(late[-1], RunErrorEvent)


async def test_a_run_that_goes_on_is_followed_and_survives_the_client_that_started_it() -> None:
    gate, body = Gate(), ask()
    platform = create_platform(gate=gate)
    application = ag_ui_app(platform)
    async with (
        platform,
        listening(lambda _: application) as address,
        httpx.AsyncClient(base_url=address, timeout=30) as client,
        client.stream("POST", "/slow", json=body) as second,
    ):
        lines = second.aiter_lines()
        async with client.stream("POST", "/slow", json=body) as first:
            await anext(first.aiter_lines())
            await gate.reached.wait()
            read = await read_until(lines, "tactician.run")

        async def one_is_open() -> Json | None:
            return {} if application.state.streams.open == 1 else None

        await until(one_is_open)
        gate.open.set()
        events = read_stream("\n".join([*read, *[line async for line in lines]]))
        assert await count_runs(platform) == 1

    assert find_result(events) == text(events) == "At last."
    assert [event.type.value for event in events].count("TOOL_CALL_RESULT") == 1


async def read_until(lines: AsyncIterator[str], word: str) -> list[str]:
    """Return the lines up to one with a word."""
    read: list[str] = []
    async for line in lines:
        read.append(line)
        if word in line:
            break
    return read
