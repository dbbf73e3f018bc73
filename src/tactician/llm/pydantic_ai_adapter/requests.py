"""Conversion of requests to the types of pydantic-ai."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.native_tools import AbstractNativeTool, CodeExecutionTool, WebSearchTool
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from tactician.errors import ModelRequestError
from tactician.frozen import frozen
from tactician.llm.messages import (
    AssistantMessage,
    Document,
    Image,
    Message,
    SystemMessage,
    Text,
    UserMessage,
    UserPart,
)
from tactician.llm.model import ModelRequest
from tactician.llm.options import LlmOptions
from tactician.llm.pydantic_ai_adapter.parts import encode_parts

_NATIVE_TOOLS: dict[str, type[AbstractNativeTool]] = {
    "web_search": WebSearchTool,
    "code_interpreter": CodeExecutionTool,
}
# Efforts that pydantic-ai spells as a switch.
_THINKING: dict[str, bool] = {"none": False, "enabled": True}


@frozen
class PydanticAiCall:
    """Arguments of a call to a model of pydantic-ai."""

    messages: list[theirs.ModelMessage]
    settings: ModelSettings
    parameters: ModelRequestParameters


def encode(request: ModelRequest, model: Model) -> PydanticAiCall:
    """Return the request as a call to the model.

    Raises:
        ModelRequestError: when an image or a document is not base64, or a native tool is not known.
    """
    return PydanticAiCall(
        list(_messages(request.messages, model)),
        _settings(request, model),
        ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters)
                )
                for tool in request.tools
            ],
            native_tools=[_native_tool(name, model) for name in request.options.native_tools],
            output_mode="text" if request.output is None else "native",
            output_object=_output(request),
        ),
    )


def _output(request: ModelRequest) -> OutputObjectDefinition | None:
    if (output := request.output) is None:
        return None
    return OutputObjectDefinition(json_schema=dict(output.schema), name=output.name, strict=output.strict)


def _native_tool(name: str, model: Model) -> AbstractNativeTool:
    if (kind := _NATIVE_TOOLS.get(name)) is None:
        tool_names = ", ".join(_NATIVE_TOOLS)
        raise ModelRequestError(f"{model.model_id}: unknown native tool {name!r}; known are {tool_names}")
    return kind()


def _settings(request: ModelRequest, model: Model) -> ModelSettings:
    options = request.options
    settings: dict[str, object] = {
        "temperature": options.temperature,
        "top_p": options.top_p,
        "top_k": options.top_k,
        "max_tokens": options.max_tokens,
        "seed": options.seed,
        "thinking": _choose_thinking(options),
        "tool_choice": _tool_choice(request),
        "max_retries": _max_retries(model),
    }
    return cast(ModelSettings, {name: value for name, value in settings.items() if value is not None})


def _choose_thinking(options: LlmOptions) -> str | bool | None:
    effort = options.reasoning_effort
    return _THINKING.get(effort, effort) if effort is not None else None


def _tool_choice(request: ModelRequest) -> str | list[str] | None:
    if not request.tools or request.tool_choice == "auto":
        return None
    return request.tool_choice if request.tool_choice in ("none", "required") else [request.tool_choice]


def _max_retries(model: Model) -> int | None:
    if "max_retries" in model.unsupported_settings or "max_retries" in (model.settings or {}):
        return None
    return 0


def _messages(messages: Iterable[Message], model: Model) -> Iterator[theirs.ModelMessage]:
    """Yield their messages, which alternate: all of ours between two answers become a single request."""
    parts: list[theirs.ModelRequestPart] = []
    for message in messages:
        if not isinstance(message, AssistantMessage):
            parts.append(_request_part(message, model))
            continue
        if parts:
            yield theirs.ModelRequest(parts=parts)
            parts = []
        yield theirs.ModelResponse(parts=encode_parts(message.parts, model.system), provider_name=model.system)
    if parts:
        yield theirs.ModelRequest(parts=parts)


def _request_part(message: Message, model: Model) -> theirs.ModelRequestPart:
    if isinstance(message, SystemMessage):
        return theirs.SystemPromptPart(message.text)
    if isinstance(message, UserMessage):
        content = message.content
        if isinstance(content, str):
            return theirs.UserPromptPart(content)
        return theirs.UserPromptPart([_user_content(part, model) for part in content])
    assert not isinstance(message, AssistantMessage)
    pictures = [_user_content(image, model) for image in message.images]
    return theirs.ToolReturnPart(
        message.name,
        [message.content, *pictures] if pictures else message.content,
        message.call_id,
        outcome="failed" if message.is_error else "success",
    )


def _user_content(part: UserPart, model: Model) -> theirs.UserContent:
    if isinstance(part, Text):
        return part.text
    if part.url is None:
        return theirs.BinaryContent(_bytes(part, model), media_type=part.media_type)
    # The ending of a URL determines the media type: ours may be only a default.
    return theirs.ImageUrl(part.url) if isinstance(part, Image) else theirs.DocumentUrl(part.url)


def _bytes(part: Image | Document, model: Model) -> bytes:
    try:
        return base64.b64decode(part.data or "", validate=True)
    except ValueError as error:
        raise ModelRequestError(f"{model.model_id}: the {part.kind} is not base64 ({error})") from None
