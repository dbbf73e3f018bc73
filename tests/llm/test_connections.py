"""One pooled session per event loop, and nothing left behind."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from contextlib import aclosing
from textwrap import dedent

import pytest

from tactician.errors import ModelConnectionError
from tactician.llm import Endpoint, ModelRequest, UserMessage
from tactician.llm.model import TextDelta
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import ChatServer, chunk, echoes, sse, streams
from tests.support.waiting import eventually

HI = ModelRequest((UserMessage("hi"),))


async def test_calls_one_after_the_other_share_a_connection(server: ChatServer) -> None:
    first, second = server.model(), server.model()

    for model in (first, second, first):
        await model.generate(HI)

    assert len({one.peer for one in server.received}) == 1
    assert server.open_connections == 1


async def test_a_stream_that_was_read_to_its_end_gives_its_connection_back(server: ChatServer) -> None:
    server.will(streams(chunk("stop", content="x")))

    for _ in range(3):
        async for _ in server.model().stream(HI):
            pass

    assert len({one.peer for one in server.received}) == 1


async def test_a_connection_that_the_server_has_closed_is_replaced(server: ChatServer) -> None:
    model = server.model()
    await model.generate(HI)

    server.drop_connections()
    await eventually(lambda: server.open_connections == 0)
    await model.generate(HI)

    assert len({one.peer for one in server.received}) == 2


async def test_a_hundred_calls_at_once_each_get_their_own_answer(server: ChatServer) -> None:
    server.will(echoes())
    model = server.model()

    responses = await asyncio.gather(*(model.generate(ModelRequest((UserMessage(f"{n}"),))) for n in range(100)))

    assert [response.message.text for response in responses] == [f"{n}" for n in range(100)]


async def test_a_cancelled_call_leaves_neither_connection_nor_task(server: ChatServer) -> None:
    server.will(server.stall())
    before = asyncio.all_tasks()
    call = asyncio.create_task(server.model().generate(HI))
    await server.reached.wait()

    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call

    await server.abandoned.wait()
    await eventually(lambda: server.open_connections == 0 and asyncio.all_tasks() <= before)


async def test_a_cancelled_stream_leaves_neither_connection_nor_task(server: ChatServer) -> None:
    server.will(server.stall(sse(chunk(content="x"), done=False)))
    before = asyncio.all_tasks()
    heard = asyncio.Event()

    async def read() -> None:
        async for item in server.model().stream(HI):
            assert item == TextDelta("x")
            heard.set()

    reader = asyncio.create_task(read())
    await heard.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader

    await server.abandoned.wait()
    await eventually(lambda: server.open_connections == 0 and asyncio.all_tasks() <= before)


@pytest.mark.parametrize("closing", [True, False])
async def test_leaving_a_stream_early_closes_its_connection(server: ChatServer, closing: bool) -> None:
    server.will(server.stall(sse(chunk(content="x"), done=False)))
    before = asyncio.all_tasks()

    if closing:
        async with aclosing(server.model().stream(HI)) as items:  # type: ignore[type-var]  # it is a generator
            await anext(items)
    else:
        async for _ in server.model().stream(HI):
            break

    await asyncio.wait_for(server.abandoned.wait(), 30)
    await eventually(lambda: server.open_connections == 0 and asyncio.all_tasks() <= before)


LOOPS = """
    import asyncio, sys
    from tactician import Agent
    from tactician.llm import Endpoint, ModelRequest, UserMessage
    from tactician.llm.remote import RemoteModel

    url = sys.argv[1] + "/v1/chat/completions"
    request = ModelRequest((UserMessage("hi"),))

    async def twice() -> None:
        model = RemoteModel("m", Endpoint("test", url))
        for _ in range(2):
            assert (await model.generate(request)).message.text == "hello"

    asyncio.run(twice())
    asyncio.run(twice())
    agent = Agent("A", model=RemoteModel("m", Endpoint("test", url)))
    assert agent.run_sync("hi").output == agent.run_sync("hi").output == "hello"
"""

LEFT = """
    import asyncio, sys
    from tactician.llm import Endpoint, ModelRequest, UserMessage
    from tactician.llm.remote import RemoteModel

    async def leave() -> None:
        model = RemoteModel("m", Endpoint("test", sys.argv[1] + "/v1/chat/completions"))
        asyncio.create_task(model.generate(ModelRequest((UserMessage("hi"),))))
        await asyncio.sleep(0.05)

    asyncio.run(leave())
"""


CLOSED = """
    import asyncio, gc, sys, weakref
    from tactician.llm import Endpoint, ModelRequest, UserMessage
    from tactician.llm.remote import RemoteModel

    model = RemoteModel("m", Endpoint("test", sys.argv[1] + "/v1/chat/completions"))
    loops = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        await model.generate(ModelRequest((UserMessage("hi"),)))

    for _ in range(3):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(call())
        loop.close()
    del loop
    asyncio.run(call())
    gc.collect()
    print(sum(loop() is not None for loop in loops))
"""


async def run_script(script: str, *arguments: str, warnings: str = "error") -> tuple[int, str]:
    """Runs a program with warnings as errors; its exit code and all that it printed."""
    command = (sys.executable, "-W", warnings, "-c", dedent(script), *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def test_every_loop_has_a_session_of_its_own_that_ends_with_it(server: ChatServer) -> None:
    assert await run_script(LOOPS, server.url) == (0, "")

    peers = [one.peer for one in server.received]
    assert len(peers) == 6
    assert len(set(peers)) == 4
    assert peers[0] == peers[1] != peers[2] == peers[3]


def test_a_loop_that_has_ended_is_forgotten() -> None:
    loops: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def call() -> None:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        with pytest.raises(ModelConnectionError):
            await RemoteModel("m", Endpoint("down", "http://127.0.0.1:1")).generate(HI)

    asyncio.run(call())
    gc.collect()

    assert [one() for one in loops] == [None]


async def test_a_loop_that_was_closed_without_its_generators_is_forgotten_by_the_next(server: ChatServer) -> None:
    assert await run_script(CLOSED, server.url, warnings="ignore") == (0, "0\n")

    await eventually(lambda: server.open_connections == 0)


async def test_a_program_may_end_in_the_middle_of_a_call(server: ChatServer) -> None:
    server.will(server.stall())

    assert await run_script(LEFT, server.url) == (0, "")
