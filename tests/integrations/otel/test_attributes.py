"""Attributes of the conventions that say who was asked, where, in which conversation, and with which tools."""

from __future__ import annotations

import json

import pytest

from tactician import (
    Agent,
    ParallelAgents,
    Platform,
    UserInput,
    achieves_goal,
    action,
    approve,
    ask_human,
    planned_agent,
)
from tactician.agents import PlannedAgent
from tactician.process import ProcessOptions
from tactician.service import AgentService
from tactician.stores import MemoryStore
from tactician.testing import ScriptedModel, ToolCall
from tactician.tools import tool
from tests.integrations.otel.traces import Traces, attributes
from tests.support.chat_server import ChatServer, answers, completion


@tool
def look_up(city: str) -> str:
    """Look up the weather."""
    return f"sunny in {city}"


@planned_agent(description="greets", name="Greeter")
class Greeter:
    @achieves_goal("greeted")
    @action
    def greet(self, topic: UserInput) -> str:
        return "hello"


@pytest.fixture
def traces() -> Traces:
    return Traces()


async def test_a_call_names_its_server_and_its_answer(traces: Traces, monkeypatch: pytest.MonkeyPatch) -> None:
    async with ChatServer(answers({**completion("hi"), "id": "chatcmpl-7"})) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "key-of-this-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        platform = Platform("openai:chatty", on_event=traces.listener())
        await Agent("A").run("hello", context=platform.context())
    call = attributes(traces.named("chat chatty")[0])
    assert call["gen_ai.response.id"] == "chatcmpl-7"
    assert (call["server.address"], call["server.port"]) == ("127.0.0.1", int(server.url.rpartition(":")[2]))


@pytest.mark.parametrize("content", [False, True])
async def test_tools_have_descriptions_and_definitions_are_content(traces: Traces, content: bool) -> None:
    agent = Agent("A", model=ScriptedModel(ToolCall("look_up", city="Rome"), "sunny"), tools=[look_up])
    platform = Platform(ScriptedModel(), on_event=traces.listener(content=content))
    await agent.run("weather?", context=platform.context())
    assert attributes(traces.named("execute_tool look_up")[0])["gen_ai.tool.description"] == "Look up the weather."
    call = attributes(traces.named("chat scripted")[0])
    assert ("gen_ai.tool.definitions" in call) is content
    if content:
        (definition,) = json.loads(str(call["gen_ai.tool.definitions"]))
        assert definition["name"] == "look_up"
        assert definition["parameters"]["required"] == ["city"]


async def test_an_agent_in_a_conversation_names_it(traces: Traces) -> None:
    platform = Platform(ScriptedModel("hi"), store=MemoryStore(), on_event=traces.listener())
    platform.register(Agent("A"))
    await AgentService(platform).request_agent("a", "hello", conversation_id="c-1")
    assert attributes(traces.named("invoke_agent A")[0])["gen_ai.conversation.id"] == "c-1"
    assert attributes(traces.named("chat scripted")[0])["gen_ai.conversation.id"] == "c-1"


async def test_a_process_in_a_conversation_names_it(traces: Traces) -> None:
    platform = Platform(ScriptedModel(), store=MemoryStore(), on_event=traces.listener()).register(Greeter())
    await platform.start("Greeter", UserInput("x"), options=ProcessOptions(conversation_id="c-2"))
    assert attributes(traces.named("invoke_agent Greeter")[0])["gen_ai.conversation.id"] == "c-2"


async def test_a_run_outside_of_conversations_has_no_id(traces: Traces) -> None:
    await Agent("A", model=ScriptedModel("hi")).run("x", context=Platform(on_event=traces.listener()).context())
    assert "gen_ai.conversation.id" not in attributes(traces.named("chat scripted")[0])
    scope = traces.named("chat scripted")[0].instrumentation_scope
    assert scope is not None
    assert scope.schema_url == "https://opentelemetry.io/schemas/1.44.0"


@planned_agent(description="asks", name="Asker")
class Asker:
    @achieves_goal("answered")
    @action
    async def ask(self, topic: UserInput) -> str:
        return await ask_human(str, "Which?")


async def test_a_process_names_its_conversation_after_a_restart(traces: Traces) -> None:
    store = MemoryStore()
    first = Platform(ScriptedModel(), store=store).register(Asker())
    process = await first.start("Asker", UserInput("x"), options=ProcessOptions(conversation_id="c-3"))
    second = Platform(ScriptedModel(), store=store, on_event=traces.listener()).register(Asker())
    await second.respond(process.id, process.pending[0].id, "this")
    assert attributes(traces.named("invoke_agent Asker")[0])["gen_ai.conversation.id"] == "c-3"


async def test_a_request_names_its_conversation_after_a_restart(traces: Traces) -> None:
    @tool(needs_approval=True)
    def book(city: str) -> str:
        """Book a hotel."""
        return "booked"

    store, model = MemoryStore(), ScriptedModel(ToolCall("book", city="Rome"), "done")
    clerk = Agent("Clerk", model=model, tools=[book])
    service = AgentService(Platform(ScriptedModel(), store=store).register(clerk))
    result = await service.request_agent("clerk", "hello", conversation_id="c-4")
    second = Platform(ScriptedModel(), store=store, on_event=traces.listener()).register(clerk)
    assert result.run_id is not None
    await second.respond(result.run_id, result.pending[0].id, approve())
    spans = traces.named("invoke_agent Clerk")
    assert {attributes(span).get("gen_ai.conversation.id") for span in spans} == {"c-4"}
    assert {attributes(span).get("gen_ai.agent.id") for span in spans} == {"clerk"}


async def test_runs_name_the_id_and_the_description_of_their_agent(traces: Traces) -> None:
    platform = Platform(ScriptedModel("hi", "ho"), on_event=traces.listener())
    inner = Agent("Front Desk", id="desk-1", description="greets guests, sk-abcdefghijklmnop1234567890abcd")
    assert Agent("A", instructions="secret").own_description == ""  # it is content
    await ParallelAgents("All Desks", [inner], description="many").run("x", context=platform.context())
    desk, group = (attributes(traces.named(f"invoke_agent {name}")[0]) for name in ("Front Desk", "All Desks"))
    assert (desk["gen_ai.agent.id"], desk["gen_ai.agent.description"]) == ("desk-1", "greets guests, ***")
    assert (group["gen_ai.agent.id"], group["gen_ai.agent.description"]) == ("all_desks", "many")


async def test_processes_name_the_id_and_the_description_of_their_agent(traces: Traces) -> None:
    platform = Platform(ScriptedModel(), on_event=traces.listener()).register(Greeter())
    await platform.start("Greeter", UserInput("x"))
    await PlannedAgent(Greeter()).run("x", context=platform.context())
    spans = [attributes(span) for span in traces.named("invoke_agent Greeter")]
    assert [(span["gen_ai.agent.id"], span["gen_ai.agent.description"]) for span in spans] == [
        ("greeter", "greets")
    ] * 2


async def test_a_run_names_its_agent_in_another_program(traces: Traces) -> None:
    store, desk = MemoryStore(), Agent("Desk", description="greets guests")
    run_id = await Platform(ScriptedModel(), store=store).register(desk).enqueue("Desk", "hello")
    await Platform(ScriptedModel("hi"), store=store, on_event=traces.listener()).register(desk).resume(run_id)
    span = attributes(traces.named("invoke_agent Desk")[0])
    assert (span["gen_ai.agent.id"], span["gen_ai.agent.description"]) == ("desk", "greets guests")
