"""What a server sends of a run says nothing that the run does not want captured, and no secrets."""

from __future__ import annotations

import httpx
import pytest

from tactician import Agent, Ensemble, Platform, Task, tool
from tactician.runs.context.telemetry import load_capture_mode
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.serve.api.serving import find, served, start

KEY = "sk-abcdefghijklmnop1234"


@tool
def look_up(topic: str) -> str:
    """Look a topic up."""
    return f"{topic} have no ears, says the librarian with the key {KEY}"


def create_newsroom(capture: str | None) -> Ensemble:
    model = ScriptedModel(ToolCall("look_up", topic="frogs"), "They hear with their lungs.")
    task = Task("Ask the librarian", id="ask", agent=Agent(role="Reporter", tools=[look_up]))
    return Ensemble("Newsroom", [task], model=model, capture=capture)


async def read_all(client: httpx.AsyncClient, run_id: str) -> dict[str, str]:
    """Return all that the server sends of a run, by the place."""
    places = ("details", "steps", "trace", "events", "events?brief=true")
    answers = {place: await client.get(f"/api/runs/{run_id}/{place}") for place in places}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {place: answer.text for place, answer in answers.items()}


async def run_newsroom(capture: str | None) -> tuple[dict[str, str], dict[str, str], str]:
    """Return what a server sends of a run; what another one with its store does; and the page of the run."""
    store = MemoryStore()
    platform = Platform(ScriptedModel(), store=store).register(create_newsroom(capture))
    async with served(platform) as client:
        run_id = await start(client, "newsroom", {})
        await find(client, run_id, "completed")
        sent = await read_all(client, run_id)
    other = Platform(ScriptedModel(), store=store).register(create_newsroom(capture))
    async with served(other) as client:
        return sent, await read_all(client, run_id), (await other.trace(run_id)).to_html()


async def test_a_run_that_is_not_captured_shows_what_it_did_without_words() -> None:
    sent, stored, page = await run_newsroom("off")

    for place, text in [*sent.items(), *((f"stored {place}", text) for place, text in stored.items()), ("page", page)]:
        assert "no ears" not in text, place
        assert "frogs" not in text, place
        assert KEY not in text, place
    for place in ("trace", "events"):
        assert "look_up" in sent[place], place
        assert "look_up" in stored[place], place
    assert "look_up" in page


@pytest.mark.parametrize("capture", [None, "standard", "full"])
async def test_secrets_are_masked_in_all_that_is_captured(capture: str | None) -> None:
    sent, stored, page = await run_newsroom(capture)

    for place, text in [*sent.items(), *((f"stored {place}", text) for place, text in stored.items()), ("page", page)]:
        assert KEY not in text, place
    for place in ("trace", "events", "events?brief=true"):
        assert "frogs have no ears, says the librarian with the key ***" in sent[place], place
        assert "frogs have no ears, says the librarian with the key ***" in stored[place], place
    assert "frogs have no ears" in page


async def test_the_setting_counts_for_runs_that_do_not_say_it(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = Agent("Clerk", model=ScriptedModel(ToolCall("look_up", topic="frogs"), "No ears."), tools=[look_up])
    monkeypatch.setenv("TACTICIAN_CAPTURE", "off")
    load_capture_mode.cache_clear()
    try:
        async with served(Platform(ScriptedModel(), store=MemoryStore()).register(agent)) as client:
            run_id = await start(client, "clerk", "What about frogs?")
            shown = await find(client, run_id, "completed")
            sent = await read_all(client, run_id)
    finally:
        monkeypatch.undo()
        load_capture_mode.cache_clear()

    assert shown["result"] == "No ears."
    assert [place for place, text in sent.items() if "frogs" in text] == []
