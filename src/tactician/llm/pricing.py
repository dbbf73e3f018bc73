"""What tokens cost: the price list of `genai-prices`, and prices of one's own before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tactician.llm.usage import Usage

# What the price list calls a provider, where it has another name for it.
_LISTED_AS = {"grok": "x-ai", "gemini": "google", "azure-openai": "azure"}
_FREE = ("local", "ollama", "docker")


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """US dollars per million tokens. Without prices of their own, cached tokens cost what input costs."""

    input: float
    output: float
    cache_read: float | None = None
    cache_write: float | None = None

    def cost(self, usage: Usage) -> float:
        """US dollars for the usage."""
        read = self.input if self.cache_read is None else self.cache_read
        write = self.input if self.cache_write is None else self.cache_write
        fresh = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
        millionths = (
            fresh * self.input
            + usage.cache_read_tokens * read
            + usage.cache_write_tokens * write
            + usage.output_tokens * self.output
        )
        return millionths / 1_000_000


def price_for(model: str, prices: Mapping[str, ModelPrice]) -> ModelPrice | None:
    """The price whose name is the longest prefix of the model's, in any case; `None` without one."""
    fitting = [name for name in prices if model.lower().startswith(name.lower())]
    return prices[max(fitting, key=len)] if fitting else None


def cost_of(model: str, usage: Usage, own: ModelPrice | None = None) -> float | None:
    """US dollars for the usage of a model named `instance:model`, at its own price or the listed one.

    `None` when no price is known. Models in this process, at Ollama and in Docker are free.
    """
    if own is not None:
        return own.cost(usage)
    instance, colon, name = model.partition(":")
    if instance in _FREE:
        return 0.0
    return _listed(instance, name, usage) if colon else _listed("", model, usage)


@cache
def _providers_on_the_list() -> frozenset[str]:
    from genai_prices.data_snapshot import get_snapshot

    return frozenset(provider.id for provider in get_snapshot().providers)


def _listed(instance: str, model: str, usage: Usage) -> float | None:
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    provider = _LISTED_AS.get(instance, instance)
    counted = ListedUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        known = provider if provider in _providers_on_the_list() else None
        return float(calc_price(counted, model_ref=model, provider_id=known).total_price)
    except (LookupError, ValueError):
        return None
