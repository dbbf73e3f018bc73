"""Tokens, and who used them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tactician.llm.pricing import ModelPrice, cost_of


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more calls.

    `input_tokens` includes those read from and written to a cache, `output_tokens` those that were spent on thinking.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    requests: int = 0
    reasoning_tokens: int = 0

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
            self.reasoning_tokens + other.reasoning_tokens,
        )


NO_USAGE = Usage()


class UsageTally:
    """What was used, model by model. What is added is added to the `parent` too.

    Prices are looked up only when somebody asks for the cost.
    """

    __slots__ = ("_by_model", "_parent", "_prices")

    def __init__(self, parent: UsageTally | None = None) -> None:
        self._by_model: dict[str, Usage] = {}
        self._prices: dict[str, ModelPrice] = {}
        self._parent = parent

    def add(self, model: str, usage: Usage, price: ModelPrice | None = None) -> None:
        """Counts a call to a model, named `instance:model`, with its own price if it has one."""
        previous = self._by_model.get(model)
        self._by_model[model] = usage if previous is None else previous + usage
        if price is not None:
            self._prices[model] = price
        if self._parent is not None:
            self._parent.add(model, usage, price)

    @property
    def by_model(self) -> Mapping[str, Usage]:
        """The usage of each model, by the model's full name."""
        return self._by_model

    @property
    def by_instance(self) -> Mapping[str, Usage]:
        """The usage of each instance or provider."""
        totals: dict[str, Usage] = {}
        for model, usage in self._by_model.items():
            instance = model.partition(":")[0]
            totals[instance] = totals.get(instance, NO_USAGE) + usage
        return totals

    @property
    def costs(self) -> Mapping[str, float | None]:
        """US dollars for each model; `None` where the price is not known."""
        return {model: cost_of(model, usage, self._prices.get(model)) for model, usage in self._by_model.items()}

    @property
    def total(self) -> Usage:
        """The usage of all models together."""
        return sum(self._by_model.values(), NO_USAGE)

    @property
    def cost(self) -> float | None:
        """US dollars; `None` when the price of a model that was used is not known. No usage costs 0."""
        costs = self.costs.values()
        known = [cost for cost in costs if cost is not None]
        return sum(known) if len(known) == len(costs) else None

    @property
    def known_cost(self) -> float:
        """US dollars, as far as prices are known."""
        return sum(cost for cost in self.costs.values() if cost is not None)

    def __repr__(self) -> str:
        return f"UsageTally({self._by_model!r})"
