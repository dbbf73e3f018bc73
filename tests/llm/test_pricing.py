"""What tokens cost."""

from __future__ import annotations

import pytest

from tactician.llm import ModelPrice, Usage
from tactician.llm.usage import calculate_cost, find_price

MILLION = 1_000_000
OWN = {"acme-": ModelPrice(1.0, 2.0), "acme-large": ModelPrice(10.0, 20.0, cache_read=1.0, cache_write=12.5)}


def test_the_longest_prefix_decides() -> None:
    assert find_price("acme-small-1", OWN) == ModelPrice(1.0, 2.0)
    assert find_price("ACME-Large-2", OWN) == OWN["acme-large"]
    assert find_price("other", OWN) is None


def test_a_price_can_be_that_at_one_instance() -> None:
    prices = {"acme": ModelPrice(1.0, 1.0), "EU:acme": ModelPrice(2.0, 2.0), "eu:acme-large": ModelPrice(3.0, 3.0)}

    assert find_price("acme-large", prices, "us") == ModelPrice(1.0, 1.0)
    assert find_price("acme-small", prices, "eu") == ModelPrice(2.0, 2.0)
    assert find_price("acme-large", prices, "eu") == ModelPrice(3.0, 3.0)


def test_cached_tokens_have_their_own_price_and_are_not_counted_twice() -> None:
    usage = Usage(3 * MILLION, MILLION, cache_read_tokens=MILLION, cache_write_tokens=MILLION)
    assert OWN["acme-large"].calculate_cost(usage) == 10.0 + 1.0 + 12.5 + 20.0
    assert OWN["acme-"].calculate_cost(usage) == 3.0 + 2.0


def test_an_own_price_comes_before_the_list() -> None:
    usage = Usage(MILLION, 0)
    listed = calculate_cost("openai:gpt-5.4", usage)
    assert listed is not None
    assert listed > 0
    assert calculate_cost("openai:gpt-5.4", usage, ModelPrice(123.0, 0.0)) == 123.0


@pytest.mark.parametrize("model", ["local", "local:/models/x.gguf", "ollama:qwen3", "docker:ai/smollm2"])
def test_what_runs_on_this_machine_is_free(model: str) -> None:
    assert calculate_cost(model, Usage(MILLION, MILLION)) == 0.0


@pytest.mark.parametrize("model", ["scripted", "main:no-such-model", "", ":"])
def test_an_unknown_model_has_no_price_and_is_no_error(model: str) -> None:
    assert calculate_cost(model, Usage(10, 10)) is None


def test_an_instance_is_priced_by_the_model_that_it_serves() -> None:
    usage = Usage(MILLION, MILLION)
    assert calculate_cost("my-instance:gpt-5.4", usage) == calculate_cost("openai:gpt-5.4", usage)
