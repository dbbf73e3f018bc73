"""What a run gets from its MCP client: answers of the model there, and the roots."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Final, cast
from zlib import crc32

import mcp_types as types
from pydantic import JsonValue

from tactician.context_format import write_json
from tactician.errors import ConfigurationError, ModelError
from tactician.frozen import frozen
from tactician.llm import AssistantMessage, Features, Image, Message, ModelRequest, ModelResponse, Text, UserMessage
from tactician.llm.messages import SystemMessage
from tactician.llm.model import Delta, JsonSchema
from tactician.process.people.questions import create_suspension
from tactician.runs import PendingRequest, RunContext
from tactician.runs.outcomes.suspension import Approval
from tactician.runs.requests.answers import StoredAnswer
from tactician.suggestions import suggest_options

SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"
_DEFAULT_LENGTH: Final = 4_000
_MOST_SHOWN: Final = 2_000
_TEXT: Final[JsonSchema] = {"type": "string"}
_LIST: Final[JsonSchema] = {
    "type": "array",
    "items": {"type": "object", "properties": {"uri": {"type": "string"}, "name": {"type": "string"}}},
}


@frozen
class ClientRoot:
    """Folder or file that a client lets its servers use.

    Attributes:
        uri: the address, such as `file:///home/ann/project`.
        name: the name for people.
    """

    uri: str
    name: str = ""


@suggest_options
class ClientModel:
    """The model of the MCP client that calls: `Agent("Greeter", model=ClientModel())`.

    The run waits while the client asks its model, which may show the prompt to a person first. It is for what is
    published over MCP. The model answers in text: tools and typed answers are described to it in words.

    Args:
        max_tokens: tokens of an answer, where a request does not say it.
    """

    def __init__(self, *, max_tokens: int = _DEFAULT_LENGTH) -> None:
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The name for logs and costs."""
        return "mcp-client"

    @property
    def features(self) -> Features:
        """The features that every client has: text and pictures."""
        return Features(images=True)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the answer of the client's model; the run waits for it.

        Raises:
            ConfigurationError: outside of runs.
            ModelError: when the client refused.
        """
        params = self._write(request)
        prompt = f"The model of the client is asked: {request.prompt[:_MOST_SHOWN]}"
        answer = _ask(SAMPLING, params, prompt, _TEXT)
        if isinstance(answer, Approval):
            raise ModelError(f"The MCP client did not ask its model: {answer.reason}", model=self.name)
        text = answer if isinstance(answer, str) else write_json(answer)
        return ModelResponse(AssistantMessage((Text(text),)), model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the whole answer at once."""
        yield await self.generate(request)

    def _write(self, request: ModelRequest) -> dict[str, JsonValue]:
        system = "\n\n".join(message.text for message in request.messages if isinstance(message, SystemMessage))
        options = request.options
        written = [each for message in request.messages for each in _write_message(message)]
        params = types.CreateMessageRequestParams(
            messages=written,
            max_tokens=options.max_tokens or self._max_tokens,
            system_prompt=system or None,
            temperature=options.temperature,
        )
        return cast("dict[str, JsonValue]", params.model_dump(by_alias=True, mode="json", exclude_none=True))


async def list_client_roots() -> tuple[ClientRoot, ...]:
    """Return the folders and files that the MCP client that calls lets this program use; the run waits for them.

    Raises:
        ConfigurationError: outside of runs.
    """
    answer = _ask(ROOTS, {}, "Which folders may be used?", _LIST)
    listed = answer if isinstance(answer, list) else []
    return tuple(
        ClientRoot(str(root.get("uri", "")), str(root.get("name") or "")) for root in listed if isinstance(root, dict)
    )


def _ask(method: str, params: Mapping[str, JsonValue], prompt: str, schema: JsonSchema) -> object:
    """Return the answer to a request of the client, which the run keeps; else the run waits for it."""
    context = RunContext.find_current()
    if context is None or context.checkpoint is None:
        raise ConfigurationError("An MCP client can be asked only by a run that it has started.")
    mark = crc32(write_json({"method": method, "params": params}).encode())
    request_id = f"{context.checkpoint.path}/client-{mark:08x}"
    if request_id in context.responses:
        response = context.responses[request_id]
        return response.value if isinstance(response, StoredAnswer) else response
    asked: dict[str, JsonValue] = {"method": method, "params": dict(params)}
    raise create_suspension(
        PendingRequest(request_id, "form", prompt, path=context.path, schema=schema, client_request=asked)
    )


def _write_message(message: Message) -> list[types.SamplingMessage]:
    """Return a message of the protocol for each part; instructions have a place of their own."""
    if isinstance(message, SystemMessage):
        return []
    role: types.Role = "assistant" if isinstance(message, AssistantMessage) else "user"
    parts = message.content if isinstance(message, UserMessage) and not isinstance(message.content, str) else ()
    pictures = [part for part in parts if isinstance(part, Image) and part.data is not None]
    blocks: list[types.TextContent | types.ImageContent] = [
        types.ImageContent(data=part.data or "", mime_type=part.media_type) for part in pictures
    ]
    if message.text or not blocks:
        blocks.insert(0, types.TextContent(text=message.text))
    return [types.SamplingMessage(role=role, content=block) for block in blocks]
