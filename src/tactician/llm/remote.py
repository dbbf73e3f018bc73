"""A model behind an HTTP endpoint."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from tactician.llm.fit import Restore
from tactician.llm.gating import Gate
from tactician.llm.http import post_json, post_stream
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.pricing import ModelPrice, price_for
from tactician.llm.wire import DEFAULT_DIALECT, OPENAI_CHAT, Dialect, SseDecoder, WireFormat

DEFAULT_TIMEOUT = 120.0
FULL_FEATURES = Features(tools=True, json_schema=True, images=True)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where requests go and what they carry. The headers hold the key, so no `repr` shows them.

    Attributes:
        name: what messages call it, for example `"openai"` or an instance's id.
        url: the full URL that requests are posted to.
        timeout: seconds for a call, where the call's options say nothing.
        prices: prices of one's own, by the beginning of a model's name.
        gate: stops a request that asks for what is not there, before it is sent.
    """

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    features: Features = FULL_FEATURES
    wire: WireFormat = OPENAI_CHAT
    dialect: Dialect = DEFAULT_DIALECT
    timeout: float = DEFAULT_TIMEOUT
    prices: Mapping[str, ModelPrice] = field(default_factory=dict)
    gate: Gate | None = None


class RemoteModel:
    """One model at one endpoint: a `LanguageModel` over HTTP."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        self.model = model
        self.endpoint = endpoint
        self.name = f"{endpoint.name}:{model}"
        self.features = endpoint.features
        self._price = price_for(model, endpoint.prices)
        self._headers = {"Content-Type": "application/json", **endpoint.headers}

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r})"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """One call, one answer.

        Raises:
            ModelError: of the kind that fits the failure.
        """
        endpoint = self.endpoint
        request, restore = endpoint.gate(request) if endpoint.gate is not None else (request, None)
        body = endpoint.wire.encode(request, self.model, endpoint.dialect)
        timeout = request.options.timeout or endpoint.timeout
        answer = await post_json(endpoint.url, body, self._headers, timeout, self.name)
        return self._signed(endpoint.wire.decode(answer, self.name), restore)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it.

        Raises:
            ModelError: of the kind that fits the failure.
        """
        endpoint = self.endpoint
        request, restore = endpoint.gate(request) if endpoint.gate is not None else (request, None)
        body = endpoint.wire.encode(request, self.model, endpoint.dialect, stream=True)
        timeout = request.options.timeout or endpoint.timeout
        events, decoder = SseDecoder(), endpoint.wire.stream_decoder(self.name)
        async with aclosing(post_stream(endpoint.url, body, self._headers, timeout, self.name)) as chunks:
            async for chunk in chunks:
                for data in events.feed(chunk):
                    for delta in decoder.feed(data):
                        yield delta
        for data in events.close():
            for delta in decoder.feed(data):
                yield delta
        yield self._signed(decoder.response(), restore)

    def _signed(self, response: ModelResponse, restore: Restore | None) -> ModelResponse:
        told = response if restore is None else restore(response)
        return replace(told, served_by=self.name, price=self._price)
