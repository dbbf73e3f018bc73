"""The turn loop: ask, run tools, ask again, until there is an answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from pydantic import BaseModel

from tactician import Agent, LlmOptions, RunContext, RunResult, UserMessage, runnable, tool
from tactician.errors import ModelServerError, ToolError
from tactician.llm import AssistantMessage, Features, ModelRequest, ModelResponse, Text, ToolResult, Usage
from tactician.llm import ToolCall as CalledTool
from tactician.llm.messages import SystemMessage
from tactician.loop import output_type
from tactician.loop.policy import TurnPolicy
from tactician.loop.turns import TurnLoop
from tactician.runs import OutputError, RunStatus
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools.toolbox import Toolbox


class Person(BaseModel):
    name: str
    age: int


def results_of(result: RunResult[object]) -> list[tuple[str, bool]]:
    return [(one.content, one.is_error) for one in result.messages if isinstance(one, ToolResult)]


class TestConversations:
    async def test_an_answer_at_once(self) -> None:
        model = ScriptedModel("hello")

        result = await Agent("A", model=model, instructions="Be kind").run("hi")

        assert result.output == "hello"
        assert result.status is RunStatus.COMPLETED
        assert result.messages == (UserMessage("hi"), AssistantMessage((Text("hello"),)))
        assert model.calls[0].messages == (SystemMessage("Be kind"), UserMessage("hi"))

    async def test_tools_are_called_until_there_is_an_answer(self) -> None:
        def double(x: int) -> int:
            return 2 * x

        model = ScriptedModel(ToolCall("double", x=2), ToolCall("double", x=4), "8")

        result = await Agent("A", model=model, tools=[double]).run("2 * 2 * 2")

        assert result.output == "8"
        assert results_of(result) == [("4", False), ("8", False)]
        assert result.usage == Usage(30, 15, requests=3)
        assert model.calls[2].messages == result.messages[:-1]

    async def test_a_conversation_can_go_on(self) -> None:
        model = ScriptedModel("one", "two")
        agent = Agent("A", model=model)

        first = await agent.run("hi")
        await agent.run([*first.messages, UserMessage("and?")])

        assert model.calls[1].prompt == "hi\none\nand?"

    async def test_objects_go_in_as_json(self) -> None:
        model = ScriptedModel("ok")

        await Agent("A", model=model).run(Person(name="A", age=3))

        assert model.calls[0].prompt == '{"name":"A","age":3}'

    async def test_options_reach_the_model(self) -> None:
        model = ScriptedModel("ok")
        options = LlmOptions(model="x", temperature=0.3)

        await Agent("A", model=options).run("hi", context=RunContext.over(model))

        assert model.calls[0].options == options

    async def test_an_error_of_the_model_is_the_error_of_the_run(self) -> None:
        with pytest.raises(ModelServerError, match="down"):
            await Agent("A", model=ScriptedModel(ModelServerError("down"))).run("hi")

    async def test_one_agent_runs_many_times_at_once(self) -> None:
        model = ScriptedModel()
        for n in range(20):
            model.when(prompt_contains=f"<{n}>").reply(f"answer {n}")
        agent = Agent("A", model=model)

        results = await asyncio.gather(*(agent.run(f"<{n}>") for n in range(20)))

        assert [one.output for one in results] == [f"answer {n}" for n in range(20)]


class TestToolCalls:
    async def test_calls_of_one_turn_run_at_the_same_time_and_answer_in_order(self) -> None:
        arrived = asyncio.Barrier(3)
        finished: list[int] = []

        async def meet(n: int) -> int:
            async with asyncio.timeout(30):
                await arrived.wait()
            for _ in range(3 - n):
                await asyncio.sleep(0)
            finished.append(n)
            return n

        model = ScriptedModel([ToolCall("meet", n=n) for n in range(3)], "done")

        result = await Agent("A", model=model, tools=[meet]).run("hi")

        assert results_of(result) == [("0", False), ("1", False), ("2", False)]
        assert finished == [2, 1, 0]

    async def test_calls_run_one_by_one_when_told_so(self) -> None:
        log: list[str] = []

        async def work(n: int) -> None:
            log.append(f"{n} starts")
            await asyncio.sleep(0)
            log.append(f"{n} ends")

        model = ScriptedModel([ToolCall("work", n=1), ToolCall("work", n=2)], "done")

        await Agent("A", model=model, tools=[work], parallel_tools=False).run("hi")

        assert log == ["1 starts", "1 ends", "2 starts", "2 ends"]

    async def test_cancelling_a_run_cancels_its_tools(self) -> None:
        started, cancelled = asyncio.Barrier(3), list[int]()

        async def hang(n: int) -> None:
            await started.wait()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.append(n)

        model = ScriptedModel([ToolCall("hang", n=1), ToolCall("hang", n=2)])
        run = asyncio.create_task(Agent("A", model=model, tools=[hang]).run("hi"))
        async with asyncio.timeout(30):
            await started.wait()
        run.cancel()

        with pytest.raises(asyncio.CancelledError):
            await run
        assert sorted(cancelled) == [1, 2]

    async def test_failures_go_back_to_the_model(self) -> None:
        def refuse() -> None:
            raise ToolError("Not on Sundays.")

        def crash() -> None:
            raise ZeroDivisionError("by nought")

        def fine(x: int) -> int:
            return x

        calls = [
            ToolCall("refuse"),
            ToolCall("crash"),
            ToolCall("fine", x="y"),
            ToolCall("lost"),
            ToolCall("fine", x=1),
        ]
        model = ScriptedModel(calls, "sorry")

        result = await Agent("A", model=model, tools=[refuse, crash, fine]).run("hi")

        assert results_of(result) == [
            ("Not on Sundays.", True),
            ("ZeroDivisionError: by nought", True),
            (
                "The arguments are not valid: x: Input should be a valid integer, unable to parse string as an integer",
                True,
            ),
            ("There is no tool 'lost'. Tools: refuse, crash, fine.", True),
            ("1", False),
        ]
        assert result.output == "sorry"

    async def test_arguments_that_are_no_json_go_back_to_the_model(self) -> None:
        def fine(x: int) -> int:
            return x

        broken = ModelResponse(AssistantMessage((CalledTool("1", "fine", '{"x": '),)), finish_reason="tool_calls")

        result = await Agent("A", model=ScriptedModel(broken, "sorry"), tools=[fine]).run("hi")

        ((content, is_error),) = results_of(result)
        assert is_error
        assert content.startswith("The arguments are not valid: it: Invalid JSON")


class TestLimits:
    async def test_an_invalid_answer_goes_back_with_the_reason(self) -> None:
        model = ScriptedModel("no idea", '{"name": "A"}', Person(name="A", age=3))

        result = await Agent("A", model=model, output_type=Person).run("hi")

        assert result.output == Person(name="A", age=3)
        rejections = [one.text for one in result.messages if isinstance(one, UserMessage)][1:]
        assert rejections[0].startswith("That is not a valid Person: it: Invalid JSON")
        assert rejections[1] == (
            "That is not a valid Person: age: Field required. Answer again with the whole, corrected."
        )

    async def test_attempts_are_limited_and_the_error_holds_the_last_reply(self) -> None:
        model = ScriptedModel("one", "two")

        with pytest.raises(OutputError, match="A: no valid Person in 2 attempts: it: Invalid JSON") as raised:
            await Agent("A", model=model, output_type=Person, max_attempts=2).run("hi")

        assert raised.value.last_reply == "two"
        assert raised.value.result.usage.requests == 2
        assert raised.value.result.messages[-1] == AssistantMessage((Text("two"),))

    async def test_an_answer_that_was_cut_off_says_so(self) -> None:
        cut = ModelResponse(AssistantMessage((Text('{"name": "A'),)), finish_reason="length")

        with pytest.raises(OutputError, match="it was cut off after max_tokens; it: Invalid JSON"):
            await Agent("A", model=ScriptedModel(cut), output_type=Person, max_attempts=1).run("hi")


@dataclass
class Answer:
    n: int


class TestModelsThatCanDoLess:
    """The same run with a model that lacks tools, schemas or both."""

    @pytest.mark.parametrize(
        ("features", "steps"),
        [
            (Features(tools=True, json_schema=True), [ToolCall("double", x=2), Answer(4)]),
            (Features(tools=True), [ToolCall("double", x=2), ToolCall("final_answer", n=4)]),
            (Features(json_schema=True), [{"tool": "double", "arguments": {"x": 2}}, {"answer": {"n": 4}}]),
            (Features(), ['{"tool": "double", "arguments": {"x": 2}}', {"answer": {"n": 4}}]),
        ],
    )
    async def test_give_the_same_result(self, features: Features, steps: list[object]) -> None:
        def double(x: int) -> int:
            return 2 * x

        model = ScriptedModel(*steps, features=features)

        result = await Agent("A", model=model, tools=[double], output_type=Answer).run("hi")

        assert result.output == Answer(4)
        assert results_of(result) == [("4", False)]
        assert result.usage.requests == 2

    async def test_an_invalid_answer_through_a_tool_is_rejected_like_any_other(self) -> None:
        model = ScriptedModel(
            ToolCall("final_answer", n="x"), ToolCall("final_answer", n=4), features=Features(tools=True)
        )

        result = await Agent("A", model=model, output_type=Answer).run("hi")

        assert result.output == Answer(4)
        assert model.calls[1].tool_choice == "final_answer"


class TestNesting:
    async def test_an_agent_as_a_tool_counts_into_the_run_that_calls_it(self) -> None:
        inner = Agent("Code Writer", model=ScriptedModel("42", name="inner"), goal="Writes code")
        model = ScriptedModel(ToolCall("code_writer", request="write"), "done", name="outer")

        result = await Agent("Boss", model=model, tools=[inner.as_tool()]).run("hi")

        assert results_of(result) == [("42", False)]
        assert {name: usage.requests for name, usage in result.tally.by_model.items()} == {"inner": 1, "outer": 2}
        assert result.usage == Usage(30, 15, requests=3)
        assert model.calls[0].tools[0].description == "Writes code"

    async def test_a_failure_inside_is_told_to_the_model_outside(self) -> None:
        inner = Agent("Inner", model=ScriptedModel("no"), output_type=Person, max_attempts=1)
        model = ScriptedModel(ToolCall("inner", request="x"), ToolCall("inner", wish="x"), "sorry")

        result = await Agent("Boss", model=model, tools=[inner.as_tool()]).run("hi")

        (failed, invalid) = results_of(result)
        assert failed == (
            "OutputError: Inner: no valid Person in 1 attempt: it: Invalid JSON: expected ident at line 1 column 2",
            True,
        )
        assert invalid[0].startswith("The arguments are not valid: request: Field required")
        assert result.output == "sorry"

    async def test_any_function_can_stand_beside_agents(self) -> None:
        async def shout(text: str) -> str:
            """Says it loudly."""
            return text.upper()

        result = await runnable(shout).run("hi", context=RunContext.over(ScriptedModel()))

        assert (result.output, runnable(shout).description) == ("HI", "Says it loudly.")


class TestCosts:
    @pytest.mark.parametrize(("name", "cost"), [("scripted", None), ("local", 0), ("ollama:qwen3", 0)])
    async def test_unknown_is_none_and_local_is_free(self, name: str, cost: float | None) -> None:
        result = await Agent("A", model=ScriptedModel("x", name=name)).run("hi")

        assert result.cost == cost

    async def test_a_listed_model_has_its_price(self) -> None:
        result = await Agent("A", model=ScriptedModel("x", name="openai:gpt-5.4")).run("hi")

        assert result.cost is not None
        assert 0 < result.cost < 0.01

    async def test_a_run_that_used_nothing_costs_nothing(self) -> None:
        assert RunResult("x").cost == 0


async def test_a_loop_by_itself() -> None:
    @tool
    def twice(x: int) -> int:
        return 2 * x

    model = ScriptedModel(ToolCall("twice", x=4), {"value": 8})
    context = RunContext.over(model)
    loop = TurnLoop(
        model,
        output_type(int),
        context,
        instructions="Calculate.",
        tools=Toolbox([twice]),
        options=LlmOptions(temperature=0),
        policy=TurnPolicy(max_turns=2),
    )

    result = await loop.run([UserMessage("4 * 2")])

    assert result.output == 8
    assert result.tally is context.tally
    assert isinstance(request := model.calls[0], ModelRequest)
    assert (request.options.temperature, request.tools) == (0, (twice.spec,))
