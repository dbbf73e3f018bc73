from __future__ import annotations

import pytest

from tactician.llm import NO_USAGE, Usage, UsageTally

ONE = Usage(input_tokens=1_000_000, output_tokens=100_000, requests=1)


def test_usage_adds_up() -> None:
    total = Usage(1, 2, 3, 4, 5) + Usage(10, 20, 30, 40, 50)

    assert total == Usage(11, 22, 33, 44, 55)
    assert total.total_tokens == 33


def test_a_tally_counts_by_model_and_tells_its_parents() -> None:
    grandparent = UsageTally()
    parent = UsageTally(grandparent)
    first, second = UsageTally(parent), UsageTally(parent)

    first.add("a", Usage(1, 1, requests=1))
    second.add("a", Usage(2, 2, requests=1))
    second.add("b", Usage(4, 4, requests=1))

    assert first.by_model == {"a": Usage(1, 1, requests=1)}
    assert parent.by_model == grandparent.by_model == {"a": Usage(3, 3, requests=2), "b": Usage(4, 4, requests=1)}
    assert grandparent.total == Usage(7, 7, requests=3)
    assert UsageTally().total == NO_USAGE


@pytest.mark.parametrize("model", ["local", "local:/models/x.gguf", "ollama:qwen3"])
def test_what_runs_here_costs_nothing(model: str) -> None:
    assert cost_of(model) == 0


@pytest.mark.parametrize("model", ["scripted", "openai:no-such-model", "nobody:nothing"])
def test_an_unknown_price_is_not_zero(model: str) -> None:
    assert cost_of(model) is None


@pytest.mark.parametrize(
    "model",
    ["openai:gpt-5.4", "anthropic:claude-sonnet-4-5", "azure-openai:gpt-5.4", "gemini:gemini-2.5-flash", "grok:grok-4"],
)
def test_listed_models_have_a_price(model: str) -> None:
    assert (cost_of(model) or 0) > 0


def test_the_price_of_an_instance_follows_from_its_model() -> None:
    assert cost_of("my-instance:gpt-5.4") == cost_of("openai:gpt-5.4")


def test_tokens_from_a_cache_are_cheaper() -> None:
    cached = UsageTally()
    cached.add("openai:gpt-5.4", Usage(1_000_000, 100_000, cache_read_tokens=900_000, requests=1))

    assert 0 < (cached.cost or 0) < (cost_of("openai:gpt-5.4") or 0)


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    tally = UsageTally()
    assert tally.cost == 0
    tally.add("openai:gpt-5.4", ONE)
    assert tally.cost == cost_of("openai:gpt-5.4")
    tally.add("scripted", ONE)
    assert tally.cost is None


def cost_of(model: str) -> float | None:
    tally = UsageTally()
    tally.add(model, ONE)
    return tally.cost
