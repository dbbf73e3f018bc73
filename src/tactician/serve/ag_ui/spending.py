"""What a run has used: after each answer of a model, and at its end."""

from __future__ import annotations

from typing import Final

from ag_ui.core import CustomEvent, TokenUsage

from tactician.llm import Usage
from tactician.llm.usage import UsageTally

COST: Final = "tactician.cost"


class Spending:
    """Tokens and dollars of a run of a client. A run that resumes another counts only its own."""

    def __init__(self) -> None:
        self._tally = UsageTally()

    def add(self, usage: Usage) -> CustomEvent:
        """Count the usage of a call of a model; return the event that tells the client."""
        self._tally.add(usage)
        total = self._tally.total
        return CustomEvent(
            name=COST,
            value={
                "model": usage.model,
                "cost": usage.cost,
                "total_cost": total.cost,
                "input_tokens": total.input_tokens,
                "output_tokens": total.output_tokens,
            },
        )

    def list_usage(self) -> list[TokenUsage] | None:
        """Return the usage of each model; `None` when no model was called."""
        return [_show(model, usage) for model, usage in self._tally.by_model.items()] or None


def _show(model: str, usage: Usage) -> TokenUsage:
    provider, _, name = model.rpartition(":")
    return TokenUsage(
        provider=provider or None,
        model=name or None,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.total_tokens,
        reasoning_tokens=usage.reasoning_tokens or None,
        cached_input_tokens=usage.cache_read_tokens or None,
        cache_write_input_tokens=usage.cache_write_tokens or None,
    )
