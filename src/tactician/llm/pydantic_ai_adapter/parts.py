"""Conversion of the parts of an answer between Tactician's types and pydantic-ai's types.

Values that our types cannot hold (ids, signatures of tool calls, native tools) are kept in a `ProviderItem`, which
follows the part that can be read, and replaces it on the way back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import TypeAdapter, ValidationError
from pydantic_ai import messages as theirs

from tactician.llm.messages import AssistantPart, ProviderItem, Text, Thinking, ToolCall

FORMAT = "pydantic-ai"
_adapter: TypeAdapter[theirs.ModelResponsePart] = TypeAdapter(theirs.ModelResponsePart)


def decode_parts(parts: Iterable[theirs.ModelResponsePart], system: str) -> Iterator[AssistantPart]:
    """Yield their parts as ours; `system` is the provider of the model that wrote them."""
    for part in parts:
        readable = _readable(part)
        if readable is not None:
            yield readable
        if readable is None or not _adds_nothing(_plain(readable, system), part):
            yield ProviderItem(FORMAT, _adapter.dump_json(part).decode())


def encode_parts(parts: Iterable[AssistantPart], system: str) -> list[theirs.ModelResponsePart]:
    """Return our parts as theirs; `system` is the provider of the model that reads them."""
    encoded: list[theirs.ModelResponsePart] = []
    last: AssistantPart | None = None
    for part in parts:
        if not isinstance(part, ProviderItem):
            encoded.append(_plain(part, system))
        elif (whole := _whole(part)) is not None:
            readable = _readable(whole)
            if readable is None:
                encoded.append(whole)
            elif readable == last:  # else the readable part was edited, and the edit counts
                encoded[-1] = whole
        last = part
    return encoded


def _readable(part: theirs.ModelResponsePart) -> Text | Thinking | ToolCall | None:
    if isinstance(part, theirs.TextPart):
        return Text(part.content)
    if isinstance(part, theirs.ThinkingPart):
        return Thinking(part.content, part.signature)
    if isinstance(part, theirs.ToolCallPart):
        arguments = part.args if isinstance(part.args, str) else part.args_as_json_str()
        return ToolCall(part.tool_call_id, part.tool_name, arguments or "{}")
    return None


def _plain(part: Text | Thinking | ToolCall, system: str) -> theirs.ModelResponsePart:
    if isinstance(part, Text):
        return theirs.TextPart(part.text)
    if isinstance(part, Thinking):
        # A signature is valid only at the provider that wrote it.
        return theirs.ThinkingPart(part.text, signature=part.signature, provider_name=system)
    return theirs.ToolCallPart(part.name, part.arguments, part.id)


def _adds_nothing(plain: theirs.ModelResponsePart, part: theirs.ModelResponsePart) -> bool:
    """Return whether the part holds no more than the plain part, whatever the form of its arguments."""
    if isinstance(part, theirs.ToolCallPart) and isinstance(plain, theirs.ToolCallPart):
        return (part.id, part.provider_details, part.tool_kind) == (None, None, None)
    if isinstance(part, theirs.ThinkingPart) and isinstance(plain, theirs.ThinkingPart):
        return (part.id, part.provider_details) == (None, None) and part.provider_name in (None, plain.provider_name)
    if isinstance(part, theirs.TextPart):
        return (part.id, part.provider_details, part.citations) == (None, None, None)
    return plain == part


def _whole(item: ProviderItem) -> theirs.ModelResponsePart | None:
    """Return the part that an item holds, or `None` if the item is of another format or version."""
    if item.format != FORMAT:
        return None
    try:
        return _adapter.validate_json(item.data)
    except ValidationError:
        return None
