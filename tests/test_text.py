"""Text that models, tools and users wrote."""

from __future__ import annotations

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.llm import ToolCall
from tactician.runs import OutputError
from tactician.testing import ScriptedModel
from tactician.text import (
    GrowingText,
    describe_error,
    escape_controls,
    escape_json_controls,
    replace_surrogates,
    strip_code_fence,
)

FENCE = re.compile(r"^\s*```[\w-]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)
ANY = st.text(st.characters(), max_size=200)


@given(st.text(st.sampled_from("`` \n\tjson-x{}"), max_size=24))
def test_a_fence_is_found_where_a_regular_expression_finds_it(text: str) -> None:
    found = FENCE.match(text)
    assert strip_code_fence(text) == (None if found is None else found[1].strip())


def test_a_fence_that_never_ends_takes_no_time() -> None:
    began = time.process_time()
    for hostile in ("```json\n" + " " * 1_000_000 + "\n" * 1_000_000 + "x", "`" * 2_000_000, "```" + "a" * 2_000_000):
        strip_code_fence(hostile)
    assert time.process_time() - began < 1


@given(ANY)
def test_text_without_surrogates_can_be_encoded_and_other_text_stays(text: str) -> None:
    replaced = replace_surrogates(text)
    replaced.encode()
    if not any("\ud800" <= character <= "\udfff" for character in text):
        assert replaced == text


def test_a_pair_of_surrogates_becomes_its_character() -> None:
    assert replace_surrogates("a\ud83d\ude00b\ud83dc") == "a\U0001f600b\ufffdc"


@given(ANY)
def test_nothing_commands_the_terminal(text: str) -> None:
    shown = escape_controls(text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", shown)


def test_what_joins_emoji_and_words_stays() -> None:
    for text in ("\U0001f469\u200d\U0001f4bb", "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "a\tb\n"):
        assert escape_controls(text) == text


@given(st.lists(st.text(max_size=40), max_size=40))
def test_a_text_that_grows_is_whole_whenever_it_is_due(pieces: list[str]) -> None:
    growing, length = GrowingText(), 0
    last = ""
    for place, piece in enumerate(pieces, 1):
        text, length = growing.add(piece), length + len(piece)
        assert text in (None, "".join(pieces[:place]))
        assert text is not None or length >= 64
        last = last if text is None else text
    assert (growing.end() or last) == "".join(pieces)
    assert growing.end() is None


def test_a_long_text_is_due_a_few_hundred_times() -> None:
    growing = GrowingText()
    assert sum(growing.add("a") is not None for _ in range(100_000)) < 700


class UnreadableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nobody reads this")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("wrong"), "ValueError: wrong"),
        (KeyError(), "KeyError"),
        (UnreadableError(), "UnreadableError: (its message cannot be read: RuntimeError)"),
        (ValueError("\ud800"), "ValueError: \\ud800"),
    ],
)
def test_every_error_has_a_description(error: Exception, text: str) -> None:
    assert describe_error(error) == text


def test_the_description_of_an_error_is_bounded() -> None:
    assert len(describe_error(ValueError("x" * 1_000_000))) < 11_000


@given(ANY)
def test_json_with_escapes_means_the_same(text: str) -> None:
    escaped = escape_json_controls(json.dumps(text, ensure_ascii=False))
    assert json.loads(escaped) == text
    assert escape_controls(escaped) == escaped


@pytest.mark.parametrize("text", ["\ud800", '{"a": "\ud800"}'])
def test_half_characters_in_arguments_are_replaced(text: str) -> None:
    call = ToolCall("1", "f", text)
    if "{" in text:
        assert call.parse_arguments() == {"a": "\ufffd"}
    else:
        with pytest.raises(ValueError, match="expected value"):
            call.parse_arguments()


async def test_half_characters_in_a_typed_answer_are_not_valid() -> None:
    with pytest.raises(OutputError, match="no valid int"):
        await ScriptedModel(*["\ud800"] * 3).ai().create(int, "x")
