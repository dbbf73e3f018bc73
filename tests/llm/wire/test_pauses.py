"""An answer that Anthropic pauses goes on until it is complete, whole and streamed."""

from __future__ import annotations

import pytest

from tactician.llm import ModelRequest, ModelResponse, Text, UserMessage
from tactician.llm.model import TextDelta
from tactician.llm.providers import PROVIDERS
from tactician.llm.remote import RemoteModel
from tests.support.chat_server import ChatServer, answers, sends, sse

ASKED = ModelRequest((UserMessage("Search for long"),))


def leg(text: str, reason: str) -> dict[str, object]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-7",
        "content": [{"type": "text", "text": text}],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }


def streamed_leg(text: str, reason: str) -> bytes:
    start = {**leg("", reason), "content": [], "stop_reason": None}
    return sse(
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
        done=False,
    )


def model_at(server: ChatServer) -> RemoteModel:
    return RemoteModel(
        "claude-sonnet-4-7", PROVIDERS["anthropic"].create_endpoint("sk-ant-key", server.url, model="claude-sonnet-4-7")
    )


async def test_a_paused_answer_goes_on_and_counts_both_legs() -> None:
    async with ChatServer(answers(leg("First. ", "pause_turn")), answers(leg("Second.", "end_turn"))) as server:
        response = await model_at(server).generate(ASKED)
    assert response.message.text == "First. Second."
    assert response.usage.output_tokens == 10
    assert response.finish_reason == "stop"
    assert len(server.received) == 2


async def test_a_paused_stream_goes_on_and_ends_in_the_same_response() -> None:
    async with ChatServer(
        sends(streamed_leg("First. ", "pause_turn")), sends(streamed_leg("Second.", "end_turn"))
    ) as server:
        items = [item async for item in model_at(server).stream(ASKED)]
    assert [item.text for item in items if isinstance(item, TextDelta)] == ["First. ", "Second."]
    last = items[-1]
    assert isinstance(last, ModelResponse)
    assert [part.text for part in last.message.parts if isinstance(part, Text)] == ["First. ", "Second."]


@pytest.mark.parametrize("legs", [20])
async def test_an_answer_that_never_ends_is_not_asked_for_for_ever(legs: int) -> None:
    async with ChatServer(*(answers(leg("More. ", "pause_turn")) for _ in range(legs))) as server:
        response = await model_at(server).generate(ASKED)
    assert len(server.received) == 6
    assert response.message.text.startswith("More. More. ")
