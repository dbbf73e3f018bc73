"""A stream of chunks says the same as one whole answer, however it is divided."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from tactician.llm import ModelResponse
from tactician.llm.model import Delta, TextDelta, ThinkingDelta, ToolCallDelta
from tactician.llm.wire.openai_chat import ChatStreamDecoder, decode
from tests.support.chat_server import USAGE, call, call_piece, chunk, completion, usage_chunk

WORDS = st.text(max_size=12)


@st.composite
def divided(draw: st.DrawFn, text: str) -> list[str]:
    places = sorted(draw(st.sets(st.integers(0, len(text)), max_size=4)))
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True)]


@st.composite
def answers(draw: st.DrawFn) -> tuple[dict[str, object], list[dict[str, object]]]:
    """A whole completion, and chunks that say the same."""
    thinking, text = draw(WORDS), draw(WORDS)
    names = draw(st.lists(st.text("abc_", min_size=1, max_size=5), max_size=3))
    calls = [(f"id{n}", name, json.dumps({"q": draw(WORDS)})) for n, name in enumerate(names)]
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    usage: Mapping[str, object] | None = draw(st.sampled_from([None, USAGE, {"prompt_tokens": 2}]))
    whole = completion(text, *(call(*one) for one in calls), thinking=thinking, finish=finish, usage=usage)
    chunks = [chunk(reasoning_content=piece) for piece in draw(divided(thinking))]
    chunks += [chunk(content=piece) for piece in draw(divided(text))]
    chunks += draw(_call_chunks(calls))
    chunks.append(chunk(finish))
    return whole, chunks if usage is None else [*chunks, usage_chunk(usage)]


@st.composite
def _call_chunks(draw: st.DrawFn, calls: Sequence[tuple[str, str, str]]) -> list[dict[str, object]]:
    """The fragments of several calls, mixed, those of one call in order."""
    waiting = [
        [call_piece(n, id=key, name=name), *(call_piece(n, piece) for piece in draw(divided(arguments)))]
        for n, (key, name, arguments) in enumerate(calls)
    ]
    mixed = []
    while waiting := [pieces for pieces in waiting if pieces]:
        mixed.append(draw(st.sampled_from(waiting)).pop(0))
    return [chunk(tool_calls=[piece]) for piece in mixed]


def stream(chunks: Sequence[object]) -> tuple[list[Delta], ModelResponse]:
    decoder = ChatStreamDecoder("m")
    deltas = [delta for one in chunks for delta in decoder.feed(json.dumps(one))]
    return deltas, decoder.response()


@given(answers())
def test_a_stream_gives_the_response_that_the_whole_answer_gives(
    answer: tuple[dict[str, object], list[dict[str, object]]],
) -> None:
    whole, chunks = answer

    assert stream(chunks)[1] == decode(whole)


@given(answers())
def test_the_deltas_add_up_to_the_response(answer: tuple[dict[str, object], list[dict[str, object]]]) -> None:
    deltas, response = stream(answer[1])

    assert "".join(one.text for one in deltas if isinstance(one, TextDelta)) == response.message.text
    assert "".join(one.text for one in deltas if isinstance(one, ThinkingDelta)) == response.message.thinking
    for index, made in enumerate(response.message.tool_calls):
        pieces = [one for one in deltas if isinstance(one, ToolCallDelta) and one.index == index]
        assert {(piece.id, piece.name) for piece in pieces} == {(made.id, made.name)}
        assert "".join(piece.arguments for piece in pieces) == made.arguments


def test_fragments_without_an_index_are_told_apart_by_their_place() -> None:
    calls = [{"id": "a", "function": {"name": "f", "arguments": "{}"}}, {"id": "b", "function": {"name": "g"}}]

    _, response = stream([chunk("tool_calls", tool_calls=calls)])

    assert [(one.id, one.name, one.arguments) for one in response.message.tool_calls] == [
        ("a", "f", "{}"),
        ("b", "g", "{}"),
    ]
