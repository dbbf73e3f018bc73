"""What a wire format is: pure functions between requests, responses and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from tactician.llm.model import Delta, ModelRequest, ModelResponse
from tactician.llm.wire.dialect import Dialect


class Encode(Protocol):
    """The body of a request."""

    def __call__(
        self, request: ModelRequest, model: str, dialect: Dialect, *, stream: bool = False
    ) -> dict[str, object]:
        """Encodes a request for a model."""
        ...


class Decode(Protocol):
    """The response in a body; raises `MalformedResponseError`, which names the model."""

    def __call__(self, body: object, model: str = "") -> ModelResponse:
        """Decodes a body."""
        ...


class StreamDecoder(Protocol):
    """Turns the data of server-sent events into deltas, and all of them into one response."""

    def feed(self, data: str) -> Iterable[Delta]:
        """The deltas in one event; raises `MalformedResponseError`."""
        ...

    def response(self) -> ModelResponse:
        """All that came; raises `MalformedResponseError` when the stream ended before the answer did."""
        ...


class NewStreamDecoder(Protocol):
    """Makes a decoder for one stream; errors name the model."""

    def __call__(self, model: str = "") -> StreamDecoder:
        """A decoder that has seen nothing yet."""
        ...


@dataclass(frozen=True, slots=True)
class WireFormat:
    """A way to talk to a model over HTTP, by name, as pure functions.

    Attributes:
        continuation: the request that lets a paused answer go on, `None` when it is complete; where answers pause.
        merged: a paused answer and what followed it, as one.
        without_thinking: the request without the thinking that only its author can read; `None` when it has none.
    """

    name: str
    encode: Encode
    decode: Decode
    stream_decoder: NewStreamDecoder
    continuation: Callable[[ModelRequest, ModelResponse], ModelRequest | None] | None = None
    merged: Callable[[ModelResponse, ModelResponse], ModelResponse] = lambda first, second: second
    without_thinking: Callable[[ModelRequest], ModelRequest | None] = lambda request: None
