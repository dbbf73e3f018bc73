"""What servers show of answers that something refuses, changes or repeats."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import httpx
import pytest
from ag_ui.core import TextMessageContentEvent

from tactician import AgentService, Ensemble, Platform, Task
from tactician.agents import BaseRunnable
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tests.serve.a2a.serving import JsonRpc, create_message, serve_a2a
from tests.serve.ag_ui import newsroom
from tests.serve.api.serving import served
from tests.support.held_answers import CASES, agent, retry_secrets


def create_platform(runnable: BaseRunnable[object]) -> Platform:
    return Platform(ScriptedModel("-"), store=MemoryStore()).register(runnable)


def find_id(platform: Platform) -> str:
    """Return the id of the only agent."""
    return next(iter(AgentService(platform).agents))


async def read_conversation(runnable: BaseRunnable[object]) -> str:
    """Return the text of an answer in a conversation, as it comes."""
    async with served(platform := create_platform(runnable)) as client:
        body = {"agent": find_id(platform), "message": "x"}
        headers = {"Accept": "text/event-stream"}
        answer = await client.post("/api/conversations/c/messages", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    blocks = [block.splitlines() for block in answer.text.split("\n\n")]
    events = [dict(line.split(": ", 1) for line in block if ": " in line) for block in blocks]
    pieces = [event for event in events if event.get("event") in ("text", "end")]
    return "".join(json.loads(piece["data"])["text"] for piece in pieces)


async def read_ag_ui(runnable: BaseRunnable[object], *, has_subagents: bool = False) -> str:
    """Return the texts of messages that a client of AG-UI shows, of subagents too if they count."""
    async with newsroom.served(platform := create_platform(runnable)) as client:
        events = await newsroom.run(client, find_id(platform), newsroom.ask("x"))
    pieces = (event for event in events if isinstance(event, TextMessageContentEvent))
    return "".join(piece.delta for piece in pieces if has_subagents or piece.subagent_run_id is None)


async def read_a2a(runnable: BaseRunnable[object]) -> str:
    """Return the texts of the pieces that a client of A2A gets."""
    async with (
        httpx.AsyncClient(timeout=10) as http,
        create_platform(runnable) as platform,
        serve_a2a(platform, runnable) as url,
    ):
        client = JsonRpc(http, url)
        events = [event async for event in client.stream("SendStreamingMessage", {"message": create_message("x")})]
    artifacts = [event["artifactUpdate"]["artifact"] for event in events if "artifactUpdate" in event]
    parts = [part for artifact in artifacts for part in artifact["parts"]]
    texts = (part["text"] if "text" in part else json.dumps(part["data"], separators=(",", ":")) for part in parts)
    return "".join(texts)


SURFACES: dict[str, Callable[[BaseRunnable[object]], Awaitable[str]]] = {
    "conversation": read_conversation,
    "AG-UI": read_ag_ui,
    "A2A": read_a2a,
}


@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("name", CASES)
async def test_nobody_sees_what_does_not_count(name: str, surface: str) -> None:
    if (name, surface) == ("review waits", "A2A"):
        pytest.skip("the stream of a task stays open while somebody of the program decides")
    assert "SECRET" not in (text := await SURFACES[surface](CASES[name].build()))
    if surface != "AG-UI":  # where the answer may be the message of a subagent
        assert (CASES[name].answer or "") in text


@pytest.mark.parametrize("name", CASES)
async def test_subagents_show_the_answer_and_nothing_that_was_refused(name: str) -> None:
    text = await read_ag_ui(CASES[name].build(), has_subagents=True)
    assert (CASES[name].answer or "") in text
    assert not CASES[name].is_refused or "SECRET" not in text


async def test_the_text_of_a_subagent_is_shown_while_nobody_can_refuse_it() -> None:
    draft = Task("draft", agent=agent("a draft", name="Drafter"))
    checked = Task("check", agent=agent("SECRET", "checked", name="Checker"), output_guardrails=[retry_secrets])
    ensemble = Ensemble("E", [draft, checked, Task("print", agent=agent("printed", name="Printer"))])
    assert await read_ag_ui(ensemble, has_subagents=True) == "a draftprinted"
