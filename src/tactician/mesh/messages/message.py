"""Base of the messages of a mesh, and the parts that several of them have."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tactician.llm import Usage

MAX_BYTES: Final = 1_000_000
"""Bytes of the longest message."""
QUEUED_WINDOW: Final = 7 * 86_400.0
"""Seconds for which a request or a reply is valid, which may wait in a queue."""
MAX_TEXT: Final = 2_000
"""Characters of the longest explanation."""
MAX_NAMES: Final = 100
"""Number of names in the longest list."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
"""Name of a node, a capability, a tag or a realm: text without control characters."""
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Names = Annotated[tuple[Name, ...], Field(max_length=MAX_NAMES)]
Moment = Annotated[float, Field(ge=0, le=1e11, allow_inf_nan=False)]
"""Seconds since the epoch."""
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0, le=2**53)]


class MessagePart(BaseModel):
    """Part of a message. Unknown fields are ignored, so that later versions may add some."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class MeshMessage(MessagePart):
    """Data of a message.

    Attributes:
        EVENT: name of the kind of message; the CloudEvents type is `tactician.<name>.v1`.
    """

    EVENT: ClassVar[str]


class Priority(StrEnum):
    """Priority of a request. Waiting raises it by a level every 30 minutes."""

    CRITICAL = "CRITICAL"
    HIGH = "HIGH"
    NORMAL = "NORMAL"
    LOW = "LOW"


class ModelUsage(MessagePart):
    """Tokens of a model that a provider has used.

    Attributes:
        model: name of the model.
        input_tokens: tokens of inputs.
        output_tokens: tokens of outputs.
        cache_read_tokens: input tokens that came from a cache.
        cache_write_tokens: input tokens that were written to a cache.
        reasoning_tokens: output tokens that were thinking.
        requests: number of requests.
        cost: US dollars; `None` when the price is not known.
    """

    model: Annotated[str, StringConstraints(max_length=300)] = ""
    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_write_tokens: Count = 0
    reasoning_tokens: Count = 0
    requests: Count = 0
    cost: Amount | None = None

    @classmethod
    def of(cls, usage: Usage) -> ModelUsage:
        """Return the usage of a model as a message carries it."""
        return cls(
            model=usage.model,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            reasoning_tokens=usage.reasoning_tokens,
            requests=usage.requests,
            cost=usage.cost,
        )
