"""`Agent`, functions as Runnables, and names."""

from __future__ import annotations

import pytest

from tactician import Agent, Ensemble, RunContext, Runnable, Task, runnable, tool
from tactician.agents.function import FunctionRunnable
from tactician.errors import DeclarationError
from tactician.runs import RunCompleted, RunEnded, RunStarted
from tactician.testing import ScriptedModel, ToolCall
from tactician.text import snake_case


def system_of(model: ScriptedModel) -> str:
    """The instructions of the first call."""
    first = model.calls[0].messages[0]
    assert first.role == "system"
    return first.text


async def test_role_goal_and_background_are_instructions() -> None:
    model = ScriptedModel("fact")
    agent = Agent(role="Researcher", goal="Find facts", background="Ten years in libraries", model=model)
    await agent.run("frogs")
    assert system_of(model) == ("You are Researcher.\nTen years in libraries\nYour personal goal is: Find facts")
    assert (agent.name, agent.id, agent.description) == ("Researcher", "researcher", "Find facts")


@pytest.mark.parametrize("limit", ["max_turns", "max_attempts", "max_tool_calls", "max_tool_output_chars"])
async def test_a_limit_must_be_greater_than_zero(limit: str) -> None:
    with pytest.raises(DeclarationError, match=f"{limit} must be > 0, got: 0"):
        Agent("A", **{limit: 0})  # type: ignore[call-overload]


@pytest.mark.parametrize("part", ["role", "goal", "background"])
async def test_a_blank_part_of_the_instructions_is_a_mistake(part: str) -> None:
    with pytest.raises(DeclarationError, match=f"its {part} is blank"):
        Agent("Ada", **{part: "  "})  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [Agent, Ensemble])
async def test_an_input_without_a_json_form_is_a_clear_error(kind: type[object]) -> None:
    model = ScriptedModel("never")
    agent = Agent("Ada", model=model)
    run = agent.run if kind is Agent else Ensemble("E", [Task("Do it", agent=agent)]).run
    with pytest.raises(TypeError, match=r"a run takes text, a message, .*, and this object has none"):
        await run(object())
    assert model.calls == []


async def test_defaults_fill_in_what_an_agent_leaves_open() -> None:
    own, other = ScriptedModel("one", name="own"), ScriptedModel("two", '{"value": 3}', name="other")
    bound = Agent("Bound", model=own, output_type=str).with_defaults(int, model=other)
    free = Agent("Free").with_defaults(int, model=other, max_tool_calls=7)
    output: object = (await bound.run("go")).output
    assert output == "one"
    kind: object = bound.output_type
    assert kind is str
    assert (free.spec.model, free.spec.max_tool_calls, free.output_type) == (other, 7, int)


async def test_a_tool_of_an_agent_takes_the_place_of_a_further_one_with_its_name() -> None:
    def look() -> str:
        """Look here."""
        return "here"

    def find() -> str:
        """Find."""
        return "found"

    @tool(name="look")
    def look_elsewhere() -> str:
        """Look elsewhere."""
        return "elsewhere"

    agent = Agent("Ada", tools=[look])
    more = agent.with_defaults(more_tools=[look_elsewhere, find])
    assert [(one.name, one.description) for one in more.tools] == [("look", "Look here."), ("find", "Find.")]
    agent.replace_tools([])
    assert [one.description for one in more.tools] == ["Look elsewhere.", "Find."]


async def test_a_role_comes_before_instructions() -> None:
    model = ScriptedModel("fact")
    await Agent("Ada", role="Researcher", instructions="Be brief.", model=model).run("frogs")
    assert system_of(model) == "You are Researcher.\nBe brief."


async def test_an_agent_without_instructions_sends_none() -> None:
    model = ScriptedModel("fact")
    await Agent("Ada", model=model).run("frogs")
    assert [message.role for message in model.calls[0].messages] == ["user"]


def test_an_agent_needs_a_name_or_a_role() -> None:
    with pytest.raises(DeclarationError, match="it needs a name or a role"):
        Agent(instructions="Help.")


def test_names_and_descriptions_have_defaults() -> None:
    assert Agent("Front Desk", instructions="Help.").description == "Help."
    assert Agent("Front Desk").description == "Front Desk"
    assert Agent("Front Desk", description="d", goal="g").description == "d"
    assert Agent("Front Desk").id == "front_desk"
    assert Agent("Front Desk", id="desk").id == "desk"
    assert repr(Agent("Front Desk")) == "Agent('Front Desk')"


async def test_an_async_function_is_a_runnable() -> None:
    async def shout(text: object) -> str:
        """Says it loudly."""
        return f"{text}!"

    loud = runnable(shout)
    assert isinstance(loud, FunctionRunnable)
    assert isinstance(loud, Runnable)
    assert (loud.name, loud.description) == ("shout", "Says it loudly.")
    assert (await loud.run("hi", context=RunContext.over(ScriptedModel()))).output == "hi!"


async def test_a_function_can_be_named_and_described() -> None:
    async def undocumented(text: object) -> int:
        return 1

    assert runnable(undocumented).description == "undocumented"
    named = runnable(undocumented, name="One", description="Always one")
    assert (named.name, named.description) == ("One", "Always one")


async def test_a_function_streams_and_is_a_tool() -> None:
    async def shout(text: object) -> str:
        return f"{text}!"

    loud, context = runnable(shout), RunContext.over(ScriptedModel())
    events = [event async for event in loud.stream("hi", context=context)]
    assert [type(event) for event in events] == [RunStarted, RunEnded, RunCompleted]
    model = ScriptedModel(ToolCall("shout", request="hi"), "done")
    await Agent("Host", model=model, tools=[loud.as_tool()]).run("go")
    assert "hi!" in model.calls[1].prompt


async def test_what_a_function_raises_is_raised() -> None:
    async def fail(text: object) -> str:
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        await runnable(fail).run("hi", context=RunContext.over(ScriptedModel()))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Code Writer", "code_writer"),
        ("CodeWriter", "code_writer"),
        ("code-writer 2", "code_writer_2"),
        ("HTTPServer", "httpserver"),
        ("  Éclair!  ", "clair"),
        ("日本", "agent"),
        ("", "agent"),
        ("x" * 100, "x" * 64),
    ],
)
def test_names_become_names_of_tools(name: str, expected: str) -> None:
    assert snake_case(name) == expected
