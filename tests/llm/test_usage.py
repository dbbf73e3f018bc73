"""Tokens, whose they are, and what they cost."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from tactician.llm import ModelPrice, Usage
from tactician.llm.usage import NO_USAGE, UsageTally

MILLION = 1_000_000
ONE = Usage(input_tokens=MILLION, output_tokens=100_000, requests=1)
CHEAP, DEAR = ModelPrice(1.0, 2.0), ModelPrice(10.0, 20.0)
SOME = st.builds(
    Usage,
    st.integers(0, 9),
    st.integers(0, 9),
    requests=st.integers(0, 2),
    model=st.sampled_from(["", "a:x", "a:y", "b:x"]),
    price=st.sampled_from([None, CHEAP, DEAR]),
)


def of(model: str, price: ModelPrice | None = None, usage: Usage = ONE) -> Usage:
    return replace(usage, model=model, price=price)


def test_usage_adds_up() -> None:
    total = Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50)

    assert total == Usage(11, 22, 33, 44, 55)
    assert total.total_tokens == 33


class TestTheSum:
    def test_of_one_model_is_of_that_model(self) -> None:
        total = of("a:x", CHEAP) + of("a:x", CHEAP)

        assert (total, total.model, total.price, total.parts) == (ONE + ONE, "a:x", CHEAP, ())

    def test_of_several_models_has_a_part_for_each(self) -> None:
        total = of("a:x", CHEAP) + of("b:y", DEAR) + of("a:x", CHEAP)

        assert (total, total.model, total.price) == (ONE + ONE + ONE, "", None)
        assert [(part.model, part.requests, part.price) for part in total.parts] == [
            ("a:x", 2, CHEAP),
            ("b:y", 1, DEAR),
        ]

    def test_stays_as_small_as_there_are_models(self) -> None:
        total = sum((of(f"a:{n % 3}") for n in range(300)), NO_USAGE)

        assert [(part.model, part.requests, part.parts) for part in total.parts] == [
            (f"a:{n}", 100, ()) for n in range(3)
        ]

    def test_with_nothing_is_the_same(self) -> None:
        used = of("a:x", CHEAP)

        assert (used + NO_USAGE) is (NO_USAGE + used) is used

    def test_at_two_prices_of_one_model_costs_both(self) -> None:
        total = of("a:x", CHEAP) + of("a:x", DEAR)

        assert (total.model, total.cost) == ("a:x", 1.2 + 12.0)

    @given(st.lists(SOME, max_size=8), st.integers(0, 8))
    def test_costs_the_same_in_whatever_order_it_is_made(self, usages: list[Usage], place: int) -> None:
        at_once = sum(usages, NO_USAGE)
        in_two = sum(usages[:place], NO_USAGE) + sum(usages[place:], NO_USAGE)

        assert at_once == in_two
        assert at_once.known_cost == pytest.approx(in_two.known_cost)
        assert at_once.known_cost == pytest.approx(sum(one.known_cost for one in usages))
        assert (at_once.cost is None) == (in_two.cost is None) == any(one.cost is None for one in usages)


class TestTheCost:
    @pytest.mark.parametrize("model", ["local", "local:/models/x.gguf", "ollama:qwen3"])
    def test_of_what_runs_here_is_nothing(self, model: str) -> None:
        assert of(model).cost == 0

    @pytest.mark.parametrize("model", ["", "scripted", "openai:no-such-model", "nobody:nothing"])
    def test_of_an_unknown_model_is_unknown_and_not_zero(self, model: str) -> None:
        assert of(model).cost is None
        assert of(model).known_cost == 0

    def test_of_no_usage_is_zero(self) -> None:
        assert (NO_USAGE.cost, of("nobody:nothing", usage=NO_USAGE).cost) == (0, 0)

    @pytest.mark.parametrize(
        "model",
        [
            "openai:gpt-5.4",
            "anthropic:claude-sonnet-4-5",
            "azure-openai:gpt-5.4",
            "gemini:gemini-2.5-flash",
            "grok:grok-4",
        ],
    )
    def test_of_a_listed_model_is_known(self, model: str) -> None:
        assert (of(model).cost or 0) > 0

    def test_at_an_instance_follows_from_its_model(self) -> None:
        assert of("my-instance:gpt-5.4").cost == of("openai:gpt-5.4").cost

    def test_at_an_own_price(self) -> None:
        assert of("openai:gpt-5.4", CHEAP).cost == 1.2

    def test_of_tokens_from_a_cache_is_lower(self) -> None:
        cached = of("openai:gpt-5.4", usage=replace(ONE, cache_read_tokens=900_000))

        assert 0 < (cached.cost or 0) < (of("openai:gpt-5.4").cost or 0)

    def test_of_many_short_requests_is_not_that_of_one_long_one(self) -> None:
        short = of("openai:gpt-5.4", usage=Usage(10_000, 1_000, requests=1))
        many = sum([short] * 100, NO_USAGE)

        assert many.cost == pytest.approx(100 * (short.cost or 0))
        assert (replace(many, requests=1).cost or 0) > (many.cost or 0)

    def test_is_unknown_when_one_price_is(self) -> None:
        total = of("a:acme", CHEAP) + of("scripted")

        assert (total.cost, total.known_cost) == (None, 1.2)

    def test_is_looked_up_only_when_it_is_read(self) -> None:
        script = (
            "import sys; from tactician.llm import Usage; from tactician.llm.usage import UsageTally\n"
            "tally = UsageTally(); tally.add(Usage(1, 1, requests=1, model='openai:gpt-5.4')); used = tally.total\n"
            "before = 'genai_prices' in sys.modules; print(before, used.cost > 0, 'genai_prices' in sys.modules)"
        )
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)

        assert (ran.stdout, ran.stderr) == ("False True True\n", "")


class TestSigning:
    def test_says_whose_it_is(self) -> None:
        signed = ONE.attribute_to("a:x", CHEAP)

        assert (signed, signed.model, signed.price) == (ONE, "a:x", CHEAP)

    def test_what_is_said_already_stays(self) -> None:
        used, several = of("a:x", CHEAP), of("a:x") + of("b:y")

        assert used.attribute_to("b:y", DEAR) is used
        assert used.attribute_to("b:y") is used
        assert several.attribute_to("c:z", DEAR) is several

    def test_a_price_can_come_later(self) -> None:
        signed = of("a:x").attribute_to("b:y", CHEAP)

        assert (signed.model, signed.price) == ("a:x", CHEAP)


def test_it_can_be_stored() -> None:
    used = of("a:x", CHEAP) + of("b:y", DEAR)
    stored: TypeAdapter[Usage] = TypeAdapter(Usage)
    read = stored.validate_json(stored.dump_json(used))

    assert (read, read.parts, read.cost) == (used, used.parts, used.cost)
    assert [part.model for part in read.parts] == ["a:x", "b:y"]


class TestTheTally:
    def test_counts_by_model_and_tells_its_parents(self) -> None:
        grandparent = UsageTally()
        parent = UsageTally(grandparent)
        first, second = UsageTally(parent), UsageTally(parent)

        first.add(Usage(1, 1, requests=1, model="a"))
        second.add(Usage(2, 2, requests=1, model="a"))
        second.add(Usage(4, 4, requests=1, model="b"))

        assert first.by_model == {"a": Usage(1, 1, requests=1)}
        assert parent.by_model == grandparent.by_model == {"a": Usage(3, 3, requests=2), "b": Usage(4, 4, requests=1)}
        assert grandparent.total == Usage(7, 7, requests=3)
        assert UsageTally().total is NO_USAGE

    def test_knows_the_cost_by_model_by_instance_and_in_all(self) -> None:
        tally = UsageTally(parent := UsageTally())
        tally.add(of("a:x", CHEAP))
        tally.add(of("a:y", DEAR))
        tally.add(of("b:x", CHEAP))

        assert {name: used.cost for name, used in tally.by_model.items()} == {"a:x": 1.2, "a:y": 12.0, "b:x": 1.2}
        assert {name: used.cost for name, used in tally.by_instance.items()} == {"a": 13.2, "b": 1.2}
        assert tally.total.cost == parent.total.cost == pytest.approx(14.4)

    def test_takes_the_usage_of_several_models_apart(self) -> None:
        tally = UsageTally()
        tally.add(of("a:x", CHEAP) + of("b:y", DEAR))
        tally.add(of("a:x", CHEAP))

        assert {name: used.requests for name, used in tally.by_model.items()} == {"a:x": 2, "b:y": 1}
        assert tally.total.cost == pytest.approx(14.4)
