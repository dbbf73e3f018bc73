"""Calls of chat models: adapts requests to fallbacks, classifies answers, and opens streams."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from typing_extensions import override

from tactician.llm.model import Delta, LanguageModel, ModelRequest, ModelResponse
from tactician.llm.request_adapter import adapt_request
from tactician.llm.routing.attempt import Attempt, Started
from tactician.llm.routing.call import Restorer, RoutedCall
from tactician.llm.routing.call_settings import CallSettings
from tactician.llm.routing.retries import PASSING_FAILURES, SINGLE_ATTEMPT, Failure
from tactician.llm.routing.routes import Route, RouteTable, Stage
from tactician.llm.usage import NO_USAGE
from tactician.resilience.backoff import RetryRule


class ChatCall(RoutedCall[ModelRequest, Started]):
    """Request to a chat model for a whole answer."""

    __slots__ = ()

    def _complete(self, answer: Started) -> Started:
        return self.add_imperfect_usage(answer) if isinstance(answer, ModelResponse) else answer

    def add_imperfect_usage(self, response: ModelResponse) -> ModelResponse:
        """Return the answer with the usage of earlier, imperfect answers added to its own."""
        others = (other for other in self._imperfect if isinstance(other, ModelResponse) and other is not response)
        return replace(response, usage=sum((other.usage for other in others), NO_USAGE) + response.usage)

    def _send(self, attempt: Attempt, request: ModelRequest) -> Awaitable[Started]:
        model: LanguageModel = attempt.state.deployment.served_model  # type: ignore[assignment]  # chat calls have only these
        return model.generate(request)

    def _count_tokens(self, request: ModelRequest) -> int:
        return self._settings.estimate(request)

    def _extend_timeout(self, first: float, times: int) -> ModelRequest:
        seconds = (self._original.options.timeout or first) * times
        return replace(self._request, options=replace(self._request.options, timeout=seconds))

    @override
    def _select_rule(self, failure: Failure, status: int | None) -> RetryRule:
        rule, options = super()._select_rule(failure, status), self._original.options
        if failure in PASSING_FAILURES:
            retries = options.network_retries
        elif failure is Failure.TRUNCATED:
            retries = options.truncation_retries
        else:
            retries = options.content_filter_retries if failure is Failure.CONTENT_FILTER else None
        return rule if retries is None else replace(rule, attempts=retries + 1)

    def _adapt(self, request: ModelRequest, stage: Stage) -> tuple[ModelRequest, Restorer[Started] | None]:
        adapted, restore = adapt_request(request, stage.features)
        if restore is None:
            return adapted, None
        return adapted, lambda answer: restore(answer) if isinstance(answer, ModelResponse) else answer

    def _classify_response(self, answer: Started) -> Failure | None:
        if not isinstance(answer, ModelResponse):
            return None
        if answer.finish_reason == "content_filter":
            return Failure.CONTENT_FILTER
        if answer.finish_reason == "length" and (self._request.output is not None or answer.message.tool_calls):
            return Failure.TRUNCATED
        return None


class StreamCall(ChatCall):
    """Request to a chat model for a stream."""

    __slots__ = ()

    def _send(self, attempt: Attempt, request: ModelRequest) -> Awaitable[Started]:
        if self._restorer is not None:
            # The answer of an adapted request is restored as a whole: its deltas are not the answer's.
            return super()._send(attempt, request)
        return attempt.open_stream(cast("LanguageModel", attempt.state.deployment.served_model).stream(request))


class ChatCalls:
    """Calls of the chat models of a router, by model name."""

    def __init__(self, table: RouteTable, settings: CallSettings) -> None:
        self._table = table
        self._settings = settings

    def generate(self, name: str | None, request: ModelRequest) -> Coroutine[object, object, ModelResponse]:
        """Call a model, and return its answer. An unknown model raises at once."""
        options = request.options
        route = self._table.find(name, options.instances, options.fallbacks)
        call = ChatCall(self._settings, route, request, request.observer, options.session)
        return call.run()  # type: ignore[return-value]  # only the call of a stream has another result

    async def probe(self, name: str, request: ModelRequest) -> ModelResponse:
        """Make a single attempt, and return its answer."""
        route = self._table.find(name, request.options.instances)
        alone, settings = replace(route, stages=route.stages[:1]), replace(self._settings, retries=SINGLE_ATTEMPT)
        response = await ChatCall(settings, alone, request, request.observer, request.options.session).run()
        assert isinstance(response, ModelResponse)
        return response

    def stream(self, name: str | None, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Return the deltas as they come, then the response. An unknown model raises at once."""
        options = request.options
        return self._stream(self._table.find(name, options.instances, options.fallbacks), request)

    async def _stream(self, route: Route, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        call = StreamCall(self._settings, route, request, request.observer, request.options.session)
        started = await call.run()
        if isinstance(started, ModelResponse):
            yield started
            return
        async with aclosing(started.iterate()) as items:
            async for item in items:
                yield call.add_imperfect_usage(item) if isinstance(item, ModelResponse) else item


class RoutedModel:
    """Chat model of a router, which agents get by the model's name.

    Its features are those that all deployments of the model share. `models` are the models behind it, by
    instance.
    """

    __slots__ = ("_calls", "features", "models", "name")

    def __init__(self, calls: ChatCalls, route: Route) -> None:
        self.name = route.name
        self.features = route.features
        self.models = cast("tuple[LanguageModel, ...]", route.models)
        self._calls = calls

    def __repr__(self) -> str:
        return f"RoutedModel({self.name!r})"

    def generate(self, request: ModelRequest) -> Coroutine[object, object, ModelResponse]:
        """Call the model, and return its answer; see `ModelRouter.generate`."""
        return self._calls.generate(self.name, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Return the deltas as they come, then the response; see `ModelRouter.stream`."""
        return self._calls.stream(self.name, request)

    async def probe(self, request: ModelRequest) -> ModelResponse:
        """Make a single attempt without fallbacks, as a health check. It counts towards limits and health.

        Raises:
            ModelError: as the model raises it.
        """
        return await self._calls.probe(self.name, request)
