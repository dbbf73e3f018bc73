"""`tactician serve` as a process that is killed in the middle of a stream, and started again."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import httpx
import pytest

from tests.serve.ag_ui.newsroom import Json, ask, read_stream
from tests.serve.ag_ui.test_frontend_tools import find_calls, find_pending
from tests.serve.ag_ui.test_runs import interrupts, text
from tests.serve.api.test_processes import serving, wait_for_lines

PROGRAM = """
import asyncio
from pathlib import Path
from tactician import Agent, tool
from tactician.llm import AssistantMessage, Features, LanguageModel, ModelResponse, Text, ToolCall

@tool
async def look() -> str:
    "Look somewhere."
    with open("looks.txt", "a") as file:
        file.write("looked\\n")
    while Path("closed").exists():
        await asyncio.sleep(0.02)
    return "grey"

@tool(needs_approval=True)
def publish() -> str:
    "Publish it."
    return "published"

class Painting(LanguageModel):
    "Model that decides by the number of results so far, so that it goes on after a restart."
    name = "painting"
    features = Features(tools=True)

    async def generate(self, request):
        count = sum(message.role == "tool" for message in request.messages)
        return ModelResponse(AssistantMessage((STEPS[count],)))

    async def stream(self, request):
        yield await self.generate(request)

STEPS = [*(ToolCall(str(number), name, "{}") for number, name in enumerate(CALLS)), Text("It is out.")]
painter = Agent("Painter", model=Painting(), tools=[look, publish])
"""
PAINTER = f'CALLS = ("look", "paint", "publish")\n{PROGRAM}'
PUBLISHER = f'CALLS = ("publish", "look")\n{PROGRAM}'
PAINT: Json = {"name": "paint", "description": "Paints the page"}
OPTIONS = ("--lease", "1")


async def kill_in_the_middle(folder: Path, body: Json, program: str) -> None:
    """Send a request to a server, kill the server once a tool waits, and let the tool end from then on."""
    (folder / "closed").touch()
    async with serving(folder, *OPTIONS, program=program) as (process, address):
        async with httpx.AsyncClient(base_url=address, timeout=60) as client:
            running = asyncio.create_task(client.post("/agui/painter", json=body))
            await wait_for_lines(folder / "looks.txt", 1)
            process.send_signal(signal.SIGKILL)
            with pytest.raises(httpx.HTTPError):
                await running
        await process.wait()
    (folder / "closed").unlink()


async def test_a_client_that_comes_back_after_a_kill_gets_its_run(tmp_path: Path) -> None:
    start = ask("Paint the page", tools=[PAINT])
    await kill_in_the_middle(tmp_path, start, PAINTER)

    async with (
        serving(tmp_path, *OPTIONS, program=PAINTER) as (_, address),
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        first = read_stream((await client.post("/agui/painter", json=start)).text)
        (call,) = find_pending(first)
        painted = {"id": "p", "role": "tool", "toolCallId": call, "content": "painted"}
        paint = ask(tools=[PAINT], messages=[*start["messages"], painted])
        (approval,) = interrupts(read_stream((await client.post("/agui/painter", json=paint)).text))
        entry = {"interruptId": approval.id, "status": "resolved", "payload": {"approved": True}}
        done = read_stream((await client.post("/agui/painter", json=ask(resume=[entry]))).text)
        runs = (await client.get("/api/runs")).json()["runs"]

    assert find_calls(first)[call] == "paint"
    assert text(done) == "It is out."
    assert [run["status"] for run in runs] == ["completed"]
    assert (tmp_path / "looks.txt").read_text().split() == [
        "looked",
        "looked",
    ]


async def test_an_answer_that_a_killed_server_has_taken_counts_once(tmp_path: Path) -> None:
    async with (
        serving(tmp_path, *OPTIONS, program=PUBLISHER) as (_, address),
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        (approval,) = interrupts(read_stream((await client.post("/agui/painter", json=ask())).text))
    entry = {"interruptId": approval.id, "status": "resolved", "payload": {"approved": True}}
    answer = ask(resume=[entry])
    await kill_in_the_middle(tmp_path, answer, PUBLISHER)

    async with (
        serving(tmp_path, *OPTIONS, program=PUBLISHER) as (_, address),
        httpx.AsyncClient(base_url=address, timeout=60) as client,
    ):
        done = read_stream((await client.post("/agui/painter", json=answer)).text)

    assert text(done) == "It is out."
