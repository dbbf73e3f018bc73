"""The log of events: one line for each, by the standard library."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator

import pytest

import tactician
from tactician import Agent, Platform, RunContext, UserInput, achieves_goal, action, planned_agent
from tactician.errors import ConfigurationError, ModelServerError
from tactician.llm import ToolCall as CalledTool
from tactician.log import LogLevel, log_event
from tactician.loop import ToolCalled
from tactician.testing import ScriptedModel, ToolCall


@planned_agent(description="echoes", name="Echo")
class Echo:
    @achieves_goal("echoed")
    @action
    def echo(self, topic: UserInput) -> str:
        return "secret answer"


def look(name: str) -> str:
    """Look."""
    return "secret result"


def fail() -> str:
    """Fail."""
    raise ValueError("secret reason")


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Iterator[list[str]]:
    """The lines that were logged."""
    found: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(f"{record.levelname} {record.getMessage()}")

    handler, logger = Handler(), logging.getLogger("tactician.log")
    logger.addHandler(handler)
    before = logger.level
    yield found
    logger.removeHandler(handler)
    logger.setLevel(before)


async def run_host(level: LogLevel) -> None:
    scout = Agent("Scout", model=ScriptedModel("seen"))
    calls = [ToolCall("look", name="secret name"), ToolCall("scout", request="go"), ToolCall("fail")]
    agent = Agent("Host", model=ScriptedModel(calls, "secret answer"), tools=[look, scout.as_tool(), fail])
    disable = tactician.log.enable(level)
    try:
        await agent.run("secret question", context=RunContext.over(ScriptedModel()))
    finally:
        disable()


def without_seconds(lines: list[str]) -> list[str]:
    return [line.partition(", ")[0] for line in lines]


async def test_runs_tools_and_errors_are_at_info(lines: list[str]) -> None:
    await run_host("info")

    assert without_seconds(lines) == [
        "INFO Host: starts",
        "INFO Host: calls look",
        "INFO Host: look is done",
        "INFO Host: calls scout",
        "INFO Host / Scout: starts",
        "INFO Host / Scout: has completed",
        "INFO Host: scout is done",
        "INFO Host: calls fail",
        "WARNING Host: fail failed",
        "INFO Host: has completed",
    ]


async def test_model_calls_are_at_debug(lines: list[str]) -> None:
    await run_host("debug")

    assert "DEBUG Host: turn 1 asks scripted" in lines
    assert any(line.startswith("DEBUG Host: scripted answers, 0.") and "10 tokens in" in line for line in lines)


async def test_only_what_fails_is_at_warning(lines: list[str]) -> None:
    await run_host("warning")

    assert without_seconds(lines) == ["WARNING Host: fail failed"]


@pytest.mark.parametrize("level", ["debug", "info"])
async def test_no_line_has_content(level: LogLevel, lines: list[str]) -> None:
    await run_host(level)

    assert lines
    assert "secret" not in "\n".join(lines)


async def test_a_process_says_its_plans_and_actions_once(lines: list[str]) -> None:
    disable = tactician.log.enable("info")
    platform = Platform(ScriptedModel()).register(Echo())
    await platform.find_agent("Echo").run("frogs", context=platform.context())
    disable()

    assert without_seconds(lines) == [
        "INFO Echo: starts towards echo",
        "INFO Echo: plans echo",
        "INFO Echo: echo starts",
        "INFO Echo: echo gave str",
        "INFO Echo: has completed",
    ]


async def test_an_error_is_logged_with_its_run(lines: list[str]) -> None:
    disable = tactician.log.enable("error")
    model = ScriptedModel(ModelServerError("the server is down"))
    with pytest.raises(ModelServerError):
        await Agent("Host", model=model).run("hi")
    disable()

    (line,) = lines
    assert line.startswith("ERROR Host: has failed")
    assert line.endswith("ModelServerError: the server is down")


async def test_nothing_is_logged_once_it_is_disabled_and_nothing_twice(lines: list[str]) -> None:
    first, second = tactician.log.enable("info"), tactician.log.enable("info")
    await Agent("Host", model=ScriptedModel("hello")).run("hi")
    assert without_seconds(lines) == ["INFO Host: starts", "INFO Host: has completed"]
    first()
    second()
    await Agent("Host", model=ScriptedModel("hello")).run("hi")
    assert len(lines) == 2


def test_a_line_stays_one_line_and_commands_no_terminal(lines: list[str]) -> None:
    logging.getLogger("tactician.log").setLevel(logging.INFO)
    log_event(ToolCalled(call=CalledTool("1", "look\nERROR Host: has failed\x1b[2J" + "x" * 1000), path=("Host",)))

    (line,) = lines
    assert line.startswith("INFO Host: calls look ERROR Host: has failed\\x1b[2J")
    assert "\n" not in line
    assert len(line) < 600


def test_a_level_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="no level 'loud': choose from debug, info"):
        tactician.log.enable("loud")  # type: ignore[arg-type]


PROGRAM = """
import tactician
from tactician import Agent
from tactician.testing import ScriptedModel
tactician.log.enable("info")
Agent("Host", model=ScriptedModel("hello")).run_sync("hi")
"""


def test_a_program_that_has_configured_no_logging_sees_the_lines() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)

    first, last = done.stderr.splitlines()
    assert first.endswith("INFO    Host: starts")
    assert "INFO    Host: has completed, 0." in last


async def test_a_personality_tells_of_processes_with_the_facts_behind(lines: list[str]) -> None:
    disable = tactician.log.enable("info", personality="starwars")
    try:
        await Platform(models=ScriptedModel()).start(Echo(), UserInput("hello"))
    finally:
        disable()
        tactician.log.enable("info")()
    assert lines[0] == "INFO Echo: Echo leaves the hangar, course set for echo (starts towards echo)"
    assert any(line.startswith("INFO Echo: echo: a direct hit (echo gave str, ") for line in lines)
    assert lines[-1].startswith("INFO Echo: the Force was strong with this one (has completed, ")
    with pytest.raises(ConfigurationError, match="There is no personality 'pirate'"):
        tactician.log.enable(personality="pirate")
