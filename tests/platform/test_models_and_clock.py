"""What a platform is made of: models by name, and a clock."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tactician import Agent, Platform, log, tool
from tactician.cli.commands import app as command_line
from tactician.config.loading import load_settings
from tactician.errors import ConfigurationError, TacticianError
from tactician.events import Event
from tactician.stores import MemoryStore
from tactician.testing import FakeClock, ScriptedModel, ToolCall
from tests.support.chat_server import ChatServer, answers, completion


async def test_a_platform_takes_the_name_of_its_default_model(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChatServer(answers(completion("hello"))) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-this-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        platform = Platform("openai:chatty")
        assert (await Agent("A").run("hi", context=platform.context())).output == "hello"
    assert [request.body["model"] for request in server.received] == ["chatty"]


async def test_a_name_that_nobody_serves_says_so() -> None:
    with pytest.raises(TacticianError, match="nobody:model"):
        await Agent("A").run("hi", context=Platform("nobody:model").context())


def test_what_is_no_model_is_an_error_at_once() -> None:
    with pytest.raises(ConfigurationError, match="Models cannot come from an int"):
        Platform(3)  # type: ignore[arg-type]


async def test_the_clock_of_a_platform_is_that_of_its_events() -> None:
    clock, events = FakeClock(), list[Event]()
    began = clock.time()

    def hear(event: Event) -> None:
        events.append(event)
        clock.advance(60)

    platform = Platform(ScriptedModel("a", "b"), clock=clock, on_event=hear, store=MemoryStore())
    await Agent("A").run("hi", context=platform.context())
    assert events[0].time == began
    assert events[-1].time == began + 60 * (len(events) - 1)
    assert platform.services.clock is clock


async def test_a_tool_of_a_platform_times_out_by_its_clock() -> None:
    clock = FakeClock()

    @tool(timeout=30)
    async def dawdle() -> str:
        """Dawdle."""
        clock.advance(31)
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel(ToolCall("dawdle"), "done")
    agent = Agent("A", model=model, tools=[dawdle])
    result = await agent.run("hi", context=Platform(clock=clock, store=MemoryStore()).context())
    assert result.output == "done"
    assert "30" in model.calls[1].prompt


def test_a_server_plays_the_script_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "agents.py"
    file.write_text("from tactician import Agent\nagent = Agent('A')\n")
    result = CliRunner().invoke(command_line, ["serve", str(file), "--scripted"])
    assert "has no script" in str(result.exception)


def test_an_empty_variable_means_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tactician.toml").write_text('[platform]\npersonality = "starwars"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACTICIAN_CONFIG", raising=False)
    assert load_settings().platform.personality == "starwars"
    monkeypatch.setenv("TACTICIAN_CONFIG", "")
    assert load_settings().platform.personality is None


async def test_the_log_has_the_voice_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "tactician.toml").write_text('[platform]\npersonality = "nobody"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TACTICIAN_CONFIG", raising=False)
    with pytest.raises(ConfigurationError, match="'nobody'"):
        log.enable()
    log.enable(personality="plain")()
