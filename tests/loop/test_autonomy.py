"""Agents that work on their own until they say that they are done."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from tactician import Agent, Autonomous, RunContext, tool
from tactician.errors import DeclarationError
from tactician.events import Event
from tactician.llm import ModelRequest, ModelResponse, ToolResult, UserMessage
from tactician.loop import ToolReturned
from tactician.runs import OutputError, TurnLimitError
from tactician.testing import FakeClock, ScriptedModel, ToolCall

NUDGE = "Continue with the task. When you are done, call the 'task_over' function with the final result."


class Research(BaseModel):
    topic: str
    findings: list[str]


def search(query: str) -> str:
    return f"found {query}"


@tool(ends_turn=True)
def ask_user(question: str) -> str:
    return "asked"


@tool(group="fs")
def write_file(text: str) -> str:
    return "written"


@tool(group="default")
def think(thought: str) -> str:
    return "ok"


def tool_names(request: ModelRequest) -> list[str]:
    return [spec.name for spec in request.tools]


DONE = ToolCall("task_over", topic="sun", findings=["hot"])


class TestTaskOver:
    async def test_its_arguments_are_the_answer(self) -> None:
        model = ScriptedModel(ToolCall("search", query="sun"), DONE)
        agent = Agent("R", model=model, tools=[search], output_type=Research, autonomy=Autonomous())

        assert (await agent.run("go")).output == Research(topic="sun", findings=["hot"])

    async def test_its_schema_is_that_of_the_output_type_and_no_reply_is_asked_for(self) -> None:
        model = ScriptedModel(DONE)
        await Agent("R", model=model, output_type=Research, autonomy=Autonomous()).run("go")

        (spec,) = model.calls[0].tools
        assert spec.name == "task_over"
        assert set(dict(spec.parameters)["properties"]) == {"topic", "findings"}  # type: ignore[call-overload]
        assert model.calls[0].output is None
        assert "task_over" in str(model.calls[0].messages[0])

    async def test_without_an_output_type_it_takes_nothing_and_the_answer_is_what_it_was_given(self) -> None:
        model = ScriptedModel(ToolCall("task_over"))
        result = await Agent("R", model=model, autonomy=Autonomous()).run("go")

        assert result.output == "{}"
        assert model.calls[0].tools[0].parameters["properties"] == {}

    async def test_arguments_that_are_not_valid_go_back_and_the_loop_goes_on(self) -> None:
        model = ScriptedModel(ToolCall("task_over", topic="sun"), DONE)
        result = await Agent("R", model=model, output_type=Research, autonomy=Autonomous()).run("go")

        said = [message for message in result.messages if isinstance(message, ToolResult)]
        assert said[0].is_error
        assert "findings: Field required" in said[0].content
        assert result.output.topic == "sun"

    async def test_the_other_calls_of_its_turn_are_run_first(self) -> None:
        model = ScriptedModel([DONE, ToolCall("search", query="moon")])
        agent = Agent("R", model=model, tools=[search], output_type=Research, autonomy=Autonomous())

        result = await agent.run("go")

        assert [m.content for m in result.messages if isinstance(m, ToolResult)] == ["done", "found moon"]

    async def test_it_is_given_only_when_nothing_else_ends_the_turn(self) -> None:
        model = ScriptedModel(ToolCall("ask_user", question="who?"))
        result = await Agent("R", model=model, tools=[ask_user], autonomy=Autonomous()).run("go")

        assert tool_names(model.calls[0]) == ["ask_user"]
        assert result.output == "asked"

    async def test_a_tool_that_ends_the_turn_but_is_not_shown_does_not_count(self) -> None:
        @tool(ends_turn=True, group="chat")
        def bye() -> str:
            return "bye"

        model = ScriptedModel(ToolCall("task_over"))
        await Agent("R", model=model, tools=[bye], autonomy=Autonomous(enabled_tool_groups={"fs"})).run("go")

        assert tool_names(model.calls[0]) == ["task_over"]


class TestReplies:
    async def test_a_reply_is_thinking_aloud_and_the_model_is_told_to_go_on(self) -> None:
        model = ScriptedModel("let me think", DONE)
        result = await Agent("R", model=model, output_type=Research, autonomy=Autonomous()).run("go")

        assert result.messages[2] == UserMessage(NUDGE)
        assert result.output.topic == "sun"

    async def test_a_reply_that_is_the_answer_already_ends_the_run(self) -> None:
        model = ScriptedModel('```json\n{"topic": "sun", "findings": []}\n```')
        result = await Agent("R", model=model, output_type=Research, autonomy=Autonomous()).run("go")

        assert result.output == Research(topic="sun", findings=[])

    async def test_end_turn_on_plain_reply(self) -> None:
        model = ScriptedModel(ToolCall("search", query="x"), "Here you are.")
        agent = Agent("R", model=model, tools=[search], autonomy=Autonomous(end_turn_on_plain_reply=True))

        assert (await agent.run("go")).output == "Here you are."


class TestIterations:
    async def test_when_there_were_too_many_it_begins_anew_once(self) -> None:
        model = ScriptedModel("a", "b", "c", DONE)
        agent = Agent("R", model=model, output_type=Research, autonomy=Autonomous(max_iterations=2))

        result = await agent.run("go")

        assert [type(message).__name__ for message in model.calls[2].messages] == ["SystemMessage", "UserMessage"]
        assert len(result.messages) == 5, "what was said before it began anew is gone"
        assert result.usage.requests == 4, "but not what it cost"

    async def test_and_then_fails(self) -> None:
        model = ScriptedModel(*"abcd")
        with pytest.raises(TurnLimitError, match="R: no answer within 2 turns"):
            await Agent("R", model=model, autonomy=Autonomous(max_iterations=2)).run("go")
        model.assert_exhausted()

    async def test_how_often_it_begins_anew_can_be_said(self) -> None:
        model = ScriptedModel(*"ab")
        with pytest.raises(TurnLimitError):
            await Agent("R", model=model, autonomy=Autonomous(max_iterations=2, retries=0)).run("go")
        model.assert_exhausted()

    async def test_it_may_go_on_without_a_limit(self) -> None:
        model = ScriptedModel(*["thinking"] * 60, DONE)
        autonomy = Autonomous(max_iterations=None)

        result = await Agent("R", model=model, output_type=Research, autonomy=autonomy).run("go")

        assert result.usage.requests == 61

    def test_numbers_that_are_not_possible(self) -> None:
        with pytest.raises(DeclarationError, match=r"max_iterations must be at least 1, or None\n.*keep_last must be"):
            Autonomous(max_iterations=0, keep_last=0)


class TestToolGroups:
    @pytest.mark.parametrize(
        ("enabled", "shown"),
        [
            (None, ["search", "write_file", "think"]),
            (set(), ["search", "think"]),
            ({"fs"}, ["search", "write_file", "think"]),
            ({"other"}, ["search", "think"]),
        ],
    )
    async def test_a_model_is_shown_the_tools_of_enabled_groups_and_of_none(
        self, enabled: set[str] | None, shown: list[str]
    ) -> None:
        model = ScriptedModel(ToolCall("task_over"))
        autonomy = Autonomous(enabled_tool_groups=enabled)

        await Agent("R", model=model, tools=[search, write_file, think], autonomy=autonomy).run("go")

        assert tool_names(model.calls[0]) == [*shown, "task_over"]

    async def test_a_hidden_tool_can_be_called_all_the_same(self) -> None:
        model = ScriptedModel(ToolCall("write_file", text="x"), ToolCall("task_over"))
        autonomy = Autonomous(enabled_tool_groups=set())

        result = await Agent("R", model=model, tools=[write_file], autonomy=autonomy).run("go")

        assert next(m.content for m in result.messages if isinstance(m, ToolResult)) == "written"


class TestLiveTools:
    async def test_tools_that_are_replaced_during_a_run_are_there_in_its_next_turn(self) -> None:
        def new_tool() -> str:
            return "new"

        def swap() -> str:
            agent.replace_tools([new_tool])
            return "swapped"

        model = ScriptedModel(ToolCall("swap"), ToolCall("new_tool"), ToolCall("task_over"))
        agent = Agent("R", tools=[swap], autonomy=Autonomous())

        result = await agent.run("go", context=RunContext.over(model))

        assert [tool_names(call) for call in model.calls] == [
            ["swap", "task_over"], ["new_tool", "task_over"], ["new_tool", "task_over"],
        ]  # fmt: skip
        assert [m.content for m in result.messages if isinstance(m, ToolResult)] == ["swapped", "new", "done"]

    async def test_without_autonomy_too(self) -> None:
        def swap() -> str:
            agent.replace_tools([])
            return "swapped"

        model = ScriptedModel(ToolCall("swap"), "done")
        agent = Agent("R", tools=[swap])
        await agent.run("go", context=RunContext.over(model))

        assert [tool_names(call) for call in model.calls] == [["swap"], []]

    def test_a_mistake_changes_nothing(self) -> None:
        agent = Agent("R", tools=[search])
        with pytest.raises(DeclarationError):
            agent.replace_tools([search, search])
        assert [one.name for one in agent.tools] == ["search"]


class SlowModel(ScriptedModel):
    """Every call takes a second."""

    def __init__(self, clock: FakeClock, *steps: object) -> None:
        super().__init__(*steps)
        self._clock = clock

    async def generate(self, request: ModelRequest) -> ModelResponse:
        self._clock.advance(1)
        return await super().generate(request)


async def test_iterations_begin_at_least_so_long_after_each_other() -> None:
    clock = FakeClock()
    model = SlowModel(clock, "a", "b", ToolCall("task_over"))
    agent = Agent("R", autonomy=Autonomous(min_iteration_interval=3.0))

    await agent.run("go", context=RunContext.over(model, clock=clock))

    assert clock.slept == [2.0, 2.0]


class TestInfinite:
    async def test_task_over_is_not_offered_and_an_imagined_one_is_an_error(self) -> None:
        model, events = ScriptedModel(ToolCall("task_over"), "still here"), list[Event]()
        agent = Agent("R", tools=[search], autonomy=Autonomous(infinite=True, max_iterations=2, retries=0))

        with pytest.raises(TurnLimitError):
            await agent.run("go", context=RunContext.over(model, events.append))

        assert tool_names(model.calls[0]) == ["search"]
        (returned,) = [event for event in events if isinstance(event, ToolReturned)]
        assert returned.result.is_error
        assert "There is no tool 'task_over'" in returned.result.content

    async def test_it_ends_by_cancellation(self) -> None:
        seen = 0

        class Endless(ScriptedModel):
            async def generate(self, request: ModelRequest) -> ModelResponse:
                nonlocal seen
                seen += 1
                if seen == 40:
                    task.cancel()
                await asyncio.sleep(0)
                self.script("thinking")
                return await super().generate(request)

        agent = Agent("R", autonomy=Autonomous(infinite=True, max_iterations=None))
        task = asyncio.ensure_future(agent.run("go", context=RunContext.over(Endless())))

        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == 40


async def test_long_tool_results_are_cut_off() -> None:
    def dump() -> str:
        return "x" * 1000

    model = ScriptedModel(ToolCall("dump"), ToolCall("task_over"))
    result = await Agent("R", model=model, tools=[dump], autonomy=Autonomous(max_tool_output_tokens=5)).run("go")

    content = next(m.content for m in result.messages if isinstance(m, ToolResult))
    assert content == "x" * 20 + "... [trimmed: output exceeded 5 token limit]"


class TestToolCallLimit:
    async def test_when_the_tool_calls_are_used_up_the_next_reply_is_the_answer(self) -> None:
        model = ScriptedModel(ToolCall("search", query="a"), "all that I found")
        agent = Agent("R", model=model, tools=[search], autonomy=Autonomous(), max_tool_calls=1)

        assert (await agent.run("go")).output == "all that I found"
        assert model.calls[1].tool_choice == "none"

    async def test_one_that_is_not_valid_goes_back_and_not_without_an_end(self) -> None:
        model = ScriptedModel(ToolCall("search", query="a"), "one", "two", "three")
        agent = Agent("R", model=model, tools=[search], output_type=Research, autonomy=Autonomous(), max_tool_calls=1)

        with pytest.raises(OutputError, match="no valid Research in 3 attempts"):
            await agent.run("go")
