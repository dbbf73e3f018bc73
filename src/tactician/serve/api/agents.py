"""Operations on agents and conversations."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Final

from starlette.responses import Response

from tactician.agents import BaseRunnable
from tactician.errors import TacticianError
from tactician.events import Event, encode
from tactician.llm import Image, messages_to_data
from tactician.loop import TextReceived
from tactician.platform import read_picture
from tactician.process import MessageSent, ProgressReported
from tactician.runs import RunCompleted, RunResult, format_output
from tactician.serve.api.forms import (
    AgentForm,
    AgentsForm,
    AnswerTextForm,
    ConversationForm,
    DiagramForm,
    Form,
    MessageForm,
)
from tactician.serve.api.operations import ApiOperation, Call
from tactician.serve.api.people import Person
from tactician.serve.api.sse import format_event, format_problem
from tactician.serve.api.views import show_agent, show_diagram, show_requests
from tactician.serve.problems import ApiError
from tactician.service import AgentService


async def list_agents(call: Call) -> AgentsForm:
    """Return the agents that can be started."""
    agents = call.server.platform.agents_by_id
    return AgentsForm(agents=tuple(show_agent(agent_id, agent) for agent_id, agent in agents.items()))


async def find_agent(call: Call) -> AgentForm:
    """Return an agent with the forms of its inputs."""
    agent_id = call.find_id("agent_id")
    if (agent := call.server.platform.agents_by_id.get(agent_id)) is None:
        raise ApiError(404, f"There is no agent {agent_id!r}. See /api/agents.")
    return show_agent(agent_id, agent)


async def draw_agent(call: Call) -> DiagramForm:
    """Return a drawing of an agent."""
    agent_id = call.find_id("agent_id")
    agent = call.server.platform.agents_by_id.get(agent_id)
    if not isinstance(agent, BaseRunnable):
        raise ApiError(404, f"There is no agent {agent_id!r} with a drawing. See /api/agents.")
    diagram = agent.diagram()
    return show_diagram(diagram)


async def send_message(call: Call) -> Form | Response:
    """Send a message to an agent in a conversation. With `Accept: text/event-stream`, the answer comes in pieces."""
    service, form, conversation_id = AgentService(call.server.platform), await call.read(MessageForm), _id(call)
    if form.agent not in service.agents:
        raise ApiError(404, f"There is no agent {form.agent[:200]!r}. See /api/agents.")
    images = _read_pictures(form)
    if "text/event-stream" in call.request.headers.get("accept", ""):
        events = service.stream_agent(form.agent, form.message, conversation_id=conversation_id, images=images)
        return call.server.streams.respond(_answer(events, call.person))
    result = await service.request_agent(form.agent, form.message, conversation_id=conversation_id, images=images)
    return _show_answer(result, call.person)


def _read_pictures(form: MessageForm) -> tuple[Image, ...]:
    try:
        return tuple(map(read_picture, form.pictures))
    except ValueError as error:
        raise ApiError(400, f"pictures: {error}.") from None


async def show_conversation(call: Call) -> ConversationForm:
    """Return the messages of a conversation."""
    conversation = await AgentService(call.server.platform).conversation(_id(call))
    return ConversationForm(id=_id(call), messages=tuple(map(encode, messages_to_data(conversation.to_tuple()))))


async def delete_conversation(call: Call) -> ConversationForm:
    """Delete a conversation, if it exists."""
    await AgentService(call.server.platform).delete_conversation(_id(call))
    return ConversationForm(id=_id(call), messages=())


async def _answer(events: AsyncGenerator[Event], person: Person) -> AsyncGenerator[str]:
    try:
        async for event in events:
            if isinstance(event, RunCompleted):
                yield format_event(_show_answer(event.result, person).model_dump_json(), kind="end")
            elif isinstance(event, TextReceived) and not event.is_internal:
                yield format_event(json.dumps({"text": event.text}), kind="text")
            elif isinstance(event, MessageSent):
                yield format_event(json.dumps({"text": event.message.text}), kind="message")
            elif isinstance(event, ProgressReported):
                yield format_event(json.dumps({"text": event.text}), kind="progress")
    except TacticianError as error:
        yield format_problem(type(error).__name__, str(error))
    finally:
        await events.aclose()


def _show_answer(result: RunResult[object], person: Person) -> AnswerTextForm:
    return AnswerTextForm(
        run_id=result.run_id,
        status=result.status.value,
        text="" if result.output is None else format_output(result.output),
        pending=show_requests(result.pending, person),
    )


def _id(call: Call) -> str:
    return call.find_id("conversation_id")


AGENT_OPERATIONS: Final = (
    ApiOperation("GET", "/api/agents", list_agents, "List the agents", AgentsForm),
    ApiOperation("GET", "/api/agents/{agent_id}", find_agent, "Show an agent", AgentForm),
    ApiOperation("GET", "/api/agents/{agent_id}/diagram", draw_agent, "Draw an agent", DiagramForm),
    ApiOperation(
        "POST",
        "/api/conversations/{conversation_id}/messages",
        send_message,
        "Send a message in a conversation",
        AnswerTextForm,
        "start",
        MessageForm,
    ),
    ApiOperation(
        "GET", "/api/conversations/{conversation_id}", show_conversation, "Show a conversation", ConversationForm
    ),
    ApiOperation(
        "DELETE",
        "/api/conversations/{conversation_id}",
        delete_conversation,
        "Delete a conversation",
        ConversationForm,
        "start",
    ),
)
