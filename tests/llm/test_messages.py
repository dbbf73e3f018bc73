from __future__ import annotations

import base64
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tactician.llm import AssistantMessage, Document, Image, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import ProviderItem, SystemMessage, join_text, messages_from_json, messages_to_json
from tests.support.effort import FUZZED, examples

WORDS = st.text(max_size=8)
IMAGES = st.builds(Image, url=WORDS) | st.builds(Image.from_bytes, st.binary(max_size=8), st.just("image/jpeg"))
FILES = st.builds(Document, url=WORDS) | st.builds(Document.from_bytes, st.binary(max_size=8), name=WORDS)
USER_PARTS = st.lists(st.builds(Text, WORDS) | IMAGES | FILES, max_size=3).map(tuple)
CALLS = st.builds(ToolCall, WORDS, WORDS, WORDS)
ITEMS = st.builds(ProviderItem, WORDS, WORDS)
THOUGHTS = st.builds(Thinking, WORDS, st.none() | WORDS)
PARTS = st.lists(st.builds(Text, WORDS) | THOUGHTS | CALLS | ITEMS, max_size=3).map(tuple)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(SystemMessage, WORDS),
    st.builds(UserMessage, WORDS | USER_PARTS),
    st.builds(AssistantMessage, PARTS),
    st.builds(ToolResult, WORDS, WORDS, WORDS, st.booleans()),
)


@given(st.lists(MESSAGES, max_size=4).map(tuple))
def test_a_conversation_survives_json(conversation: tuple[Message, ...]) -> None:
    assert messages_from_json(messages_to_json(conversation)) == conversation


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[7]",
        '[{"role": "wizard"}]',
        '[{"role": "user"}]',
        '[{"role": "user", "content": 7}]',
        '[{"text": "x"}, 1]',
    ],
)
def test_untrusted_text_is_validated(text: str) -> None:
    with pytest.raises(ValidationError):
        messages_from_json(text)


def test_a_message_tells_its_parts_apart() -> None:
    made = ToolCall("1", "f", '{"a": 1}')
    message = AssistantMessage((Thinking("hm"), Text("a"), made, Text("b")))

    assert (message.text, message.thinking, message.tool_calls) == ("ab", "hm", (made,))
    assert UserMessage((Text("a"), Image(url="u"), Text("b"))).text == "ab"
    assert UserMessage("a").parts == (Text("a"),)


def test_arguments_of_a_call_are_parsed_on_demand() -> None:
    assert ToolCall("1", "f", '{"a": [1]}').parse_arguments() == {"a": [1]}
    assert ToolCall("1", "f", "").parse_arguments() == {}


@pytest.mark.parametrize("arguments", ["[1]", "7", "{", '{"a": '])
def test_arguments_that_are_no_object_are_refused(arguments: str) -> None:
    with pytest.raises(ValueError):
        ToolCall("1", "f", arguments).parse_arguments()


def test_the_text_of_a_conversation_has_a_line_for_each_message() -> None:
    conversation = (UserMessage("hi"), AssistantMessage((Text("ho"),)), ToolResult("1", "f", "result"))

    assert join_text(conversation) == "hi\nho\nresult"


def test_a_picture_from_a_file_knows_its_type(tmp_path: Path) -> None:
    file = tmp_path / "a.jpg"
    file.write_bytes(b"xyz")

    assert Image.from_path(file) == Image(data="eHl6", media_type="image/jpeg")
    assert Image.from_path(str(file)).location == "data:image/jpeg;base64,eHl6"


@pytest.mark.parametrize("name", ["a", "a.txt"])
def test_a_file_that_is_no_picture_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"some text")
    with pytest.raises(ValueError, match=rf"{name}: the bytes begin like no PNG.*Image\.from_bytes"):
        Image.from_path(tmp_path / name)


BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff\xe0": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"RIFF\x00\x01\n\x03WEBPVP8 ": "image/webp",
    b"BM" + bytes(12): "image/bmp",
    b"II*\x00": "image/tiff",
    b"\x00\x00\x00\x20ftypavif": "image/avif",
    b"\x00\x00\x00\x18ftypheic": "image/heic",
}


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_a_picture_knows_its_type_by_its_first_bytes(tmp_path: Path, beginning: bytes) -> None:
    content, file = beginning + b" and more", tmp_path / "picture"
    file.write_bytes(content)
    expected = Image(data=base64.b64encode(content).decode(), media_type=BEGINNINGS[beginning])

    assert Image.from_bytes(content) == Image(data=content) == Image.from_path(file) == expected
    assert messages_from_json(messages_to_json([UserMessage((expected,))])) == (UserMessage((expected,)),)
    assert Image.from_bytes(content, "image/x-mine").media_type == "image/x-mine"
    assert Image(data=content, media_type="image/x-mine").media_type == "image/x-mine"


@pytest.mark.parametrize("content", [b"", b"text", b"RIFF\x00\x00\x00\x00WAVE", b"\x89PNG", b"%PDF-1.7"])
def test_bytes_that_tell_no_type_ask_for_it(content: bytes) -> None:
    makers: tuple[Callable[[], Image], ...] = (lambda: Image.from_bytes(content), lambda: Image(data=content))
    for make in makers:
        with pytest.raises(ValueError, match=r'name their type, as in Image\.from_bytes\(content, "image/png"\)'):
            make()


@examples(FUZZED)
@given(st.binary(max_size=40))
def test_bytes_are_a_picture_or_a_value_error(content: bytes) -> None:
    with suppress(ValueError):
        assert Image.from_bytes(content).media_type.startswith("image/")


def test_the_repr_of_a_picture_does_not_show_its_bytes() -> None:
    assert "eHl6" not in repr(Image.from_bytes(b"xyz", "image/png"))
