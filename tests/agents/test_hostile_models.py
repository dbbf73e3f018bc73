"""Models, tools and inputs that do what nobody should: calls without ids, errors without messages, half characters."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from types import FunctionType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician import Agent, RunContext, RunResult, tool
from tactician.errors import DeclarationError
from tactician.llm import AssistantMessage, ModelResponse, ToolCall, ToolResult
from tactician.loop import output_type
from tactician.loop.output import InvalidOutput
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel
from tactician.tools.arguments import repair_arguments
from tactician.tools.tool import as_text


def calls(*made: ToolCall) -> ModelResponse:
    return ModelResponse(AssistantMessage(made), finish_reason="tool_calls")


async def run(agent: Agent[str], *answers: ModelResponse | str, store: MemoryStore | None = None) -> RunResult[str]:
    return await agent.run("go", context=RunContext.over(ScriptedModel(*answers), store=store))


def results_of(result: RunResult[str]) -> Sequence[ToolResult]:
    return [message for message in result.messages if isinstance(message, ToolResult)]


@tool
def double(x: int) -> str:
    """Double a number."""
    return str(2 * x)


@pytest.mark.parametrize("ids", [("", ""), ("same", "same"), ("a", ""), ("", "b")])
async def test_calls_without_ids_of_their_own_get_each_its_result(ids: tuple[str, str]) -> None:
    asked = calls(ToolCall(ids[0], "double", '{"x": 1}'), ToolCall(ids[1], "double", '{"x": 5}'))
    result = await run(Agent("a", tools=[double]), asked, "done")
    answers = results_of(result)
    assert [answer.content for answer in answers] == ["2", "10"]
    assert len({answer.call_id for answer in answers}) == 2
    assert "" not in {answer.call_id for answer in answers}


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nobody reads this")


def fails_without_message() -> str:
    """Fail."""
    raise UnreadableError


def cancels() -> str:
    """Raise a cancellation, though nobody has cancelled the run."""
    raise asyncio.CancelledError


def gives_half_a_character() -> str:
    """Return a lone surrogate."""
    return "a\ud800b"


def gives_half_a_character_inside() -> dict[str, str]:
    """Return a lone surrogate in an object."""
    return {"a": "\ud800"}


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (fails_without_message, "UnreadableError: (its message cannot be read"),
        (cancels, "CancelledError"),
        (gives_half_a_character, "a\ufffdb"),
        (gives_half_a_character_inside, '{"a": "\\ud800"}'),
    ],
)
async def test_the_model_is_told_and_the_run_continues_and_is_stored(function: FunctionType, told: str) -> None:
    agent = Agent("a", tools=[function])
    result = await run(agent, calls(ToolCall("1", function.__name__)), "done", store=MemoryStore())
    assert result.output == "done"
    (answer,) = results_of(result)
    assert told in answer.content


async def test_a_run_that_is_cancelled_in_a_tool_is_cancelled() -> None:
    began = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        began.set()
        await asyncio.Event().wait()
        return ""

    task = asyncio.create_task(run(Agent("a", tools=[wait]), calls(ToolCall("1", "wait")), "done"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@tool(needs_approval=True)
def pay(amount: int = 1) -> str:
    """Pay."""
    return str(amount)


@pytest.mark.parametrize("arguments", ['{"\\ud800a":xx}', "{", '{"amount": "\\ud83d"}', "[" * 5000 + "{}", ""])
async def test_arguments_that_nobody_can_read_are_shown_to_whoever_approves(arguments: str) -> None:
    result = await run(Agent("a", tools=[pay]), calls(ToolCall("1", "pay", arguments)), "done")
    assert result.pending or results_of(result)


@given(st.text(st.sampled_from('{}[]",:\\ud8a0 \n`x1'), max_size=60))
def test_any_arguments_are_repaired_or_left(arguments: str) -> None:
    repair_arguments(arguments)


def test_long_arguments_take_no_more_than_a_second() -> None:
    began = time.process_time()
    assert repair_arguments('{"a": "' + "x" * 2_000_000) is None
    with pytest.raises(InvalidOutput):
        output_type(dict[str, int]).parse("```json\n" + " " * 100_000 + "\n" * 100_000 + "x")
    assert time.process_time() - began < 1


@given(st.recursive(st.text(st.characters()) | st.integers(), lambda inner: st.lists(inner, max_size=3), max_leaves=5))
def test_every_result_of_a_tool_becomes_text_that_can_be_sent(value: object) -> None:
    as_text(value).encode()


def test_a_handoff_to_a_name_is_explained() -> None:
    with pytest.raises(DeclarationError, match="handoffs has 'b', which is not an agent: pass the agent itself"):
        Agent("a", handoffs=["b"])  # type: ignore[list-item]
