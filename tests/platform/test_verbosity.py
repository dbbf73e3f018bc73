"""What the log is told of a process, as its options say."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import pytest

from tactician import (
    Agent,
    Ai,
    PlannedAgent,
    Platform,
    ProcessOptions,
    UserInput,
    achieves_goal,
    action,
    ask_human,
    planned_agent,
    tool,
)
from tactician.process import OperationContext, Verbosity
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tests.support.failures import without_lines


@dataclass(frozen=True)
class Facts:
    text: str


@dataclass(frozen=True)
class Poem:
    text: str


@tool
def look_up(subject: str) -> str:
    """Looks something up."""
    return f"{subject} hop"


@planned_agent(description="writes poems")
class Poet:
    @action
    async def research(self, topic: UserInput, context: OperationContext) -> Facts:
        result = await Agent("Scholar", tools=[look_up]).run(topic.content, context=context.run)
        return Facts(result.output)

    @achieves_goal("a poem")
    @action
    async def rhyme(self, facts: Facts, ai: Ai) -> Poem:
        return Poem(await ai.generate_text(f"Rhyme on {facts.text}"))


STEPS = (ToolCall("look_up", subject="frogs"), "Frogs hop.", "Frogs hop, they never stop.")


async def told(caplog: pytest.LogCaptureFixture, verbosity: Verbosity | None) -> list[str]:
    with caplog.at_level(logging.INFO, logger="tactician"):
        platform = Platform(models=ScriptedModel(*STEPS))
        await platform.start(Poet(), "about frogs", options=ProcessOptions(verbosity=verbosity))
    return [record.getMessage() for record in caplog.records]


async def test_nothing_is_told_unless_it_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    assert await told(caplog, None) == []


async def test_its_actions_and_its_end_are_told_with_what_they_used(caplog: pytest.LogCaptureFixture) -> None:
    lines = await told(caplog, Verbosity())
    cut = [line.rpartition(", ")[0].rpartition(", ")[0] or line for line in lines]
    assert cut == [
        "Poet: starts towards rhyme",
        "Poet: research starts",
        "Poet: research gave Facts",
        "Poet: rhyme starts",
        "Poet: rhyme gave Poem",
        "Poet: has completed",
    ]
    assert lines[-1].endswith(" s, 45 tokens")
    assert {record.levelname for record in caplog.records} == {"INFO"}
    assert {record.name for record in caplog.records} == {"tactician.process"}


async def test_prompts_are_told_where_they_are_new(caplog: pytest.LogCaptureFixture) -> None:
    lines = [line for line in await told(caplog, Verbosity(prompts=True)) if "prompt to" in line]
    assert lines == [
        "Poet / research / Scholar: prompt to scripted\nabout frogs",
        "Poet / research / Scholar: prompt to scripted\nfrogs hop",
        "Poet / rhyme: prompt to scripted\nRhyme on Frogs hop.",
    ]


async def test_responses_are_told_with_the_tools_that_are_called(caplog: pytest.LogCaptureFixture) -> None:
    lines = [line for line in await told(caplog, Verbosity(responses=True)) if "response of" in line]
    assert lines == [
        'Poet / research / Scholar: response of scripted\nlook_up({"subject":"frogs"})',
        "Poet / research / Scholar: response of scripted\nFrogs hop.",
        "Poet / rhyme: response of scripted\nFrogs hop, they never stop.",
    ]


async def test_plans_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    lines = [line for line in await told(caplog, Verbosity(plans=True)) if "plans" in line]
    assert lines == ["Poet: plans research -> rhyme"]


async def test_everything_else_is_for_debugging(caplog: pytest.LogCaptureFixture) -> None:
    lines = await told(caplog, Verbosity(debug=True))
    called = [line for line in lines if line.startswith("Poet / research / Scholar: Tool")]
    assert [line.partition("(")[0].rpartition(" ")[2] for line in called] == ["ToolCalled", "ToolReturned"]
    assert not any("prompt to" in line or "response of" in line or "plans" in line for line in lines)


async def test_answers_that_come_in_pieces_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    context = Platform(models=ScriptedModel(*STEPS)).context().with_listeners(lambda event: None, streaming=True)
    options = ProcessOptions(verbosity=Verbosity(responses=True, debug=True))
    with caplog.at_level(logging.INFO, logger="tactician"):
        await PlannedAgent(Poet()).create_process("about frogs", context=context, options=options).run()
    lines = [record.getMessage() for record in caplog.records]
    assert sum("they never stop" in line for line in lines) == 1


@planned_agent(description="fails")
class Failing:
    @achieves_goal("never")
    @action
    def fail(self, topic: UserInput) -> Poem:
        raise ValueError("no rhyme")


async def test_why_it_failed_is_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tactician"):
        await Platform(models=ScriptedModel()).start(Failing(), "x", options=ProcessOptions(verbosity=Verbosity()))
    *_, acted, ended = (record.getMessage() for record in caplog.records)
    assert acted.startswith("Failing: fail raised ValueError: no rhyme, ")
    assert ended.startswith("Failing: has failed, ")
    assert without_lines(ended).endswith(": fail raised ValueError: no rhyme")


@planned_agent(description="only asks")
class Asker:
    @action
    async def ask(self, topic: UserInput) -> Poem | None:
        return Poem(await ask_human(str, topic.content)) if topic.content else None

    @achieves_goal("nothing came of it")
    @action(pre=["expr: poem.text == 'x'"])
    def give_up(self, poem: Poem) -> None: ...


async def test_an_action_that_gives_nothing_is_told_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tactician"):
        await Platform(models=ScriptedModel()).start(Asker(), "", options=ProcessOptions(verbosity=Verbosity()))
    assert any(record.getMessage().startswith("Asker: ask gave nothing, ") for record in caplog.records)


async def test_where_it_goes_on_it_is_told_too(caplog: pytest.LogCaptureFixture) -> None:
    store, options = MemoryStore(), ProcessOptions(verbosity=Verbosity())
    first = Platform(models=ScriptedModel(), store=store).register(Asker())
    process = await first.start("Asker", "a poem?", options=options)
    second = Platform(models=ScriptedModel(), store=store).register(Asker())
    with caplog.at_level(logging.INFO, logger="tactician"):
        await second.respond(process.id, process.pending[0].id, "roses")
    assert any(record.getMessage().startswith("Asker: ask gave Poem, ") for record in caplog.records)


async def test_what_an_action_sends_is_told(caplog: pytest.LogCaptureFixture) -> None:
    @planned_agent(description="tells how it goes on")
    class Teller:
        @achieves_goal("told")
        @action
        def tell(self, topic: UserInput, context: OperationContext) -> Facts:
            context.send(f"I know about {topic.content}.")
            return Facts("hop")

    with caplog.at_level(logging.INFO, logger="tactician"):
        await Platform(ScriptedModel()).start(Teller(), "frogs", options=ProcessOptions(verbosity=Verbosity()))
    assert "Teller / tell: says I know about frogs." in caplog.messages
