"""Pipelines: tools that run one after another as one tool."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from tactician import Agent, Ensemble, RunContext, Task, tool
from tactician.ensemble import TaskInput
from tactician.errors import ConfigurationError, DeclarationError, InvalidArgumentsError, ToolError
from tactician.llm import ToolResult
from tactician.runs import RunStatus
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import (
    adapt,
    calculator,
    fetch_page,
    pipeline,
    query_json,
    read_file,
    run_program,
    write_file,
)
from tests.tools.builtin.support import call, refuse

DATA = '{"order": {"total": "3 * 4", "items": [{"name": "tea"}]}}'


@tool
def load_order(number: int, shop: str = "main") -> str:
    """Load an order.

    Args:
        number: the number
        shop: the shop
    """
    if number < 0:
        raise ToolError(f"no order {number} in {shop}")
    return DATA


@tool
def shout(text: str) -> str:
    """Shout a text."""
    return text.upper()


@tool
def count(numbers: list[int], times: int = 1) -> int:
    """Sum up numbers."""
    return sum(numbers) * times


async def test_each_step_gets_the_output_of_the_one_before() -> None:
    total = pipeline(load_order, query_json, calculator, name="total")
    assert await call(total, number=1, path="order.total") == "12"


def test_the_parameters_are_those_of_the_first_step_and_what_later_ones_need_besides() -> None:
    spec = pipeline(load_order, query_json, calculator, name="total").spec
    assert spec.name == "total"
    assert spec.parameters["required"] == ["number", "path"]
    properties = spec.parameters["properties"]
    assert isinstance(properties, dict)
    assert list(properties) == ["number", "shop", "path"]
    assert properties["shop"] == {"default": "main", "description": "the shop", "type": "string"}


def test_a_pipeline_is_named_and_described_by_its_tools() -> None:
    spec = pipeline(load_order, query_json).spec
    assert spec.name == "load_order_then_query_json"
    assert spec.description == (
        "Does these steps, each on the output of the one before:\n1. Load an order.\n2. Get a part of JSON."
    )
    assert pipeline(load_order, description="My own words").spec.description == "My own words"


async def test_plain_functions_are_steps() -> None:
    def reverse(text: str) -> str:
        return text[::-1]

    assert await call(pipeline(reverse, shout), text="abc") == "CBA"


async def test_a_parameter_with_a_name_that_is_taken_gets_the_name_of_its_tool() -> None:
    @tool
    def join(first: str, shop: str) -> str:
        return f"{first[:8]} {shop}"

    joined = pipeline(load_order, join)
    assert list(joined.spec.parameters["properties"]) == ["number", "shop", "join_shop"]  # type: ignore[call-overload]
    assert await call(joined, number=1, join_shop="east") == '{"order" east'


async def test_text_becomes_what_the_next_step_takes() -> None:
    @tool
    def list_numbers() -> list[int]:
        return [1, 2, 3]

    assert await call(pipeline(list_numbers, count), times=2) == "12"
    assert "Step 2 (count) failed: The arguments are not valid" in await refuse(pipeline(shout, count), text="abc")


async def test_a_tool_without_parameters_gets_nothing() -> None:
    @tool
    def ping() -> str:
        return "pong"

    assert await call(pipeline(shout, ping, shout), text="x") == "PONG"


async def test_an_adapter_makes_the_input_of_the_next_step() -> None:
    adapted = pipeline(load_order, adapt(lambda text: text.replace("tea", "cake")), query_json)
    assert await call(adapted, number=1, path="order.items[0].name") == "cake"


async def test_an_adapter_says_which_parameter_gets_the_input() -> None:
    @tool
    def write(path: str, content: str) -> str:
        return f"{path}: {content}"

    written = pipeline(shout, adapt(to="content"), write)
    assert written.spec.parameters["required"] == ["text", "path"]
    assert await call(written, text="x", path="a.txt") == "a.txt: X"
    quoted = pipeline(shout, adapt(lambda text: f"<{text}>", to="path"), write)
    assert await call(quoted, text="x", content="y") == "<X>: y"
    with pytest.raises(DeclarationError, match="'write' has no parameter 'body' for an adapter"):
        pipeline(shout, adapt(to="body"), write)


async def test_an_adapter_may_give_what_is_not_text() -> None:
    assert await call(pipeline(shout, adapt(lambda text: [len(text), 2]), count), text="abc") == "5"


async def test_an_adapter_that_fails_is_an_error_of_the_pipeline() -> None:
    broken = pipeline(shout, adapt(lambda text: dict[str, str]()[text]), shout)
    assert "The adapter before shout failed: KeyError: 'X'" in await refuse(broken, text="x")


async def test_an_adapter_that_gives_what_no_tool_takes_is_an_error_of_the_pipeline() -> None:
    broken = pipeline(shout, adapt(lambda _: object()), shout)
    assert "The adapter before shout failed: PydanticSerializationError" in await refuse(broken, text="x")


def test_a_coroutine_function_is_no_adapter() -> None:
    async def later(text: str) -> str:
        return text

    with pytest.raises(DeclarationError, match="a pipeline does not await"):
        adapt(later)


@pytest.mark.parametrize("name", ["two words", "x" * 65, "a.b"])
def test_a_name_that_no_provider_takes_is_a_mistake(name: str) -> None:
    with pytest.raises(DeclarationError, match=r"no provider takes the name .*; use pipeline\(name=\.\.\.\)"):
        pipeline(shout, name=name)


async def test_a_step_that_fails_stops_the_pipeline() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        ran.append(text)
        return text

    stopped = pipeline(load_order, adapt(ran.append), note)
    assert await refuse(stopped, number=-1) == "Step 1 (load_order) failed: no order -1 in main"
    assert ran == []


async def test_on_error_continue_gives_the_error_to_the_next_step_past_the_adapter() -> None:
    ran: list[str] = []
    going = pipeline(load_order, adapt(ran.append), shout, on_error="continue")
    assert await call(going, number=-1) == "NO ORDER -1 IN MAIN"
    assert ran == []


async def test_on_error_continue_fails_when_the_last_step_does() -> None:
    going = pipeline(load_order, query_json, on_error="continue")
    assert "Step 2 (query_json) failed: The data is not JSON" in await refuse(going, number=-1, path="a")


async def test_any_exception_of_a_step_is_its_failure() -> None:
    @tool
    def crash(text: str) -> str:
        raise ZeroDivisionError(text)

    assert "Step 1 (crash) failed: ZeroDivisionError: x" in await refuse(pipeline(crash, shout), text="x")


async def test_wrong_arguments_are_found_before_the_first_step_runs() -> None:
    ran: list[int] = []

    @tool
    def note(number: int) -> str:
        ran.append(number)
        return DATA

    noted = pipeline(note, query_json)
    for arguments in ({"number": 1}, {"number": 1, "path": 3}, {"number": 1, "path": "a", "data": "x"}, {"path": "a"}):
        with pytest.raises(InvalidArgumentsError):
            await call(noted, **arguments)
    assert ran == []


async def test_a_mistake_of_the_program_is_not_an_error_for_the_model() -> None:
    with pytest.raises(ConfigurationError, match="has no workspace"):
        await call(pipeline(read_file, shout, on_error="continue"), path="a.txt")


@pytest.mark.parametrize(
    "steps", [(), (adapt(str),), (adapt(str), shout), (shout, adapt(str)), (shout, adapt(str), adapt(str), shout)]
)
def test_an_adapter_is_between_two_tools(steps: tuple[object, ...]) -> None:
    with pytest.raises(DeclarationError):
        pipeline(*steps)  # type: ignore[arg-type]


def test_mistakes_are_found_when_the_pipeline_is_made() -> None:
    @dataclass
    class Place:
        city: str

    @tool
    def find(place: Place) -> str:
        return place.city

    def make() -> object:
        @dataclass
        class Place:
            code: int

        @tool
        def other(text: str, place: Place) -> str:
            return text

        return other

    with pytest.raises(DeclarationError, match="different types with the name 'Place'"):
        pipeline(find, make())  # type: ignore[arg-type]
    with pytest.raises(DeclarationError, match="'sometimes', not 'stop' or 'continue'"):
        pipeline(shout, on_error="sometimes")  # type: ignore[arg-type]

    @tool(client_side=True)
    def ask(text: str) -> str:
        return text

    with pytest.raises(DeclarationError, match="cannot wait for"):
        pipeline(shout, ask)


async def test_types_of_steps_stay_in_the_schema() -> None:
    @dataclass
    class Place:
        city: str

    @tool
    def find(place: Place) -> str:
        return place.city

    @tool
    def paint(text: str, colour: Literal["red", "blue"]) -> str:
        return f"{colour} {text}"

    painted = pipeline(find, paint)
    assert await call(painted, place={"city": "Rome"}, colour="red") == "red Rome"
    assert "colour" in await refuse(painted, place={"city": "Rome"}, colour="green")


async def test_a_pipeline_is_a_step_of_a_pipeline() -> None:
    inner = pipeline(query_json, calculator, name="compute")
    assert await call(pipeline(load_order, inner, shout), number=1, path="order.total") == "12"


def test_a_pipeline_needs_an_approval_when_a_step_does() -> None:
    assert pipeline(shout, run_program).traits.needs_approval is True
    assert pipeline(run_program, shout).traits.needs_approval is True
    assert pipeline(shout, shout).traits.needs_approval is False

    @tool(needs_approval=lambda arguments: arguments.get("number") == 13)
    def risky(number: int) -> str:
        return str(number)

    assert pipeline(risky, shout).traits.is_approval_needed({"number": 13})
    assert not pipeline(risky, shout).traits.is_approval_needed({"number": 1})
    assert pipeline(shout, risky).traits.is_approval_needed({"text": "1"})


async def test_files_are_read_worked_on_and_written(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"a": "3 * 4"}')
    made = pipeline(
        read_file.within(tmp_path),
        query_json,
        calculator,
        adapt(lambda text: f"= {text}", to="content"),
        write_file.within(tmp_path),
    )
    assert made.spec.parameters["required"] == ["path", "query_json_path", "write_file_path"]
    await call(made, path="in.json", query_json_path="a", write_file_path="out.txt")
    assert (tmp_path / "out.txt").read_text() == "= 12"


async def test_an_agent_is_a_step_and_reads_the_output_of_the_step_before() -> None:
    model = ScriptedModel("tea for 12")
    summarizer = Agent("Summarizer", description="Sums up an order.", model=model)
    summed = pipeline(load_order, summarizer, shout, name="sum_up")
    assert summed.spec.description.splitlines()[2] == "2. Sums up an order."
    assert summed.spec.parameters["required"] == ["number"]
    assert await call(summed, number=1) == "TEA FOR 12"
    assert model.calls[0].prompt == DATA


async def test_any_runnable_is_a_step_with_adapters_around_it() -> None:
    team = Ensemble("Team", [Task("Count the letters", handler=lambda task: len(task.text))])
    counted = pipeline(team, adapt(lambda text: f"{text} letters"), shout)
    assert counted.name == "team_then_shout"
    assert await call(counted, request="four") == "4 LETTERS"


async def test_an_agent_that_fails_is_the_failure_of_its_step() -> None:
    def refuse_all(task: TaskInput) -> str:
        raise ValueError(f"no {task.text}")

    broken = Ensemble("Broken", [Task("a", handler=refuse_all)])
    assert "Step 2 (broken) failed: TaskFailedError" in await refuse(pipeline(shout, broken), text="x")


async def test_an_agent_uses_a_pipeline_as_one_tool() -> None:
    model = ScriptedModel(ToolCall("total", number=1, path="order.total"), "12 in all")
    agent = Agent("Clerk", model=model, tools=[pipeline(load_order, query_json, calculator, name="total")])
    result = await agent.run("How much is order 1?")
    assert result.output == "12 in all"
    assert [message.content for message in result.messages if isinstance(message, ToolResult)] == ["12"]


async def test_a_completed_step_does_not_run_again_after_a_suspension(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool
    def load(number: int) -> str:
        ran.append("load")
        return f"order {number}"

    @tool(needs_approval=True)
    def ship(request: str) -> str:
        ran.append("ship")
        return f"shipped: {request}"

    inner = ScriptedModel(ToolCall("ship", request="it"), "it is shipped")
    shipper = Agent("Shipper", model=inner, tools=[ship])
    outer = ScriptedModel(ToolCall("send", number=7), "done")
    clerk = Agent("Clerk", model=outer, tools=[pipeline(load, shipper, name="send")])
    context = RunContext.over(ScriptedModel(), store=SqliteStore(str(tmp_path / "runs.db")))
    waiting = await clerk.run("send order 7", context=context)
    assert waiting.status is RunStatus.WAITING
    assert ran == ["load"]
    done = await clerk.resume(waiting.run_id, {waiting.pending[0].id: True}, context=context)
    assert done.output == "done"
    assert ran == ["load", "ship"]


def test_the_pipeline_of_the_documentation_fits_together() -> None:
    spec = pipeline(fetch_page, query_json, name="prices").spec
    assert json.loads(json.dumps(spec.parameters["required"])) == ["url", "path"]
