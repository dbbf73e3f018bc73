"""Guardrails that are ready to use."""

from __future__ import annotations

import pytest

from tactician.errors import ConfigurationError
from tactician.guardrails import blocked_words, failed, matches, max_length, no_match, passed, retry
from tactician.guardrails.decorators import as_input_guardrail, as_output_guardrail
from tests.guardrails.seen import answered, context, said


def test_max_length() -> None:
    check = max_length(3)

    assert check("abc") == passed()
    assert check("abcd") == failed("It has 4 characters; 3 are allowed.")


@pytest.mark.parametrize("text", ["a secret", "SECRET!", "(top-secret)", "c++ rules"])
def test_blocked_words_are_found(text: str) -> None:
    assert not blocked_words(["secret", "c++"])(text).passed


@pytest.mark.parametrize("text", ["", "secretary", "undersecret", "c+ rules"])
def test_other_words_pass(text: str) -> None:
    assert blocked_words(["secret", "c++"])(text).passed


def test_the_word_is_told() -> None:
    assert blocked_words("Damn")("damn it").reason == "It contains 'damn', which is not allowed."


@pytest.mark.parametrize("words", [[], ["a", ""]])
def test_no_words_would_block_nothing_or_everything(words: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="needs words that are not empty"):
        blocked_words(words)


def test_matches() -> None:
    assert matches(r"^\d+$")("123").passed
    assert matches(r"^\d+$")("12a") == failed(r"It does not match '^\\d+$'.")
    assert matches(r"^\d+$", "Only digits")("12a") == failed("Only digits")


def test_no_match() -> None:
    digits = r"\d{4}"

    assert no_match(digits)("call me").passed
    assert no_match(digits)("call 5555") == failed(r"It matches '\\d{4}', which is not allowed.")
    assert no_match(digits, "No numbers")("call 5555") == failed("No numbers")


async def test_it_can_make_the_model_answer_again() -> None:
    guardrail = as_output_guardrail(max_length(3, otherwise=retry))

    assert guardrail.name == "max_length"
    assert await guardrail.check(answered("abcd", {"not": "text"}), context()) == retry(
        "It has 4 characters; 3 are allowed."
    )


@pytest.mark.parametrize("check", [max_length(3), blocked_words(["hello"]), matches("x"), no_match("l")])
async def test_all_guard_an_input(check: object) -> None:
    assert callable(check)
    assert not (await as_input_guardrail(check).check(said("hello"), context())).passed
