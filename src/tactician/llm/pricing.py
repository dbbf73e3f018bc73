"""What tokens cost: the price list of `genai-prices`, and prices of one's own before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
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


NO_PRICES: Mapping[str, ModelPrice] = MappingProxyType({})


def price_for(model: str, prices: Mapping[str, ModelPrice], instance: str = "") -> ModelPrice | None:
    """The price whose name is the longest prefix of `model` or of `instance:model`, in any case; `None` without one."""
    names = model.lower(), f"{instance}:{model}".lower()
    fitting = [prefix for prefix in prices if any(name.startswith(prefix.lower()) for name in names)]
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

    provider, requests = _LISTED_AS.get(instance, instance), max(usage.requests, 1)
    # Some prices rise with the length of a request: so many short ones are priced as such, not as one long one.
    counted = ListedUsage(
        input_tokens=usage.input_tokens / requests,
        output_tokens=usage.output_tokens / requests,
        cache_read_tokens=usage.cache_read_tokens / requests,
        cache_write_tokens=usage.cache_write_tokens / requests,
    )
    try:
        known = provider if provider in _providers_on_the_list() else None
        return float(calc_price(counted, model_ref=model, provider_id=known).total_price) * requests
    except (LookupError, ValueError):
        return None
