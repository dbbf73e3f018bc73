"""Windows on long conversations, in agent definitions that models write."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from tactician.conversation import SlidingWindow, Summarization, WindowStrategy
from tactician.errors import DeclarationError


class Definition(BaseModel):
    """Base class of definitions: data that a model writes, with JSON names."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="ignore", defer_build=True
    )


class WindowDefinition(Definition):
    """Definition of the part of a long conversation that the model sees."""

    strategy_type: Annotated[
        Literal["sliding", "summarization"],
        Field(description="sliding leaves the oldest messages out; summarization sums them up"),
    ]
    max_tokens: Annotated[int, Field(gt=0, description="How long what the agent is shown may be, in tokens")]
    preserve_developer_messages: Annotated[
        bool | None, Field(description="sliding: whether instructions inside the conversation are always shown")
    ] = None
    keep_recent_messages: Annotated[
        int | None, Field(gt=0, description="summarization: how many of the newest messages are never summed up")
    ] = None
    summarization_prompt: Annotated[
        str | None, Field(description="summarization: what the summary has to hold; null for the usual")
    ] = None

    def build(self) -> WindowStrategy:
        """Return the strategy. Missing settings get their defaults."""
        if self.strategy_type == "sliding":
            preserve = self.preserve_developer_messages
            return SlidingWindow(self.max_tokens, True if preserve is None else preserve)
        usual = Summarization(self.max_tokens)
        keep = self.keep_recent_messages or usual.keep_recent
        return Summarization(self.max_tokens, keep, prompt=self.summarization_prompt)

    @classmethod
    def from_strategy(cls, strategy: WindowStrategy) -> WindowDefinition:
        """Return the definition of a strategy.

        Raises:
            DeclarationError: when it is neither a `SlidingWindow` nor a `Summarization`.
        """
        if isinstance(strategy, SlidingWindow):
            preserve = strategy.preserve_system
            return cls(strategy_type="sliding", max_tokens=strategy.max_tokens, preserve_developer_messages=preserve)
        if isinstance(strategy, Summarization):
            return cls(
                strategy_type="summarization",
                max_tokens=strategy.max_tokens,
                keep_recent_messages=strategy.keep_recent,
                summarization_prompt=strategy.prompt,
            )
        kind = type(strategy).__name__
        raise DeclarationError(kind, ["a definition can say SlidingWindow and Summarization only"])
