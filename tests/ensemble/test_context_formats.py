"""The post on context formats, sentence by sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import toon_format
from pydantic import BaseModel

from tactician import Agent, ContextFormat, Ensemble, InProcessMemory, RunContext, Scope, Task, tool
from tactician.ensemble import EnsembleDefinitionError, TaskInput
from tactician.errors import MissingExtraError
from tactician.llm import ToolResult
from tactician.loop import ToolReturned
from tactician.stores import SqliteStore
from tactician.testing import ScriptedModel, ToolCall

ROWS = [{"sku": "A1", "qty": 2, "price": 9.99}, {"sku": "B2", "qty": 1, "price": 14.5}]
AS_JSON = '[{"sku":"A1","qty":2,"price":9.99},{"sku":"B2","qty":1,"price":14.5}]'
AS_TOON = "[2]{sku,qty,price}:\n  A1,2,9.99\n  B2,1,14.5"


class Row(BaseModel):
    sku: str
    qty: int
    price: float


class Total(BaseModel):
    amount: float


@tool
def list_items() -> list[dict[str, object]]:
    """List the items."""
    return [dict(row) for row in ROWS]


def load(_: TaskInput) -> object:
    return ROWS


def prompts_of(model: ScriptedModel) -> list[str]:
    return [call.prompt for call in model.calls]


def results_of(model: ScriptedModel) -> list[str]:
    return [one.content for call in model.calls for one in call.messages if isinstance(one, ToolResult)]


async def test_json_remains_the_default() -> None:
    model = ScriptedModel(ToolCall("list_items"), "done")
    report = Task("Report", context=[rows := Task("Load", handler=load)])
    result = await Ensemble("Shop", [rows, report], model=model, tools=[list_items]).run()
    assert AS_JSON in prompts_of(model)[0]
    assert results_of(model) == [AS_JSON]
    assert result["Load"].raw == AS_JSON


async def test_one_switch_changes_prompts_and_tool_results_without_a_change_of_tasks_or_tools() -> None:
    model = ScriptedModel(ToolCall("list_items"), "done")
    report = Task("Report", context=[rows := Task("Load", handler=load)])
    shop = Ensemble("Shop", [rows, report], model=model, tools=[list_items], context_format=ContextFormat.TOON)
    result = await shop.run()
    assert AS_TOON in prompts_of(model)[0]
    assert AS_JSON not in prompts_of(model)[0]
    assert results_of(model) == [AS_TOON]
    assert result["Load"].raw == AS_JSON


async def test_outputs_of_prior_tasks_are_injected_in_the_format() -> None:
    model = ScriptedModel('{"total": 24.49}', "Plain words.", "done")
    first, second = Task("Add up", id="a"), Task("Describe", id="b", context=[])
    last = Task("Report", context=[first, second])
    await Ensemble("Shop", [first, second, last], model=model, context_format=ContextFormat.TOON).run()
    assert "total: 24.49" in prompts_of(model)[-1]
    assert "Plain words." in prompts_of(model)[-1]


async def test_structured_output_schemas_remain_json() -> None:
    model = ScriptedModel(Total(amount=24.49))
    total = Task("Add up", context=[rows := Task("Load", handler=load)], output_type=Total)
    result = await Ensemble("Shop", [rows, total], model=model, context_format=ContextFormat.TOON).run()
    prompt = prompts_of(model)[0]
    assert AS_TOON in prompt
    schema = prompt.partition("and nothing else:\n\n")[2]
    assert json.loads(schema)["properties"]["amount"]["type"] == "number"
    assert result.output == Total(amount=24.49)


async def test_the_model_does_not_need_to_produce_the_format() -> None:
    model = ScriptedModel('[{"sku":"A1","qty":2,"price":9.99}]', "done")
    load_rows = Task("Load", output_type=list[Row])
    result = await Ensemble("Shop", [load_rows, Task("Report")], model=model, context_format=ContextFormat.TOON).run()
    assert result["Load"].parsed == [Row(sku="A1", qty=2, price=9.99)]
    assert "[1]{sku,qty,price}:\n  A1,2,9.99" in prompts_of(model)[1]


async def test_an_answer_that_a_tool_gives_stays_json() -> None:
    @tool(return_direct=True)
    def answer() -> dict[str, int]:
        """Answer."""
        return {"amount": 3}

    model = ScriptedModel(ToolCall("answer"))
    task = Task("Add up", output_type=Total, tools=[answer])
    result = await Ensemble("Shop", [task], model=model, context_format=ContextFormat.TOON).run()
    assert result.output == Total(amount=3)


async def test_each_round_of_the_tool_loop_has_its_results_in_the_format() -> None:
    model = ScriptedModel(ToolCall("list_items"), ToolCall("list_items"), "done")
    await Ensemble("Shop", [Task("Report")], model=model, tools=[list_items], context_format=ContextFormat.TOON).run()
    assert results_of(model) == [AS_TOON] * 3  # one in the second call of the model, and two in the third


async def test_a_tool_result_that_is_no_data_stays_as_it_is() -> None:
    @tool
    def talk() -> str:
        """Talk."""
        return "[1] is a footnote"

    @tool
    def crash() -> str:
        """Crash."""
        raise ValueError('{"a": 1}')

    model = ScriptedModel([ToolCall("talk"), ToolCall("crash")], "done")
    await Ensemble("Shop", [Task("Report")], model=model, tools=[talk, crash], context_format=ContextFormat.TOON).run()
    assert results_of(model) == ["[1] is a footnote", 'ValueError: {"a": 1}']


async def test_a_long_tool_result_is_formatted_before_it_is_cut() -> None:
    @tool
    def list_all() -> list[dict[str, int]]:
        """List all."""
        return [{"number": number, "square": number * number} for number in range(2_000)]

    model = ScriptedModel(ToolCall("list_all"), "done")
    task = Task("Report", tools=[list_all], max_tool_output_chars=60)
    await Ensemble("Shop", [task], model=model, context_format=ContextFormat.TOON).run()
    assert results_of(model)[0].startswith("[2000]{number,square}:\n  0,0\n  1,1\n  2,4\n")


async def test_events_have_the_result_of_the_tool_itself() -> None:
    seen: list[str] = []
    model = ScriptedModel(ToolCall("list_items"), "done")

    def listen(event: object) -> None:
        if isinstance(event, ToolReturned):
            seen.append(event.result.content)

    context = RunContext.over(model, listen)
    shop = Ensemble("Shop", [Task("Report")], tools=[list_items], context_format=ContextFormat.TOON)
    await shop.run(context=context)
    assert seen == [AS_JSON]
    assert results_of(model) == [AS_TOON]


async def test_a_custom_formatter_needs_no_other_change() -> None:
    class Marked:
        def format(self, value: object) -> str:
            return f"<{json.dumps(value)}>"

        def format_json(self, text: str) -> str:
            return f"<{text}>"

    model = ScriptedModel(ToolCall("list_items"), "done")
    report = Task("Report", context=[rows := Task("Load", handler=load)])
    await Ensemble("Shop", [rows, report], model=model, tools=[list_items], context_format=Marked()).run()
    assert f"<{AS_JSON}>" in prompts_of(model)[0]
    assert results_of(model) == [f"<{AS_JSON}>"]


def test_a_format_without_its_library_fails_when_the_ensemble_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "toon_format", None)
    with pytest.raises(EnsembleDefinitionError) as caught:
        Ensemble("Shop", [Task("Report")], context_format=ContextFormat.TOON)
    (problem,) = caught.value.problems
    assert problem.path == "context_format"
    assert (
        'TOON needs toon-format, which is not installed. In your clone of Tactician, run: pip install ".[toon]"'
        in problem.message
    )


@pytest.mark.parametrize("format", ["xml", 7, object()])
def test_what_is_not_a_format_is_a_mistake_of_the_ensemble(format: object) -> None:
    with pytest.raises(EnsembleDefinitionError, match=r"context_format: .* is not"):
        Ensemble("Shop", [Task("Report")], context_format=format)  # type: ignore[arg-type]


async def test_ensembles_and_agents_inside_have_the_format_unless_they_say_otherwise() -> None:
    def create(inner_format: ContextFormat | None, model: ScriptedModel) -> Ensemble:
        inner = Ensemble("Inner", [Task("Look", tools=[list_items])], model=model, context_format=inner_format)
        return Ensemble("Outer", [Task("Ask", agent=inner)], context_format=ContextFormat.TOON)

    for inner_format, result in ((None, AS_TOON), (ContextFormat.JSON, AS_JSON)):
        model = ScriptedModel(ToolCall("list_items"), "done")
        await create(inner_format, model).run()
        assert results_of(model) == [result]


async def test_an_agent_outside_of_the_ensemble_is_not_changed() -> None:
    model = ScriptedModel(ToolCall("list_items"), "done", ToolCall("list_items"), "done")
    agent = Agent("Clerk", model=model, tools=[list_items])
    await Ensemble("Shop", [Task("Report", agent=agent)], context_format=ContextFormat.TOON).run()
    await agent.run("Report")
    assert results_of(model) == [AS_TOON, AS_JSON]


async def test_entries_of_a_memory_are_injected_in_the_format() -> None:
    memory = InProcessMemory({"stock": Scope()})
    load_rows = Task("Load", handler=load, memory=["stock"])
    await Ensemble("Night", [load_rows], memory=memory).run()
    for chosen, shown in ((ContextFormat.JSON, AS_JSON), (ContextFormat.TOON, AS_TOON)):
        model = ScriptedModel("done")
        report = Task("Report", memory=["stock"])
        await Ensemble("Day", [report], model=model, memory=memory, context_format=chosen).run()
        assert shown in prompts_of(model)[0].partition("## Memory: stock")[2]
    assert AS_JSON in [entry.content for entry in await memory.entries("stock")]


async def test_a_run_that_continues_has_the_format(tmp_path: Path) -> None:
    @tool(needs_approval=True)
    def list_secret() -> list[dict[str, object]]:
        """List the items."""
        return [dict(row) for row in ROWS]

    model = ScriptedModel(ToolCall("list_secret"), "done")
    shop = Ensemble("Shop", [Task("Report", tools=[list_secret])], model=model, context_format=ContextFormat.TOON)
    context = RunContext.over(model, store=SqliteStore(str(tmp_path / "runs.db")))
    waiting = await shop.run(context=context)
    await shop.resume(waiting.run_id, {waiting.pending[0].id: True}, context=context)
    assert results_of(model) == [AS_TOON]


async def test_traces_are_exported_as_toon_beside_json(tmp_path: Path) -> None:
    model = ScriptedModel(ToolCall("list_items"), "done")
    shop = Ensemble("Shop", [Task("Report")], model=model, tools=[list_items], capture="full")
    trace = (await shop.run()).trace
    as_json, as_toon = trace.to_json(tmp_path / "trace.json"), trace.to_toon(tmp_path / "trace.toon")
    assert (tmp_path / "trace.toon").read_text(encoding="utf-8") == as_toon
    assert len(as_toon) < len(as_json)
    decoded = toon_format.decode(as_toon)
    assert isinstance(decoded, Mapping)
    assert decoded == json.loads(as_json)


async def test_a_trace_of_a_format_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = (await Ensemble("Shop", [Task("Load", handler=load)]).run()).trace
    monkeypatch.setitem(sys.modules, "toon_format", None)
    with pytest.raises(MissingExtraError, match="TOON needs toon-format"):
        trace.to_toon()
    assert trace.to_json()
