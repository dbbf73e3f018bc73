"""How a model of each wire format says the same thing, whole or as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from aiohttp import web

from tactician.llm import ToolCall
from tests.support import anthropic_server, chat_server
from tests.support.chat_server import Received, Reply, answers, sends, sse

Body = dict[str, object]


@dataclass(frozen=True, slots=True)
class Saying:
    """What a model says: thinking, then text, then calls."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    cut_off: bool = False


class Voice(Protocol):
    """One wire format."""

    def whole(self, saying: Saying) -> Body:
        """The body of the answer."""
        ...

    def stream(self, saying: Saying) -> bytes:
        """The same as server-sent events."""
        ...

    def error(self, message: str, code: str | None = None) -> Body:
        """The body of an error."""
        ...


def says(voice: Voice, saying: Saying) -> Reply:
    """The saying, streamed if the request asks for that."""

    async def reply(request: web.Request, received: Received) -> web.StreamResponse:
        streamed = bool(received.body.get("stream"))
        chosen = sends(voice.stream(saying)) if streamed else answers(voice.whole(saying))
        return await chosen(request, received)

    return reply


class ChatVoice:
    def whole(self, saying: Saying) -> Body:
        calls = [chat_server.call(one.id, one.name, one.arguments) for one in saying.calls]
        finish = "length" if saying.cut_off else None
        return chat_server.completion(saying.text or None, *calls, thinking=saying.thinking or None, finish=finish)

    def stream(self, saying: Saying) -> bytes:
        chunks = [chat_server.chunk(reasoning_content=piece) for piece in halves(saying.thinking)]
        chunks += [chat_server.chunk(content=piece) for piece in halves(saying.text)]
        for index, call in enumerate(saying.calls):
            chunks.append(chat_server.chunk(tool_calls=[chat_server.call_piece(index, id=call.id, name=call.name)]))
            pieces = [chat_server.call_piece(index, piece) for piece in halves(call.arguments)]
            chunks += [chat_server.chunk(tool_calls=[piece]) for piece in pieces]
        finish = "length" if saying.cut_off else "tool_calls" if saying.calls else "stop"
        return sse(*chunks, chat_server.chunk(finish), chat_server.usage_chunk())

    def error(self, message: str, code: str | None = None) -> Body:
        return {"error": {"message": message, "type": "invalid_request_error", "code": code}}


RESPONSE_USAGE: Mapping[str, object] = {
    "input_tokens": 11,
    "input_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 0},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 2},
    "total_tokens": 18,
}


class ResponsesVoice(ChatVoice):
    def whole(self, saying: Saying) -> Body:
        ending: Body = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
        return response(*_items(saying), **(ending if saying.cut_off else {}))

    def stream(self, saying: Saying) -> bytes:
        return response_stream(self.whole(saying))


def _items(saying: Saying) -> Iterator[Body]:
    if saying.thinking:
        yield reasoning(saying.thinking)
    if saying.text:
        yield output_message(saying.text)
    for call in saying.calls:
        yield function_call(call.id, call.name, call.arguments)


def response(*items: Mapping[str, object], **details: object) -> Body:
    """A response, with all that the SDK needs to parse it."""
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": "served-model",
        "output": list(items),
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "usage": RESPONSE_USAGE,
        **details,
    }


def output_message(text: str, refusal: str | None = None) -> Body:
    part: Body = {"type": "output_text", "text": text, "annotations": []}
    if refusal is not None:
        part = {"type": "refusal", "refusal": refusal}
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def reasoning(*summary: str, encrypted: str | None = "gAAAA") -> Body:
    parts = [{"type": "summary_text", "text": text} for text in summary]
    return {"id": "rs_1", "type": "reasoning", "summary": parts, "encrypted_content": encrypted}


def function_call(id: str, name: str, arguments: str = "{}") -> Body:
    return {
        "id": f"fc_{id}",
        "type": "function_call",
        "status": "completed",
        "call_id": id,
        "name": name,
        "arguments": arguments,
    }


def response_stream(body: Mapping[str, object]) -> bytes:
    """The events that end in the response, each with the name of its type."""
    numbered = ({**event, "sequence_number": n} for n, event in enumerate(response_events(body)))
    return "".join(
        f"event: {one['type']}\ndata: {json.dumps(one, ensure_ascii=False)}\n\n" for one in numbered
    ).encode()


def response_events(body: Mapping[str, object]) -> Iterator[Body]:
    """What OpenAI's reference, "Streaming events", says of each item of the output."""
    output = body["output"]
    assert isinstance(output, list)
    started = {**body, "output": [], "status": "in_progress", "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": started}
    for place, item in enumerate(output):
        yield from _item_events(place, item)
    yield {"type": f"response.{body['status']}", "response": dict(body)}


def _item_events(place: int, item: Body) -> Iterator[Body]:
    of: Body = {"output_index": place, "item_id": item.get("id", "")}
    empty: Body = {**item, **{name: list[object]() for name in ("content", "summary") if name in item}}
    if item["type"] == "function_call":
        empty["arguments"] = ""
    yield {"type": "response.output_item.added", "output_index": place, "item": empty}
    if item["type"] == "function_call":
        yield from _pieces("response.function_call_arguments", of, "arguments", str(item["arguments"]))
    for index, part in enumerate(_parts(item, "summary")):
        where: Body = {**of, "summary_index": index}
        yield {"type": "response.reasoning_summary_part.added", **where, "part": {**part, "text": ""}}
        yield from _pieces("response.reasoning_summary_text", where, "text", str(part["text"]))
        yield {"type": "response.reasoning_summary_part.done", **where, "part": part}
    for index, part in enumerate(_parts(item, "content")):
        where = {**of, "content_index": index, "logprobs": []}
        kind = str(part["type"])
        name = kind if kind == "refusal" else "text"
        yield {"type": "response.content_part.added", **where, "part": {**part, name: ""}}
        yield from _pieces(f"response.{kind}", where, name, str(part[name]))
        yield {"type": "response.content_part.done", **where, "part": part}
    yield {"type": "response.output_item.done", "output_index": place, "item": item}


def _parts(item: Body, name: str) -> Sequence[Body]:
    parts = item.get(name, [])
    assert isinstance(parts, list)
    return parts


def _pieces(kind: str, of: Body, name: str, text: str) -> Iterator[Body]:
    for piece in halves(text):
        yield {"type": f"{kind}.delta", **of, "delta": piece}
    yield {"type": f"{kind}.done", **of, name: text}


def halves(text: str) -> list[str]:
    """The text in at most two pieces, none of them empty."""
    return [piece for piece in (text[: len(text) // 2], text[len(text) // 2 :]) if piece]


class AnthropicVoice:
    def whole(self, saying: Saying) -> Body:
        return anthropic_server.message(*_blocks(saying), stop="max_tokens" if saying.cut_off else None)

    def stream(self, saying: Saying) -> bytes:
        return anthropic_server.sse(*anthropic_server.events(self.whole(saying)))

    def error(self, message: str, code: str | None = None) -> Body:
        return anthropic_server.error("invalid_request_error", message)


def _blocks(saying: Saying) -> Iterator[Body]:
    if saying.thinking:
        yield {"type": "thinking", "thinking": saying.thinking, "signature": "c2ln"}
    if saying.text:
        yield {"type": "text", "text": saying.text}
    for call in saying.calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments)}


VOICES: Mapping[str, Voice] = {
    "openai-chat": ChatVoice(),
    "openai-responses": ResponsesVoice(),
    "anthropic-messages": AnthropicVoice(),
}
