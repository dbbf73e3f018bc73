"""Token usage by model, and its cost: by custom prices, else by the price list of `genai-prices`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from tactician.amounts import Amount
from tactician.events.encoding import encode
from tactician.frozen import frozen

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, JsonValue
    from pydantic_core import CoreSchema

# Names of providers in the price list, where they differ.
_LISTED_AS = {"grok": "x-ai", "gemini": "google", "azure-openai": "azure"}
_FREE = ("local", "ollama", "docker")
_MOST_ADDED = 64


@frozen(enforced=False)
class Usage:
    """Tokens of calls.

    `input_tokens` includes tokens read from and written to a cache, `output_tokens` includes tokens of thinking.

    Attributes:
        model: the model, as `instance:model`; empty if unknown, or if there are several.
        price: the model's own price, if configured.
        answered_by: the name of the model as the provider reports it: the requested name may be a deployment's.
        parts: the usage of each model, if there are several.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    reasoning_tokens: int = 0
    model: str = field(default="", compare=False, kw_only=True)
    price: ModelPrice | None = field(default=None, compare=False, kw_only=True)
    answered_by: str = field(default="", compare=False, kw_only=True)
    parts: tuple[Usage, ...] = field(default=(), compare=False, repr=False, kw_only=True)

    @property
    def total_tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    @property
    def cost(self) -> float | None:
        """US dollars; `None` if a price is not known. Empty usage costs 0. Prices are looked up on each read."""
        return None if None in self._costs() else self.known_cost

    @property
    def known_cost(self) -> float:
        """US dollars, as far as prices are known."""
        return sum(cost for cost in self._costs() if cost is not None)

    def attribute_to(self, model: str, price: ModelPrice | None = None) -> Usage:
        """Return the usage as a model's, at its own price; existing values stay."""
        if self.parts or (self.model and (self.price is not None or price is None)):
            return self
        return Usage(  # `replace` takes four times as long, in each call of a model
            self.input_tokens,
            self.output_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.requests,
            self.reasoning_tokens,
            model=self.model or model,
            price=self.price or price,
            answered_by=self.answered_by,
        )

    def __add__(self, other: Usage) -> Usage:
        if self is NO_USAGE or (not self.requests and self == NO_USAGE):
            return other
        if other is NO_USAGE or (not other.requests and other == NO_USAGE):
            return self
        is_alike = self.model == other.model and self.price == other.price and self.answered_by == other.answered_by
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.requests + other.requests,
            self.reasoning_tokens + other.reasoning_tokens,
            model=self.model if self.model == other.model else "",
            price=self.price if is_alike else None,
            answered_by=self.answered_by if is_alike else "",
            parts=() if is_alike and not (self.parts or other.parts) else _merge(self, other),
        )

    def _costs(self) -> list[float | None]:
        return [
            0.0 if part == NO_USAGE else calculate_cost(part.model, part, part.price, part.answered_by)
            for part in self.parts or (self,)
        ]


NO_USAGE = Usage()


def _get_source(usage: Usage) -> tuple[str, ModelPrice | None, str]:
    """Return the key by which usages are added up."""
    return usage.model, usage.price, usage.answered_by


def _merge(*usages: Usage) -> tuple[Usage, ...]:
    """Merge usages by model and price."""
    merged: dict[tuple[str, ModelPrice | None, str], Usage] = {}
    for usage in usages:
        for part in usage.parts or (usage,):
            source = _get_source(part)
            merged[source] = merged.get(source, NO_USAGE) + part
    return tuple(merged.values())


