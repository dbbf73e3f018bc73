"""Model behind an HTTP endpoint."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import field
from itertools import chain

from tactician.errors import ContentFilterError, ModelError, ThinkingRefusedError
from tactician.frozen import frozen
from tactician.llm.feature_check import FeatureCheck
from tactician.llm.http import post_json, post_stream
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.redaction import Redaction
from tactician.llm.request_adapter import RestoreResponse
from tactician.llm.usage import ModelPrice, find_price
from tactician.llm.wire import Dialect
from tactician.llm.wire.dialect import DEFAULT_DIALECT
from tactician.llm.wire.openai_chat import OPENAI_CHAT
from tactician.llm.wire.sse import SseDecoder
from tactician.llm.wire.wire_format import WireFormat

DEFAULT_TIMEOUT = 120.0
DEFAULT_STREAM_TIMEOUT = 1800.0
_MOST_PAUSES = 5
FULL_FEATURES = Features(tools=True, json_schema=True, images=True)


@frozen
class Endpoint:
    """Target of requests: URL, headers and dialect. The headers or the URL hold the key, so no `repr` shows them.

    Attributes:
        name: the name in messages, for example `"openai"` or an instance's id.
        url: the full URL that requests are posted to.
        timeout: seconds for a call whose options have no timeout; when it is streamed, for each wait.
        stream_timeout: seconds for a whole stream.
        prices: the endpoint's own prices, by prefix of a model's name.
        default_prices: custom prices for other models, by prefix of `model` or `instance:model`.
        feature_check: stops a request that needs an unsupported feature before it is sent.
        streams: true when the endpoint streams answers; else a stream yields the whole answer at once.
    """

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    features: Features = FULL_FEATURES
    wire: WireFormat = OPENAI_CHAT
    dialect: Dialect = DEFAULT_DIALECT
    timeout: float = DEFAULT_TIMEOUT
    stream_timeout: float = DEFAULT_STREAM_TIMEOUT
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    default_prices: Mapping[str, ModelPrice] = field(default_factory=dict, repr=False)
    feature_check: FeatureCheck | None = None
    streams: bool = True

    def find_price(self, model: str) -> ModelPrice | None:
        """Return the price of a model here, or `None` if the price list decides."""
        return find_price(model, self.prices) or find_price(model, self.default_prices, self.name)


class RemoteModel:
    """Model at an endpoint: a `LanguageModel` over HTTP."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint
        self.name = f"{endpoint.name}:{model}"
        self.features = endpoint.features
        self.price = endpoint.find_price(model)
        self._fit = endpoint.feature_check or _pass_on
        self._headers = {"Content-Type": "application/json", **endpoint.headers}
        self._redaction = Redaction(endpoint.url, endpoint.headers)

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r})"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer.

        Raises:
            ModelError: of the class that matches the failure.
        """
        request, restore = self._fit(request)
        wire, asked = self.endpoint.wire, request
        response: ModelResponse | None = None
        try:
            for _ in range(_MOST_PAUSES + 1):
                try:
                    answer = await self._post(asked)
                except ThinkingRefusedError:
                    if (readable := wire.strip_thinking(asked)) is None:
                        raise
                    answer = await self._post(readable)
                leg = wire.decode(answer, self.name)
                response = leg if response is None else wire.merge(response, leg)
                if wire.continue_paused is None or (onward := wire.continue_paused(request, response)) is None:
                    break
                asked = onward
        except ModelError as error:
            self._redaction.redact(error)
            raise
        assert response is not None
        return self._sign_response(response, restore)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response.

        Raises:
            ModelError: of the class that matches the failure.
        """
        if not self.endpoint.streams:
            yield await self.generate(request)
            return
        request, restore = self._fit(request)
        wire, asked = self.endpoint.wire, request
        response: ModelResponse | None = None
        for _ in range(_MOST_PAUSES + 1):
            decoder = wire.stream_decoder(self.name)
            with self._redaction:
                async with aclosing(self._reads(asked)) as reads:
                    async for events in reads:
                        for delta in chain.from_iterable(map(decoder.feed, events)):
                            yield delta
                leg = decoder.response()
            response = leg if response is None else wire.merge(response, leg)
            if wire.continue_paused is None or (onward := wire.continue_paused(request, response)) is None:
                break
            asked = onward
        assert response is not None
        yield self._sign_response(response, restore)

    def _post(self, request: ModelRequest) -> Coroutine[object, object, object]:
        endpoint = self.endpoint
        body = endpoint.wire.encode(request, self.model, endpoint.dialect)
        timeout = request.options.timeout or endpoint.timeout
        return post_json(endpoint.url, body, self._headers, timeout, self.name)

    async def _reads(self, request: ModelRequest) -> AsyncGenerator[Sequence[str]]:
        """Yield the events of a stream, in the batches of the network reads."""
        endpoint, events = self.endpoint, SseDecoder(self.name)
        body = endpoint.wire.encode(request, self.model, endpoint.dialect, stream=True)
        timeout = request.options.timeout or endpoint.timeout
        try:
            total = max(timeout, endpoint.stream_timeout)
            async with aclosing(post_stream(endpoint.url, body, self._headers, timeout, total, self.name)) as chunks:
                async for chunk in chunks:
                    yield events.feed(chunk)
            yield events.close()
        except ThinkingRefusedError:  # an error status: no part of an answer has come
            if (readable := endpoint.wire.strip_thinking(request)) is None:
                raise
            async with aclosing(self._reads(readable)) as reads:
                async for read in reads:
                    yield read

    def _sign_response(self, response: ModelResponse, restore: RestoreResponse | None) -> ModelResponse:
        if response.finish_reason == "content_filter":
            _check_filter(response, self.name)
        restored = response if restore is None else restore(response)
        price = self.price
        if price is None and restored.model and (self.endpoint.prices or self.endpoint.default_prices):
            price = self.endpoint.find_price(restored.model)
        return restored.attribute_to(self.name, price)


def _pass_on(request: ModelRequest) -> tuple[ModelRequest, None]:
    """Return a request as it is, for an endpoint whose features are not checked."""
    return request, None


def _check_filter(response: ModelResponse, name: str) -> None:
    """Check that a filter left something of an answer."""
    message = response.message
    if not message.text and not message.tool_calls:
        raise ContentFilterError(f"{name}: the provider's filter blocked the answer, and gave no reason", model=name)
