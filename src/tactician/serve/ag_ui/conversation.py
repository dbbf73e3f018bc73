"""What a client sends: the request, and the conversation as the input of an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from ag_ui.core import (
    AssistantMessage,
    Context,
    DataSource,
    ImagePart,
    RunAgentInput,
    TextPart,
    ToolMessage,
    UrlSource,
    UserMessage,
)
from pydantic import JsonValue, ValidationError

from tactician import llm
from tactician.llm.image_checks import check_message_images
from tactician.llm.messages import AssistantPart, UserPart
from tactician.runs import Runnable
from tactician.serve.ag_ui.frontend_tools import read_text
from tactician.serve.api.agents import read_agent_input
from tactician.serve.problems import ApiError

_PROPERTY: Final = "input"


def read_request(body: bytes) -> RunAgentInput:
    """Return the request in the body of a call.

    Raises:
        ApiError: when it is not such a request.
    """
    try:
        return RunAgentInput.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise ApiError(422, f"{place}: {first['msg']}") from error


def read_input(request: RunAgentInput, agent: Runnable) -> object:
    """Return the input of an agent: the property `input` that the client forwards, else the conversation.

    Messages of the system are left out, as they are not for clients to write; so are messages of subagents.

    Raises:
        ApiError: when there is nothing to answer, a picture is none, or the property is no input of the agent.
    """
    forwarded = request.forwarded_props
    if isinstance(forwarded, Mapping) and _PROPERTY in forwarded:
        kind = forwarded.get("type")
        return read_agent_input(agent, cast("JsonValue", forwarded[_PROPERTY]), None if kind is None else str(kind))
    messages = [*_describe_context(request.context or ()), *_check_pictures(_read_messages(request))]
    if not messages:
        raise ApiError(422, "messages: There is no message of the user, and no forwardedProps.input.")
    only = messages[0]
    return only.content if len(messages) == 1 and isinstance(only, llm.UserMessage) else tuple(messages)


def _check_pictures(messages: Sequence[llm.Message]) -> tuple[llm.Message, ...]:
    try:
        return check_message_images(messages)
    except ValueError as error:
        raise ApiError(422, f"messages: {error}.") from None


def _describe_context(entries: Iterable[Context]) -> list[llm.Message]:
    lines = [f"{entry.description}: {entry.value}" for entry in entries]
    return [llm.UserMessage("\n".join(["What the application knows:", *lines]))] if lines else []


def _read_messages(request: RunAgentInput) -> list[llm.Message]:
    answered = {message.tool_call_id for message in request.messages if isinstance(message, ToolMessage)}
    names_by_call: dict[str, str] = {}
    read: list[llm.Message] = []
    for message in request.messages:
        if getattr(message, "subagent_run_id", None) is not None:
            continue
        match message:
            case UserMessage():
                read.append(llm.UserMessage(_read_content(message)))
            case AssistantMessage():
                calls = [call for call in message.tool_calls or () if call.id in answered]
                names_by_call.update((call.id, call.function.name) for call in calls)
                _add_answer(
                    read,
                    message,
                    [llm.ToolCall(call.id, call.function.name, call.function.arguments) for call in calls],
                )
            case ToolMessage() if message.tool_call_id in names_by_call:
                name = names_by_call.pop(message.tool_call_id)
                text = message.error or read_text(message)
                read.append(llm.ToolResult(message.tool_call_id, name, text, bool(message.error)))
    return read


def _add_answer(read: list[llm.Message], message: AssistantMessage, calls: Sequence[llm.ToolCall]) -> None:
    """Add an answer of the model to a conversation. A client keeps several parts of one as several messages."""
    parts: tuple[AssistantPart, ...] = (*([llm.Text(message.content)] if message.content else []), *calls)
    if not parts:
        return
    if read and isinstance(last := read[-1], llm.AssistantMessage):
        read[-1] = llm.AssistantMessage((*last.parts, *parts))
    else:
        read.append(llm.AssistantMessage(parts))


def _read_content(message: UserMessage) -> str | tuple[UserPart, ...]:
    if isinstance(message.content, str):
        return message.content
    parts: list[UserPart] = []
    for part in message.content:
        match part:
            case TextPart():
                parts.append(llm.Text(part.text))
            case ImagePart(source=DataSource() as source):
                parts.append(llm.Image(data=source.value, media_type=source.mime_type))
            case ImagePart(source=UrlSource() as source):
                parts.append(llm.Image(url=source.value))
            case _:
                raise ApiError(422, f"messages: {part.type} parts are not supported: send text or images.")
    return tuple(parts)
