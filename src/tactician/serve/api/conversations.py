"""Operations on conversations. Nobody else finds a person's conversations, without the role for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final, cast

from pydantic import JsonValue
from starlette.responses import Response

from tactician.conversation import Conversation
from tactician.conversation.summary import ConversationSummary, find_run_id
from tactician.errors import ConversationNotFoundError, TacticianError
from tactician.events import Event
from tactician.llm.messages import messages_to_data
from tactician.loggers import get_logger
from tactician.loop import TextReceived
from tactician.process import MessageSent, ProgressReported
from tactician.runs import RunCompleted, RunResult, RunStatus
from tactician.runs.life.output import format_output
from tactician.runs.progress.store import RunStore
from tactician.secrets import mask_secrets
from tactician.serve.api.forms.forms import (
    AnswerTextForm,
    ConversationEntryForm,
    ConversationForm,
    ConversationsForm,
    Form,
    MessageForm,
)
from tactician.serve.api.forms.pictures import find_picture, link_pictures, send_picture
from tactician.serve.api.forms.viewer import Viewer
from tactician.serve.api.forms.views import show_requests
from tactician.serve.api.forms.visibility import CONVERSATIONS_ROLE, may_read_conversation
from tactician.serve.api.serving.idempotency import create_message_key
from tactician.serve.api.serving.operations import ApiOperation, Call, count_up_to
from tactician.serve.api.serving.server import ApiServer
from tactician.serve.api.serving.sse import format_event, format_problem
from tactician.serve.api.uploads import read_pictures
from tactician.serve.problems import ApiError, describe_failure
from tactician.service import AgentService
from tactician.service.options import AgentOptions

_MOST: Final = 200
_LARGEST: Final = 2**53
_PAGES: Final = 20
"""Pages of the store that a request reads at most, however few conversations the caller may read."""
_logger = get_logger(__name__)
_PATH: Final = "/api/conversations/{conversation_id}"


async def list_conversations(call: Call) -> ConversationsForm:
    """Return the conversations that the caller may read, the newest first."""
    limit, after = call.find_number("limit", 50, _MOST), call.find_number("after", 0, _LARGEST) or None
    agent = call.request.query_params.get("agent", "")
    readable: list[ConversationSummary] = []
    for _ in range(_PAGES):
        page = await call.server.platform.conversations.find_summaries(limit=_MOST, after=after)
        for summary in page:
            if len(readable) == limit:
                return await _show(call, readable, after)
            after = summary.number
            if may_read_conversation(call.person, summary.user) and agent in ("", _find_agent(call.server, summary)):
                readable.append(summary)
        if len(page) < _MOST:
            return await _show(call, readable, None)
    return await _show(call, readable, after)


async def _show(call: Call, readable: list[ConversationSummary], after: int | None) -> ConversationsForm:
    entries = [await _show_entry(call, summary) for summary in readable]
    return ConversationsForm(conversations=tuple(entries), next=after)


async def _show_entry(call: Call, summary: ConversationSummary) -> ConversationEntryForm:
    store = RunStore(call.server.platform.store)
    record = None if summary.run_id is None else await store.load_readable(summary.run_id)
    return ConversationEntryForm(
        id=summary.id,
        agent=_find_agent(call.server, summary),
        title=call.viewer.mask(summary.title),
        changed_at=summary.changed_at,
        run_id=summary.run_id,
        waiting=record is not None and record.status is RunStatus.WAITING,
    )


def _find_agent(server: ApiServer, summary: ConversationSummary) -> str | None:
    """Return the id of the agent of a conversation: a chatbot of a planned agent has stored the agent's name."""
    agents = server.platform.agents_by_id
    if summary.agent is None or summary.agent in agents:
        return summary.agent
    names = ((agent_id, {agent.name, getattr(agent, "agent_name", "")}) for agent_id, agent in agents.items())
    return next((agent_id for agent_id, of_agent in names if summary.agent in of_agent), summary.agent)


LIST_CONVERSATIONS: Final = ApiOperation(
    "GET",
    "/api/conversations",
    list_conversations,
    "List the conversations that you may read, the newest first",
    ConversationsForm,
    right=None,
    query={
        "agent": "Id of the agent",
        "limit": "Number of conversations at most; 50 by default",
        "after": "Number of the conversation before the first: `next` of the page before",
    },
    query_types={"limit": count_up_to(_MOST), "after": count_up_to(_LARGEST)},
)


async def send_message(call: Call) -> Form | Response:
    """Send a message to an agent in a conversation. With `Accept: text/event-stream`, the answer comes in pieces."""
    service, form = AgentService(call.server.platform), await call.read(MessageForm)
    if form.agent not in service.agents:
        raise ApiError(404, f"There is no agent {form.agent[:200]!r}. See /api/agents.")
    key = None if form.idempotency_key is None else create_message_key(call.person, _id(call), form.idempotency_key)
    options = AgentOptions(
        conversation_id=_id(call),
        user=call.person.user,
        images=await read_pictures(call, form.pictures),
        idempotency_key=key,
    )
    if "text/event-stream" in call.request.headers.get("accept", ""):
        events = _stream(service, call.server, form, options)
        return call.server.streams.respond(_answer(events, call.viewer))
    return _show_answer(await _request(service, call.server, form, options), call.viewer)


