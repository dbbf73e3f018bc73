"""Wire formats: pure functions between requests, responses and JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from tactician.frozen import frozen
from tactician.llm.model import Delta, ModelRequest, ModelResponse
from tactician.llm.wire.dialect import Dialect


class Encode(Protocol):
    """Encoder of requests."""

    def __call__(
        self, request: ModelRequest, model: str, dialect: Dialect, *, stream: bool = False
    ) -> dict[str, object]:
        """Return the body of the request.

        Raises:
            ModelRequestError: when it asks for what the format cannot say.
        """
        ...


class Decode(Protocol):
    """Decoder of whole responses."""

    def __call__(self, body: object, model: str = "") -> ModelResponse:
        """Return the response in a body.

        Raises:
            MalformedResponseError: when the body is not a response; the error names the model.
            ModelError: of the kind that fits the failure, when the body is an error with the status 200.
        """
        ...


class StreamDecoder(Protocol):
    """Decoder of a stream: server-sent events become deltas, and all deltas together a response."""

    def feed(self, data: str) -> Iterable[Delta]:
        """Return the deltas in an event.

        Raises:
            MalformedResponseError: when the event is not in the format.
            ModelError: of the kind that fits the failure, when the event is an error.
        """
        ...

    def response(self) -> ModelResponse:
        """Combine everything received into a response.

        Raises:
            MalformedResponseError: when the stream ended before the answer did.
            ModelError: of the kind that fits the failure, when the model failed.
        """
        ...


@frozen
class WireFormat:
    """A way to talk to a model over HTTP, by name, as pure functions.

    Attributes:
        stream_decoder: makes the decoder of a stream, whose errors name the model.
        continue_paused: the request that continues a paused answer, `None` when it is complete; where answers pause.
        merge: joins a paused answer and its continuation.
        strip_thinking: the request without the thinking that only its author can read; `None` when it has none.
    """

    name: str
    encode: Encode
    decode: Decode
    stream_decoder: Callable[[str], StreamDecoder]
    continue_paused: Callable[[ModelRequest, ModelResponse], ModelRequest | None] | None = None
    merge: Callable[[ModelResponse, ModelResponse], ModelResponse] = lambda first, second: second
    strip_thinking: Callable[[ModelRequest], ModelRequest | None] = lambda request: None
