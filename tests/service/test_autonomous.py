"""Autonomous agents, as the service offers them: one test a sentence of the source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tactician import Agent, AgentService, Autonomous
from tactician.llm import ToolCall as Call
from tactician.runs import TurnLimitError
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import DeclaredTool
from tactician.tools.traits import ToolTraits
from tests.service.acme import Analysis
from tests.service.test_conversations import said

SCHEMA = {
    "type": "object",
    "properties": {"query": {"type": "string"}},
    "required": ["query"],
    "additionalProperties": False,
}
RESEARCHER = {
    "id": "researcher",
    "name": "Research Agent",
    "model": "gpt-5.4",
    "instructions": "You are a research assistant...",
    "resultClass": "Analysis",
    "autonomous": True,
    "maxIterations": 15,
    "maxToolTokenOutput": 200,
    "functions": [
        {"name": "search_database", "description": "Search for information", "parameters": SCHEMA},
        {"name": "analyze_data", "description": "Analyze data", "parameters": SCHEMA},
    ],
}
FINDINGS = {"summary": "churn grows", "key_points": ["Q4"], "confidence": 0.8}


def service_of(folder: Path, model: ScriptedModel, **fields: object) -> AgentService:
    (folder / "researcher.json").write_text(json.dumps({**RESEARCHER, **fields}), encoding="utf-8")
    return AgentService(model, folder=folder, packages=("tests.service.acme",))


async def test_the_model_calls_tools_until_task_over_brings_the_result(tmp_path: Path) -> None:
    model = ScriptedModel(
        ToolCall("search_database", query="churn"),
        ToolCall("analyze_data", query="rows"),
        ToolCall("task_over", **FINDINGS),
    )
    asked: list[str] = []

    async def execute(call: Call) -> dict[str, object]:
        asked.append(f"{call.name} {call.parse_arguments()['query']}")
        return {"rows": 3}

    service = service_of(tmp_path, model)
    result = await service.request_agent("researcher", "Analyze churn for Q4", execute=execute)
    assert result.output == Analysis(summary="churn grows", key_points=["Q4"], confidence=0.8)
    assert asked == ["search_database churn", "analyze_data rows"]
    assert '{"rows":3}' in model.calls[1].prompt
    tools = {spec.name: spec for spec in model.calls[0].tools}
    assert list(tools) == ["search_database", "analyze_data", "task_over"]
    properties = tools["task_over"].parameters["properties"]
    assert isinstance(properties, dict)
    assert set(properties) == {"summary", "key_points", "confidence"}


async def test_what_an_executor_raises_is_told_to_the_model(tmp_path: Path) -> None:
    def execute(call: Call) -> str:
        raise TimeoutError("Connection timeout")

    model = ScriptedModel(ToolCall("search_database", query="x"), ToolCall("task_over", **FINDINGS))
    await service_of(tmp_path, model).request_agent("researcher", "Go", execute=execute)
    assert "Connection timeout" in model.calls[1].prompt


async def test_tool_output_over_the_limit_is_trimmed(tmp_path: Path) -> None:
    model = ScriptedModel(ToolCall("search_database", query="x"), ToolCall("task_over", **FINDINGS))
    await service_of(tmp_path, model).request_agent("researcher", "Go", execute=lambda call: "y" * 5_000)
    assert "y" * 800 + "... [trimmed: output exceeded 200 token limit]" in model.calls[1].prompt
    assert "y" * 801 not in model.calls[1].prompt


async def test_a_text_alone_is_thinking_aloud_and_is_nudged(tmp_path: Path) -> None:
    model = ScriptedModel("Let me think.", ToolCall("task_over", **FINDINGS))
    await service_of(tmp_path, model).request_agent("researcher", "Go")
    assert model.calls[1].prompt.endswith(
        "Let me think.\nContinue with the task. When you are done, call the 'task_over' function with the final result."
    )


async def test_a_plain_reply_can_end_the_turn(tmp_path: Path) -> None:
    service = service_of(tmp_path, ScriptedModel("All is well."), endTurnOnPlainReply=True, resultClass=None)
    assert (await service.request_agent("researcher", "Go")).output == "All is well."


async def test_a_function_of_ones_own_can_end_the_turn(tmp_path: Path) -> None:
    ask_user = {"name": "ask_user", "description": "Asks", "parameters": SCHEMA, "endsTurn": True}
    model = ScriptedModel(ToolCall("ask_user", query="Which year?"))
    service = service_of(tmp_path, model, functions=[ask_user], resultClass=None)
    result = await service.request_agent("researcher", "Go", execute=lambda call: "asked")
    assert result.output == "asked"
    assert [spec.name for spec in model.calls[0].tools] == ["ask_user"]


async def test_only_enabled_groups_are_shown_and_hidden_functions_can_still_be_executed(tmp_path: Path) -> None:
    functions = [
        {"name": "think", "description": "d", "parameters": SCHEMA},
        {"name": "usual", "description": "d", "parameters": SCHEMA, "group": "default"},
        {"name": "write_file", "description": "d", "parameters": SCHEMA, "group": "fs_write"},
        {"name": "run_shell", "description": "d", "parameters": SCHEMA, "group": "shell"},
    ]
    model = ScriptedModel(ToolCall("run_shell", query="ls"), ToolCall("task_over", **FINDINGS))
    service = service_of(tmp_path, model, functions=functions, enabledToolGroups=["fs_write"])
    await service.request_agent("researcher", "Go", execute=lambda call: f"ran {call.name}")
    assert [spec.name for spec in model.calls[0].tools] == ["think", "usual", "write_file", "task_over"]
    assert "ran run_shell" in model.calls[1].prompt


async def test_an_agent_can_be_registered_again_with_other_groups() -> None:
    shell = DeclaredTool("run_shell", "d", execute=lambda call: "ran", traits=ToolTraits(group="shell"))

    def coder(*groups: str) -> Agent[str]:
        return Agent("coder", tools=[shell], autonomy=Autonomous(enabled_tool_groups=set(groups)))

    model = ScriptedModel(ToolCall("task_over"), ToolCall("task_over"))
    service = AgentService(model).register(coder())
    await service.request_agent("coder", "Go")
    await service.register(coder("shell"), replace=True).request_agent("coder", "Go")
    assert [len(call.tools) for call in model.calls] == [1, 2]


async def test_an_infinite_agent_is_offered_no_end_and_a_call_of_it_is_an_error(tmp_path: Path) -> None:
    model = ScriptedModel(*[ToolCall("task_over")] * 2)
    service = service_of(
        tmp_path, model, infiniteLoop=True, maxIterations=2, retryConfig={"maxIterationRetries": 0}, resultClass=None
    )
    with pytest.raises(TurnLimitError) as caught:
        await service.request_agent("researcher", "Watch")
    assert "task_over" not in {spec.name for spec in model.calls[0].tools}
    assert "There is no tool 'task_over'" in model.calls[1].prompt
    assert len(caught.value.result.messages) == 5


async def test_when_the_iterations_are_not_enough_it_begins_anew_once(tmp_path: Path) -> None:
    model = ScriptedModel("hm", "hm", ToolCall("task_over", **FINDINGS))
    result = await service_of(tmp_path, model, maxIterations=2).request_agent("researcher", "Go")
    assert isinstance(result.output, Analysis)
    assert model.calls[2].prompt == "Go"
    assert result.usage.requests == 3


async def test_old_tool_results_are_left_out_of_what_the_model_sees(tmp_path: Path) -> None:
    model = ScriptedModel(
        ToolCall("search_database", query="1"),
        ToolCall("search_database", query="2"),
        ToolCall("task_over", **FINDINGS),
    )
    service = service_of(tmp_path, model, compactToolResultsAfterIteration=2)
    result = await service.request_agent("researcher", "Go", execute=lambda call: f"result {call.arguments}")
    assert 'result {"query":"1"}' not in model.calls[2].prompt
    assert 'result {"query":"2"}' in model.calls[2].prompt
    assert any('result {"query":"1"}' in getattr(message, "content", "") for message in result.messages)


async def test_a_conversation_keeps_what_the_agent_did_for_the_next_task(tmp_path: Path) -> None:
    model = ScriptedModel(
        ToolCall("search_database", query="solar"), ToolCall("task_over", **FINDINGS), ToolCall("task_over", **FINDINGS)
    )
    service = service_of(tmp_path, model)
    conversation_id = service.create_conversation()
    for task in ("Research solar energy.", "Now compare with wind."):
        await service.request_agent("researcher", task, conversation_id=conversation_id, execute=lambda call: "sunny")
    assert model.calls[2].prompt == "Research solar energy.\n\nsunny\n\ndone\nNow compare with wind."
    assert said(await service.conversation(conversation_id)) == [
        "Research solar energy.", "", "sunny", "", "done", "Now compare with wind.", "", "done",
    ]  # fmt: skip
