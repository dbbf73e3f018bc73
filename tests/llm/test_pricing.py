"""What tokens cost."""

from __future__ import annotations

import pytest

from tactician.llm import ModelPrice, Usage, UsageTally, cost_of, price_for

MILLION = 1_000_000
OWN = {"acme-": ModelPrice(1.0, 2.0), "acme-large": ModelPrice(10.0, 20.0, cache_read=1.0, cache_write=12.5)}


def test_the_longest_prefix_decides() -> None:
    assert price_for("acme-small-1", OWN) == ModelPrice(1.0, 2.0)
    assert price_for("ACME-Large-2", OWN) == OWN["acme-large"]
    assert price_for("other", OWN) is None


def test_cached_tokens_have_their_own_price_and_are_not_counted_twice() -> None:
    usage = Usage(3 * MILLION, MILLION, cache_read_tokens=MILLION, cache_write_tokens=MILLION)
    assert OWN["acme-large"].cost(usage) == 10.0 + 1.0 + 12.5 + 20.0
    assert OWN["acme-"].cost(usage) == 3.0 + 2.0


def test_an_own_price_comes_before_the_list() -> None:
    usage = Usage(MILLION, 0)
    listed = cost_of("openai:gpt-5.4", usage)
    assert listed is not None
    assert listed > 0
    assert cost_of("openai:gpt-5.4", usage, ModelPrice(123.0, 0.0)) == 123.0


@pytest.mark.parametrize("model", ["local", "local:/models/x.gguf", "ollama:qwen3", "docker:ai/smollm2"])
def test_what_runs_on_this_machine_is_free(model: str) -> None:
    assert cost_of(model, Usage(MILLION, MILLION)) == 0.0


@pytest.mark.parametrize("model", ["scripted", "main:no-such-model", "", ":"])
def test_an_unknown_model_has_no_price_and_is_no_error(model: str) -> None:
    assert cost_of(model, Usage(10, 10)) is None


def test_an_instance_is_priced_by_the_model_that_it_serves() -> None:
    usage = Usage(MILLION, MILLION)
    assert cost_of("my-instance:gpt-5.4", usage) == cost_of("openai:gpt-5.4", usage)


def test_a_tally_adds_up_by_model_and_instance_and_tells_its_parent() -> None:
    parent = UsageTally()
    tally = UsageTally(parent)
    tally.add("a:acme-large", Usage(MILLION, 0, requests=1), OWN["acme-large"])
    tally.add("a:acme-small", Usage(MILLION, 0, requests=1), OWN["acme-"])
    tally.add("b:acme-small", Usage(MILLION, MILLION, requests=1), OWN["acme-"])
    assert tally.costs == {"a:acme-large": 10.0, "a:acme-small": 1.0, "b:acme-small": 3.0}
    assert tally.cost == 14.0
    assert tally.by_instance["a"] == Usage(2 * MILLION, 0, requests=2)
    assert parent.cost == tally.cost
    assert parent.total == tally.total


def test_one_unknown_price_makes_the_cost_unknown_but_not_the_rest() -> None:
    tally = UsageTally()
    tally.add("a:acme", Usage(MILLION, 0), ModelPrice(5.0, 1.0))
    tally.add("scripted", Usage(10, 10))
    assert tally.cost is None
    assert tally.known_cost == 5.0
