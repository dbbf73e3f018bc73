"""How long messages are: counted where the tokenizer is at hand, estimated elsewhere."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator

import pytest

from tactician.conversation import find_token_counter
from tactician.conversation import tokens as module
from tactician.conversation.tokens import ESTIMATE, TextCounter
from tactician.llm import AssistantMessage, Document, Image, Message, Text, Thinking, ToolCall, ToolResult, UserMessage
from tactician.llm.messages import ProviderItem, SystemMessage

needs_load_tokenizer = pytest.mark.skipif(sys.version_info >= (3, 14), reason="the extra `tokens` has no wheels for it")
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF" + bytes(10) + b"\xff\xc0\x00\x11\x08"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    find_token_counter.cache_clear()
    module._load_tokenizer.cache_clear()


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (UserMessage("x" * 40), 14),
        (UserMessage(""), 5),
        (SystemMessage("x" * 8), 6),
        (ToolResult("a", "look", "x" * 40), 20),
        (ToolResult("a", "look", ""), 11),
        (AssistantMessage((Text("x" * 8), Thinking("y" * 8), ProviderItem("f", "z" * 8))), 10),
        (AssistantMessage((ToolCall("call", "look", '{"x": 12}'),)), 8),
        (AssistantMessage(), 5),
    ],
)
def test_an_estimate_is_a_quarter_of_the_characters(message: Message, tokens: int) -> None:
    assert ESTIMATE.count(message) == tokens


@pytest.mark.parametrize(
    ("head", "tokens"),
    [
        (PNG + (512).to_bytes(4, "big") + (64).to_bytes(4, "big"), 85),
        (PNG + (64).to_bytes(4, "big") + (513).to_bytes(4, "big"), 765),
        (b"GIF89a" + (600).to_bytes(2, "little") + (1).to_bytes(2, "little"), 765),
        (JPEG + (400).to_bytes(2, "big") + (300).to_bytes(2, "big"), 85),
        (JPEG + (300).to_bytes(2, "big") + (1024).to_bytes(2, "big"), 765),
        (JPEG, 170),
        (b"RIFF....WEBP", 170),
        (PNG, 170),
    ],
)
def test_a_picture_counts_by_its_size(head: bytes, tokens: int) -> None:
    assert ESTIMATE.count(UserMessage((Image.from_bytes(head),))) == 4 + tokens


def test_a_picture_of_unknown_size_lies_between() -> None:
    assert ESTIMATE.count(UserMessage((Image(url="https://example.org/a.png"),))) == 174
    assert ESTIMATE.count(UserMessage((Image(data="a"),))) == 174


def test_a_document_counts_by_its_size() -> None:
    def count(document: Document) -> int:
        return ESTIMATE.count(UserMessage((document,)))

    text = Document(data=base64.b64encode(b"x" * 3000).decode(), media_type="text/plain")
    assert count(text) == 4 + 750
    assert count(Document(data=base64.b64encode(bytes(300)).decode())) == 4 + 765
    assert count(Document(data=base64.b64encode(bytes(120_000)).decode())) == 4 + 3000
    assert count(Document(url="https://example.org/a.pdf")) == 4 + 765


def test_a_counter_of_ones_own_counts_the_texts() -> None:
    words = TextCounter(lambda text: len(text.split()))
    assert words.count(UserMessage("so it goes")) == 7
    assert words.count(ToolResult("a", "look", "so it goes")) == 13


HELLO = UserMessage("Hello, world! Здравствуй, мир!")


@needs_load_tokenizer
class TestTokenizers:
    @pytest.mark.parametrize(
        "model",
        ["gpt-5.4", "openai:gpt-5.4-mini", "openrouter:openai/gpt-4o", "azure:ft:gpt-4.1:acme", "ft:gpt-4o:acme", "o3"],
    )
    def test_new_models_of_openai_are_counted_exactly(self, model: str) -> None:
        assert find_token_counter(model).count(HELLO) == 4 + 11

    @pytest.mark.parametrize("model", ["gpt-4", "openai:gpt-4-turbo", "azure-openai:gpt-35-turbo"])
    def test_old_models_of_openai_have_another_vocabulary(self, model: str) -> None:
        assert find_token_counter(model).count(HELLO) == 4 + 13

    def test_what_is_no_text_is_counted_all_the_same(self) -> None:
        assert find_token_counter("gpt-5.4").count(UserMessage("\ud800")) == find_token_counter("gpt-5.4").count(
            UserMessage("?")
        )

    def test_special_tokens_in_a_text_are_text(self) -> None:
        assert find_token_counter("gpt-5.4").count(UserMessage("<|endoftext|>")) == 4 + 7

    def test_a_model_has_one_counter(self) -> None:
        assert find_token_counter("gpt-5.4") is find_token_counter("gpt-5.4")


@pytest.mark.parametrize("model", ["anthropic:claude-sonnet-5", "gpt-4-farm:llama", "local", "local:/m/a.gguf", ""])
def test_other_models_are_estimated(model: str) -> None:
    assert find_token_counter(model) is ESTIMATE


def test_without_the_extra_all_are_estimated(monkeypatch: pytest.MonkeyPatch) -> None:
    find_token_counter.cache_clear()
    module._load_tokenizer.cache_clear()
    monkeypatch.setitem(sys.modules, "rs_bpe", None)

    assert find_token_counter("gpt-5.4") is ESTIMATE