class UsageTally:
    """Tally of usage, model by model. Additions reach the `parent` too.

    Most tallies are read once or never, so usage is summed up when a total is read.
    """

    __slots__ = ("_added", "_parent", "_summed_up")

    def __init__(self, parent: UsageTally | None = None) -> None:
        self._summed_up: dict[str, Usage] | None = None
        self._added: list[Usage] = []
        self._parent = parent

    def add(self, usage: Usage) -> None:
        """Add usage, for each of its models separately."""
        tally: UsageTally | None = self
        while tally is not None:
            added = tally._added
            added.append(usage)
            if len(added) > _MOST_ADDED:
                tally._sum_up()
            tally = tally._parent

    def restore(self, usages: Iterable[Usage]) -> None:
        """Add earlier usage, but not to the parent, which has counted it."""
        for usage in usages:
            self._count(usage)

    def _sum_up(self) -> None:
        added, self._added = self._added, []
        for usage in added:
            self._count(usage)

    def _count(self, usage: Usage) -> None:
        if self._summed_up is None:
            self._summed_up = {}
        for part in usage.parts or (usage,):
            previous = self._summed_up.get(part.model)
            self._summed_up[part.model] = part if previous is None else previous + part

    @property
    def by_model(self) -> Mapping[str, Usage]:
        """Usage of each model, by the model's full name."""
        if self._added:
            self._sum_up()
        return self._summed_up or {}

    @property
    def by_instance(self) -> Mapping[str, Usage]:
        """Usage of each instance or provider."""
        totals: dict[str, Usage] = {}
        for model, usage in self.by_model.items():
            instance = model.partition(":")[0]
            totals[instance] = totals.get(instance, NO_USAGE) + usage
        return totals

    @property
    def total(self) -> Usage:
        """Usage of all models together."""
        if len(self._added) == 1 and not self._summed_up:  # most runs make a single request
            return self._added[0]
        by_model = self.by_model
        return next(iter(by_model.values())) if len(by_model) == 1 else sum(by_model.values(), NO_USAGE)

    def __repr__(self) -> str:
        return f"UsageTally({self.by_model!r})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a tally from a list with the usage of each model, and write such a list."""
        from pydantic_core import core_schema

        usages = handler.generate_schema(list[Usage])
        return core_schema.no_info_after_validator_function(
            cls.of,
            usages,
            serialization=core_schema.plain_serializer_function_ser_schema(_list_usages, return_schema=usages),
        )

    @classmethod
    def of(cls, usages: Iterable[Usage]) -> UsageTally:
        """Return a tally of these usages."""
        tally = cls()
        for usage in usages:
            tally.add(usage)
        return tally


def _list_usages(tally: UsageTally) -> list[Usage]:
    return list(tally.by_model.values())


@encode.register(UsageTally)
def _(tally: UsageTally, depth: int = 0) -> JsonValue:
    return [encode(usage, depth + 1) for usage in tally.by_model.values()]


# Prices.


@frozen
class ModelPrice:
    """US dollars per million tokens. Without prices of their own, cached tokens cost the input price."""

    input: Amount
    output: Amount
    cache_read: Amount | None = None
    cache_write: Amount | None = None

    def calculate_cost(self, usage: Usage) -> float:
        """Return the US dollars for the usage."""
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


def find_price(model: str, prices: Mapping[str, ModelPrice], instance: str = "") -> ModelPrice | None:
    """Return the price whose name is the longest prefix of `model` or of `instance:model`, in any case."""
    names = model.lower(), f"{instance}:{model}".lower()
    fitting = [prefix for prefix in prices if any(name.startswith(prefix.lower()) for name in names)]
    return prices[max(fitting, key=len)] if fitting else None


def calculate_cost(model: str, usage: Usage, price: ModelPrice | None = None, answered_by: str = "") -> float | None:
    """Return the US dollars for the usage of a model named `instance:model`, at its own price or the listed price.

    The listed price is for the model that answered, else for the requested name, which may be a deployment's.
    The result is `None` if no price is known. Models in this process, at Ollama and in Docker are free.
    """
    if price is not None:
        return price.calculate_cost(usage)
    instance, colon, name = model.partition(":")
    if instance in _FREE:
        return 0.0
    instance, name = (instance, name) if colon else ("", model)
    cost = _look_up_cost(instance, answered_by, usage) if answered_by else None
    return _look_up_cost(instance, name, usage) if cost is None else cost


@cache
def _list_priced_providers() -> frozenset[str]:
    from genai_prices.data_snapshot import get_snapshot

    return frozenset(provider.id for provider in get_snapshot().providers)


def _look_up_cost(instance: str, model: str, usage: Usage) -> float | None:
    from genai_prices import Usage as ListedUsage
    from genai_prices import calc_price

    provider, requests = _LISTED_AS.get(instance, instance), max(usage.requests, 1)
    # Some prices rise with the length of a request: so many short requests cost something else than a long request.
    counted = ListedUsage(
        input_tokens=usage.input_tokens / requests,
        output_tokens=usage.output_tokens / requests,
        cache_read_tokens=usage.cache_read_tokens / requests,
        cache_write_tokens=usage.cache_write_tokens / requests,
    )
    try:
        priced_provider = provider if provider in _list_priced_providers() else None
        return float(calc_price(counted, model_ref=model, provider_id=priced_provider).total_price) * requests
    except (LookupError, ValueError):
        return None
