"""How far a conversation goes before it is told to answer, and what happens then."""

from __future__ import annotations

import asyncio

import pytest
from pydantic import BaseModel

from tactician import Agent, RunContext, RunResult, tool
from tactician.llm import ToolResult, UserMessage
from tactician.runs import RunStatus, TurnLimitError
from tactician.testing import FakeClock, ScriptedModel, ToolCall


class Person(BaseModel):
    name: str


class Counter:
    """Tools that count their calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def step(self, n: int) -> str:
        self.calls.append(n)
        return f"done {n}"

    @tool(repeatable=True)
    def poll(self, n: int) -> str:
        self.calls.append(n)
        return "not yet"


def steps(*numbers: int) -> list[ToolCall]:
    return [ToolCall("step", n=n) for n in numbers]


def results_of(result: RunResult[object]) -> list[str]:
    return [message.content for message in result.messages if isinstance(message, ToolResult)]


class TestTurns:
    async def test_after_its_turns_the_model_is_told_to_answer_without_tools(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(1, 2), "the answer")

        result = await Agent("A", model=model, tools=[counter.step], max_turns=2).run("hi")

        assert result.output == "the answer"
        assert counter.calls == [1, 2]
        assert [call.tool_choice for call in model.calls] == ["auto", "auto", "none"]
        assert "Answer now" in str(model.calls[2].messages[-1])

    async def test_that_it_was_told_is_not_part_of_the_conversation(self) -> None:
        model = ScriptedModel(*steps(1), "the answer")

        result = await Agent("A", model=model, tools=[Counter().step], max_turns=1).run("hi")

        assert [m for m in result.messages if isinstance(m, UserMessage)] == [UserMessage("hi")]

    async def test_a_model_that_does_not_listen_is_told_again(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(1, 2, 3), "at last")

        result = await Agent("A", model=model, tools=[counter.step], max_turns=1).run("hi")

        assert result.output == "at last"
        assert counter.calls == [1]
        assert [text.partition(":")[0] for text in results_of(result)] == ["done 1", "STOP", "STOP"]

    async def test_the_third_time_that_it_does_not_listen_ends_the_run(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(1, 2, 3, 4))

        with pytest.raises(TurnLimitError, match="A: no answer within 1 turn; raise the limit") as raised:
            await Agent("A", model=model, tools=[counter.step], max_turns=1).run("hi")

        result = raised.value.result
        assert (result.status, result.output) == (RunStatus.FAILED, None)
        assert result.usage.requests == 4
        assert counter.calls == [1]
        model.assert_exhausted()

    async def test_answers_that_are_not_valid_are_turns_too(self) -> None:
        model = ScriptedModel("x", *steps(1), Person(name="A"))
        agent = Agent("A", model=model, tools=[Counter().step], output_type=Person, max_turns=2)

        assert (await agent.run("hi")).output == Person(name="A")
        assert [call.tool_choice for call in model.calls] == ["auto", "auto", "none"]

    async def test_each_run_counts_for_itself(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(1), "one", *steps(2), "two")
        agent = Agent("A", model=model, tools=[counter.step], max_turns=2)

        await agent.run("hi")

        assert (await agent.run("hi")).output == "two"
        assert {call.tool_choice for call in model.calls} == {"auto"}


class TestToolCalls:
    async def test_calls_over_the_limit_are_not_run_and_the_model_is_told_to_answer(self) -> None:
        counter, model = Counter(), ScriptedModel(steps(1, 2, 3), "the answer")
        agent = Agent("A", model=model, tools=[counter.step], max_tool_calls=2, parallel_tools=False)

        result = await agent.run("hi")

        assert counter.calls == [1, 2]
        assert results_of(result)[2] == "STOP: the limit of 2 tool calls is used up. Answer now, with what you have."
        assert model.calls[1].tool_choice == "none"

    async def test_the_third_refusal_ends_the_run(self) -> None:
        model = ScriptedModel(*steps(1, 2, 3, 4))

        with pytest.raises(TurnLimitError):
            await Agent("A", model=model, tools=[Counter().step], max_tool_calls=1).run("hi")

        assert len(model.calls) == 4


class TestRepetition:
    async def test_the_third_same_call_in_a_row_is_a_nudge_and_the_fourth_an_error(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(7, 7, 7, 7), "the answer")

        result = await Agent("A", model=model, tools=[counter.step]).run("hi")

        assert counter.calls == [7, 7]
        said = [message for message in result.messages if isinstance(message, ToolResult)]
        assert [one.is_error for one in said] == [False, False, False, True]
        assert said[2].content.startswith("You have called step with the same arguments 3 times in a row")
        assert said[3].content.startswith("Not run: step was called with the same arguments again")

    async def test_another_call_in_between_is_no_repetition(self) -> None:
        counter, model = Counter(), ScriptedModel(*steps(7, 7, 8, 7, 7), "the answer")

        await Agent("A", model=model, tools=[counter.step]).run("hi")

        assert counter.calls == [7, 7, 8, 7, 7]

    async def test_same_calls_in_one_turn_count_too(self) -> None:
        counter, model = Counter(), ScriptedModel(steps(7, 7, 7), "the answer")

        await Agent("A", model=model, tools=[counter.step], parallel_tools=False).run("hi")

        assert counter.calls == [7, 7]

    async def test_a_tool_that_is_repeatable_may_be_repeated(self) -> None:
        counter, model = Counter(), ScriptedModel(*[ToolCall("poll", n=1)] * 5, "the answer")

        await Agent("A", model=model, tools=[counter.poll]).run("hi")

        assert len(counter.calls) == 5


class TestTime:
    async def test_a_tool_that_takes_too_long_is_cancelled_and_the_model_reads_so(self) -> None:
        cancelled = asyncio.Event()

        async def hang() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        model = ScriptedModel(ToolCall("hang"), "the answer")
        result = await Agent("A", model=model, tools=[hang], tool_timeout=0.01).run("hi")

        assert results_of(result) == ["hang did not answer within 0.01 seconds."]
        assert cancelled.is_set()

    async def test_the_limit_is_by_the_clock_of_the_run(self) -> None:
        clock = FakeClock()

        async def sleep() -> None:
            await clock.sleep(100)

        agent = Agent("A", model=(model := ScriptedModel(ToolCall("sleep"), "x")), tools=[sleep], tool_timeout=60)
        result = await agent.run("hi", context=RunContext.over(model, clock=clock))

        assert results_of(result) == ["sleep did not answer within 60 seconds."]

    async def test_a_tool_may_have_a_limit_of_its_own(self) -> None:
        @tool(timeout=0.01)
        async def hang() -> None:
            await asyncio.Event().wait()

        result = await Agent("A", model=ScriptedModel(ToolCall("hang"), "x"), tools=[hang], tool_timeout=60).run("hi")

        assert results_of(result) == ["hang did not answer within 0.01 seconds."]

    async def test_a_timeout_inside_a_tool_is_the_tools_own(self) -> None:
        def give_up() -> None:
            raise TimeoutError("the database is slow")

        agent = Agent("A", model=ScriptedModel(ToolCall("give_up"), "x"), tools=[give_up], tool_timeout=60)

        assert results_of(await agent.run("hi")) == ["TimeoutError: the database is slow"]


class TestLongOutput:
    async def test_what_is_too_long_is_cut_off(self) -> None:
        def dump() -> str:
            return "x" * 100

        agent = Agent("A", model=ScriptedModel(ToolCall("dump"), "x"), tools=[dump], max_tool_output_tokens=10)

        assert results_of(await agent.run("hi")) == ["x" * 40 + "... [trimmed: output exceeded 10 token limit]"]

    async def test_what_just_fits_stays(self) -> None:
        def dump() -> str:
            return "x" * 40

        agent = Agent("A", model=ScriptedModel(ToolCall("dump"), "x"), tools=[dump], max_tool_output_tokens=10)

        assert results_of(await agent.run("hi")) == ["x" * 40]


class TestEnding:
    async def test_return_direct_makes_the_result_the_answer(self) -> None:
        @tool(return_direct=True)
        def look_up(n: int) -> str:
            return f"row {n}"

        model = ScriptedModel(ToolCall("look_up", n=3))

        assert (await Agent("A", model=model, tools=[look_up]).run("hi")).output == "row 3"

    async def test_return_direct_gives_typed_answers(self) -> None:
        @tool(return_direct=True)
        def find() -> Person:
            return Person(name="Ada")

        model = ScriptedModel(ToolCall("find"))

        assert (await Agent("A", model=model, tools=[find], output_type=Person).run("hi")).output == Person(name="Ada")

    async def test_what_is_not_of_the_type_goes_back_to_the_model(self) -> None:
        @tool(return_direct=True)
        def find() -> str:
            return "nobody"

        model = ScriptedModel(ToolCall("find"), Person(name="Ada"))
        result = await Agent("A", model=model, tools=[find], output_type=Person).run("hi")

        assert result.output == Person(name="Ada")
        assert "That is not a valid Person" in model.calls[1].prompt

    async def test_ends_turn_gives_the_text_of_the_model_or_else_the_result(self) -> None:
        @tool(ends_turn=True)
        def ask_user(question: str) -> str:
            return f"asked: {question}"

        model = ScriptedModel(ToolCall("ask_user", question="Who?"))

        assert (await Agent("A", model=model, tools=[ask_user]).run("hi")).output == "asked: Who?"

    async def test_a_tool_that_fails_ends_nothing(self) -> None:
        @tool(return_direct=True)
        def find() -> str:
            raise LookupError("nobody")

        model = ScriptedModel(ToolCall("find"), "I found nobody")

        assert (await Agent("A", model=model, tools=[find]).run("hi")).output == "I found nobody"

    async def test_the_other_calls_of_the_turn_are_run_before(self) -> None:
        counter = Counter()

        @tool(return_direct=True)
        def finish() -> str:
            return "finished"

        model = ScriptedModel([ToolCall("finish"), ToolCall("step", n=1)])
        result = await Agent("A", model=model, tools=[finish, counter.step]).run("hi")

        assert (result.output, counter.calls) == ("finished", [1])
        assert results_of(result) == ["finished", "done 1"]


class TestArguments:
    @pytest.mark.parametrize(
        "written",
        [
            '{"n": 1,}',
            "{'n': 1}",
            '```json\n{"n": 1}\n```',
            '"{\\"n\\": 1}"',
            "{n: 1}",
        ],
    )
    async def test_arguments_are_repaired_where_it_is_clear_what_is_meant(self, written: str) -> None:
        from tactician.llm import AssistantMessage, ModelResponse
        from tactician.llm import ToolCall as Called

        counter = Counter()
        call = ModelResponse(AssistantMessage((Called("1", "step", written),)), finish_reason="tool_calls")
        result = await Agent("A", model=ScriptedModel(call, "ok"), tools=[counter.step]).run("hi")

        assert counter.calls == [1]
        assert results_of(result) == ["done 1"]

    @pytest.mark.parametrize("written", ['{"n": 1', '{"n": "one"}', "[1]", "hello", '{"m": 1}'])
    async def test_others_go_back_to_the_model(self, written: str) -> None:
        from tactician.llm import AssistantMessage, ModelResponse
        from tactician.llm import ToolCall as Called

        counter = Counter()
        call = ModelResponse(AssistantMessage((Called("1", "step", written),)), finish_reason="tool_calls")
        result = await Agent("A", model=ScriptedModel(call, "ok"), tools=[counter.step]).run("hi")

        assert counter.calls == []
        assert results_of(result)[0].startswith("The arguments are not valid")


async def test_a_thousand_runs_at_once_share_nothing() -> None:
    def double(n: int) -> int:
        return 2 * n

    agent = Agent("A", tools=[double])

    async def one(n: int) -> str:
        model = ScriptedModel(ToolCall("double", n=n), f"it is {2 * n}")
        result = await agent.run(f"double {n}", context=RunContext.over(model))
        assert results_of(result) == [str(2 * n)]
        assert result.messages[0] == UserMessage(f"double {n}")
        assert result.usage.requests == 2
        return result.output

    outputs = await asyncio.gather(*(one(n) for n in range(1000)))

    assert outputs == [f"it is {2 * n}" for n in range(1000)]
