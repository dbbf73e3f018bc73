"""Tokens, and the money that they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

# What the price list calls a provider, where it has another name for it.
_PRICE_LIST_NAMES = {"grok": "x-ai", "gemini": "google", "azure-openai": "azure"}
_OPERATED_AT_NO_PRICE = ("local", "ollama")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls. `input_tokens` includes those read from and written to a cache."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.requests + other.requests,
        )


NO_USAGE = Usage()


class UsageTally:
    """What was used, model by model. What is added is added to the `parent` too.

    Prices are looked up only when somebody asks for the cost.
    """

    __slots__ = ("_by_model", "_parent")

    def __init__(self, parent: UsageTally | None = None) -> None:
        self._by_model: dict[str, Usage] = {}
        self._parent = parent

    def add(self, model: str, usage: Usage) -> None:
        """Counts a call to a model."""
        previous = self._by_model.get(model)
        self._by_model[model] = usage if previous is None else previous + usage
        if self._parent is not None:
            self._parent.add(model, usage)

    @property
    def by_model(self) -> Mapping[str, Usage]:
        """The usage of each model, by the model's full name."""
        return self._by_model

    @property
    def total(self) -> Usage:
        """The usage of all models together."""
        return sum(self._by_model.values(), NO_USAGE)

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when the price of a model that was used is not known. No usage costs 0."""
        costs = [price(model, usage) for model, usage in self._by_model.items()]
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    def __repr__(self) -> str:
        return f"UsageTally({self._by_model!r})"


def price(model: str, usage: Usage) -> float | None:
    """US dollars for the usage of a model named `provider:model`; `None` when the price is not known."""
    provider, _, name = model.rpartition(":") if ":" not in model else model.partition(":")
    if provider in _OPERATED_AT_NO_PRICE or model == "local":
        return 0.0
    return _listed_price(provider, name, usage)


@cache
def _providers_on_the_list() -> frozenset[str]:
    from genai_prices.data_snapshot import get_snapshot

    return frozenset(provider.id for provider in get_snapshot().providers)


def _listed_price(provider: str, model: str, usage: Usage) -> float | None:
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    listed = _PRICE_LIST_NAMES.get(provider, provider)
    counted = ListedUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        known = listed if listed in _providers_on_the_list() else None
        return float(calc_price(counted, model_ref=model, provider_id=known).total_price)
    except (LookupError, ValueError):
        return None
