"""Calls of chat models: requests are fitted to fallbacks, answers are judged, and streams are opened."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import cast

from tactician.llm.model import Delta, LanguageModel, ModelRequest, ModelResponse
from tactician.llm.request_adapter import adapt_request
from tactician.llm.routing.call import Restorer, RoutedCall
from tactician.llm.routing.retries import JUST_ONCE, Failure, find_shortcoming
from tactician.llm.routing.routes import Route, RouteTable, Stage
from tactician.llm.routing.setup import Setup
from tactician.llm.routing.visit import Started, Visit
from tactician.llm.usage import NO_USAGE


class ChatCall(RoutedCall[ModelRequest, Started]):
    """A request to a chat model for a whole answer."""

    __slots__ = ()

    def account(self, response: ModelResponse) -> ModelResponse:
        """The answer, with the usage of those that were not good enough."""
        if not self._imperfect:
            return response
        others = (one for one in self._imperfect if isinstance(one, ModelResponse) and one is not response)
        return replace(response, usage=sum((one.usage for one in others), NO_USAGE) + response.usage)

    def _ask(self, visit: Visit, request: ModelRequest) -> Awaitable[Started]:
        model: LanguageModel = visit.lane.deployment.serves  # type: ignore[assignment]  # lanes of chat calls have these
        return visit.call(model.generate, request)

    def _count_tokens(self, request: ModelRequest) -> int:
        return self._setup.estimate(request)

    def _allow_time(self, first: float, times: int) -> ModelRequest:
        options = self._original.options
        return replace(self._request, options=replace(options, timeout=(options.timeout or first) * times))

    def _adapt(self, request: ModelRequest, stage: Stage) -> tuple[ModelRequest, Restorer[Started] | None]:
        adapted, restore = adapt_request(request, stage.features)
        if restore is None:
            return adapted, None
        return adapted, lambda answer: restore(answer) if isinstance(answer, ModelResponse) else answer

    def _find_shortcoming(self, answer: Started) -> Failure | None:
        return find_shortcoming(answer, self._request) if isinstance(answer, ModelResponse) else None


class StreamCall(ChatCall):
    """A request to a chat model for a stream."""

    __slots__ = ()

    def _ask(self, visit: Visit, request: ModelRequest) -> Awaitable[Started]:
        if self._restorer is not None:
            # What was fitted to a fallback makes sense only as a whole: its deltas are not those of the answer.
            return super()._ask(visit, request)
        return visit.open(cast("LanguageModel", visit.lane.deployment.serves).stream, request)


class ChatCalls:
    """Calls of the chat models of a router, by the names of models."""

    def __init__(self, table: RouteTable, setup: Setup) -> None:
        self._table = table
        self._setup = setup

    async def generate(self, name: str | None, request: ModelRequest) -> ModelResponse:
        """One call, one answer."""
        options = request.options
        route = self._table.find(name, options.instances, options.fallbacks)
        call = ChatCall(self._setup, route, request, request.observer, options.session)
        response = await call.run()
        assert isinstance(response, ModelResponse)
        return call.account(response)

    async def probe(self, name: str, request: ModelRequest) -> ModelResponse:
        """One single attempt."""
        route = self._table.find(name, request.options.instances)
        alone, setup = replace(route, stages=route.stages[:1]), replace(self._setup, retries=JUST_ONCE)
        response = await ChatCall(setup, alone, request, request.observer, request.options.session).run()
        assert isinstance(response, ModelResponse)
        return response

    def stream(self, name: str | None, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it. That nobody serves the model is raised at once."""
        options = request.options
        return self._stream(self._table.find(name, options.instances, options.fallbacks), request)

    async def _stream(self, route: Route, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        call = StreamCall(self._setup, route, request, request.observer, request.options.session)
        started = await call.run()
        if isinstance(started, ModelResponse):
            yield call.account(started)
            return
        async with aclosing(started.deltas()) as items:
            async for item in items:
                yield call.account(item) if isinstance(item, ModelResponse) else item


class RoutedModel:
    """One chat model of a router, by name: what an agent that asks for it is given.

    Its features are those that all deployments of the model have, whoever answers. `models` are what stands behind it,
    one at each instance.
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
        """One call, one answer; see `ModelRouter.generate`."""
        return self._calls.generate(self.name, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it; see `ModelRouter.stream`."""
        return self._calls.stream(self.name, request)

    async def probe(self, request: ModelRequest) -> ModelResponse:
        """One single attempt, without fallbacks: to see how the model does. Limits and health count it like any other.

        Raises:
            ModelError: as the model raises it.
        """
        return await self._calls.probe(self.name, request)