async def _request(
    service: AgentService, server: ApiServer, form: MessageForm, options: AgentOptions
) -> RunResult[object]:
    """Return the answer to a message: an earlier run's, if it has the key of the message."""

    async def answer() -> AsyncGenerator[Event]:
        yield RunCompleted(result=await service.request_agent(form.agent, form.message, **options))

    async with aclosing(server.runs.start_or_follow(options.get("idempotency_key"), answer)) as events:
        results = [event.result async for event in events if isinstance(event, RunCompleted)]
    return results[-1]


def _stream(
    service: AgentService, server: ApiServer, form: MessageForm, options: AgentOptions
) -> AsyncGenerator[Event]:
    """Return the events of the run that answers a message, or of an earlier run with the same key."""
    key = options.get("idempotency_key")
    return server.runs.start_or_follow(key, lambda: service.stream_agent(form.agent, form.message, **options))


async def show_conversation(call: Call) -> ConversationForm:
    """Return the messages of a conversation. Pictures have addresses."""
    conversation = await _find_conversation(call)
    messages = _read_messages(conversation)
    address = f"{call.base}/api/conversations/{_id(call)}/pictures"
    linked = await asyncio.to_thread(link_pictures, messages, address)  # pictures may be large
    masked = [call.viewer.mask_json(message) for message in cast("list[JsonValue]", linked)]
    return ConversationForm(id=_id(call), messages=tuple(masked), run_id=find_run_id(conversation))


async def show_picture(call: Call) -> Response:
    """Return a picture of a conversation."""
    messages = _read_messages(await _find_conversation(call))
    picture = await asyncio.to_thread(find_picture, messages, call.find_id("picture_id"))
    return send_picture(picture, call.request)


async def delete_conversation(call: Call) -> ConversationForm:
    """Delete a conversation, if it exists."""
    if call.person.find_role(CONVERSATIONS_ROLE) is None:  # who has it can delete one that cannot be read, too
        try:
            await _find_conversation(call)
        except ConversationNotFoundError:
            return ConversationForm(id=_id(call), messages=())
    await AgentService(call.server.platform).delete_conversation(_id(call))
    return ConversationForm(id=_id(call), messages=())


async def _find_conversation(call: Call) -> Conversation:
    """Return a conversation that the caller may read.

    Raises:
        ConversationNotFoundError: when the conversation does not exist.
    """
    conversation = await AgentService(call.server.platform).conversation(_id(call))
    if not may_read_conversation(call.person, conversation.user):
        raise ConversationNotFoundError(f"There is no conversation {_id(call)!r}: the first message begins it")
    return conversation


def _read_messages(conversation: Conversation) -> JsonValue:
    return cast("JsonValue", messages_to_data(conversation.to_tuple()))


async def _answer(events: AsyncGenerator[Event], viewer: Viewer) -> AsyncGenerator[str]:
    try:
        async for event in events:
            if isinstance(event, RunCompleted):
                yield format_event(_show_answer(event.result, viewer).model_dump_json(), kind="end")
            elif isinstance(event, TextReceived) and not event.is_internal:
                yield format_event(json.dumps({"text": event.text}), kind="text")
            elif isinstance(event, MessageSent):
                yield format_event(json.dumps({"text": event.message.text}), kind="message")
            elif isinstance(event, ProgressReported):
                yield format_event(json.dumps({"text": mask_secrets(event.text)}), kind="progress")
    except TacticianError as error:
        yield format_problem(*describe_failure(error))
    except Exception as error:  # of the code of the agent
        _logger.exception("an answer in a conversation failed")
        yield format_problem(*describe_failure(error))
    finally:
        await events.aclose()


def _show_answer(result: RunResult[object], viewer: Viewer) -> AnswerTextForm:
    return AnswerTextForm(
        run_id=result.run_id,
        status=result.status.value,
        text="" if result.output is None else format_output(result.output),
        pending=show_requests(result.pending, viewer),
    )


def _id(call: Call) -> str:
    return call.find_id("conversation_id")


CONVERSATION_OPERATIONS: Final = (
    LIST_CONVERSATIONS,
    ApiOperation(
        "POST",
        f"{_PATH}/messages",
        send_message,
        "Send a message in a conversation",
        AnswerTextForm,
        "start",
        MessageForm,
    ),
    ApiOperation("GET", _PATH, show_conversation, "Show a conversation", ConversationForm, right=None),
    ApiOperation(
        "GET",
        f"{_PATH}/pictures/{{picture_id}}",
        show_picture,
        "Get a picture of a conversation",
        right=None,
        media_type="image/*",
    ),
    ApiOperation("DELETE", _PATH, delete_conversation, "Delete a conversation", ConversationForm, "start"),
)
