"""Nouns agree with their number, and articles with the sound that follows them."""

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tactician.grammar import add_article, format_count, write_number
from tactician.planning import Action, AStarPlanner, Goal, WorldState

NOUNS = st.text(string.ascii_lowercase, min_size=2, max_size=12)


@pytest.mark.parametrize(
    ("number", "noun", "expected"),
    [
        (0, "hit", "0 hits"),
        (1, "hit", "1 hit"),
        (2, "hit", "2 hits"),
        (1.0, "second", "1 second"),
        (0.25, "second", "0.25 seconds"),
        (1_000_000, "token", "1,000,000 tokens"),
        (math.inf, "second", "inf seconds"),
        (1, "retry", "1 retry"),
        (3, "retry", "3 retries"),
        (3, "turn", "3 turns"),
        (3, "day", "3 days"),
        (2, "match", "2 matches"),
        (2, "alias", "2 aliases"),
        (2, "more byte", "2 more bytes"),
    ],
)
def test_a_noun_agrees_with_its_number(number: float, noun: str, expected: str) -> None:
    assert format_count(number, noun) == expected


def test_an_irregular_plural_is_given() -> None:
    assert [format_count(number, "index", "indices") for number in (1, 2)] == ["1 index", "2 indices"]


@given(st.integers(min_value=0), NOUNS)
def test_only_one_is_singular(number: int, noun: str) -> None:
    figure, _, word = format_count(number, noun).partition(" ")
    assert int(figure.replace(",", "")) == number
    assert (word == noun) is (number == 1)


@pytest.mark.parametrize(
    "phrase",
    [
        "an int", "a str", "a float", "an object", "an Order", "a UserInput", "a User", "a Url", "a URL", "a UUID",
        "an Update", "an Unknown", "an hour", "a House", "a Horoscope", "an HTTPError", "an MCPServer", "an LLM",
        "a Union", "a UnionType", "a Unit", "a NoneType", "an `int`", "a 'str'", "an AgentSpec", "an Ensemble",
        "a European", "an Error", "a OneOff", "an OnDemand", "an Answer", "a SupportTicket", "an SMTPServer",
        "an unused", "an unexpected", "an unimportant", "a unique", "a Rule", "an RPC", "an A2AServer", "a Utility",
    ],
)  # fmt: skip
def test_an_article_fits_the_sound_after_it(phrase: str) -> None:
    assert add_article(phrase.partition(" ")[2]) == phrase


@given(NOUNS)
def test_an_article_is_put_before_an_unchanged_noun(noun: str) -> None:
    article, _, word = add_article(noun).partition(" ")
    assert word == noun
    assert article in {"a", "an"}
    assert article == "an" or noun[0] not in "ai"


@pytest.mark.parametrize(
    ("number", "text"), [(7.54e-05, "0.0000754"), (2.5, "2.5"), (3, "3"), (2e9, "2000000000"), (math.inf, "inf")]
)
def test_numbers_for_people_have_no_power_of_ten(number: float, text: str) -> None:
    assert write_number(number) == text
    if math.isfinite(number):
        pay = Action("pay", {}, {"paid": True}, cost=number)
        assert f"cost {text}" in str(AStarPlanner().explain(WorldState({}), [pay], Goal("paid", {"paid": True})))
