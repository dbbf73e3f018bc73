"""`ModelRouter`: many keys, many deployments, one call."""

from __future__ import annotations

import os
import random as chance
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events import EventBus, EventEmitter, EventListener
from tactician.llm.instances import parse_instances
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.options import NO_OPTIONS, LlmOptions
from tactician.llm.routing.call import RoutedCall
from tactician.llm.routing.circuit import RestPolicy
from tactician.llm.routing.deadlines import Watches
from tactician.llm.routing.deployment import Deployment, DeploymentStatus, deployments_of
from tactician.llm.routing.estimates import Estimate, estimate_tokens
from tactician.llm.routing.features import common_features
from tactician.llm.routing.policies import Policy, PolicyName, policy_maker
from tactician.llm.routing.reports import Reporter
from tactician.llm.routing.retries import JUST_ONCE, ModelRetryPolicy, Random
from tactician.llm.routing.routes import Route, RouteTable
from tactician.llm.routing.setup import Setup
from tactician.llm.routing.visit import Started, Visit
from tactician.llm.usage import NO_USAGE, Usage

NO_FALLBACKS: Mapping[str, Sequence[str]] = MappingProxyType({})


class ModelRouter:
    """Spreads calls over deployments, within their limits, and tries again where that helps.

    It is a `LanguageModel`, which goes by each request's `options.model`, and a source of models, whose `resolve` gives
    a model of one name. A name is a model's, exactly as deployments say it, or `instance:model`. `options.instances`
    says which instances may serve a request, `options.session` keeps requests together under the policy `sticky`.

    Which deployment takes a call: of those that can start it now, the one that the policy picks. When none can, the
    call waits in its model's line, and the first in line gets whatever opens first; a session that sticks to its
    instance waits for that one alone. A failed attempt goes at once to an instance that this call has not tried, and
    without one waits as the retry policy says.

    A router may be used in several event loops. Limits, rests and totals are the process's; lines are each loop's own.

    Args:
        deployments: what there is to call.
        policy: `"round_robin"`, `"least_loaded"`, `"sticky"`, or what makes a `Policy` for a model.
        requests_per_second: the limit of each deployment that has none of its own; no limit, when `None`.
        retries: what is tried again, how often, and the deadline.
        rests: when a failing deployment is left alone, and for how long.
        default_model: the model of requests that name none; the only one there is, when `None`.
        fallbacks: for a model, those to use in order when it cannot answer, after those of the request's own options.
        estimate: guesses the tokens of a request, where they are limited.
        clock: the time.
        random: numbers from 0 to 1, for pauses.
        on_event: called with the event of every decision.

    Raises:
        ConfigurationError: when a deployment is listed twice, or there is no such policy.
        UnknownModelError: when the default or a fallback is not served.
    """

    def __init__(
        self,
        deployments: Iterable[Deployment],
        *,
        policy: PolicyName | Callable[[], Policy] = "round_robin",
        requests_per_second: float | None = None,
        retries: ModelRetryPolicy = ModelRetryPolicy(),  # noqa: B008
        rests: RestPolicy = RestPolicy(),  # noqa: B008
        default_model: str | None = None,
        fallbacks: Mapping[str, Sequence[str]] = NO_FALLBACKS,
        estimate: Estimate = estimate_tokens,
        clock: Clock = SYSTEM_CLOCK,
        random: Random = chance.random,
        on_event: EventListener | None = None,
    ) -> None:
        new_policy = policy_maker(policy)
        self._table = RouteTable(deployments, fallbacks, default_model, requests_per_second, rests, new_policy, clock)
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", "policy")
        self._setup = Setup(
            retries,
            clock,
            Watches(clock),
            random,
            estimate,
            name,
            Reporter(EventEmitter(EventBus(on_event), clock=clock)),
        )
        self._features: Features | None = None

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        requests_per_second: float | None = None,
        max_retries: int | None = None,
        policy: PolicyName = "round_robin",
        environment: Mapping[str, str] = os.environ,
        on_event: EventListener | None = None,
    ) -> ModelRouter:
        """A router over the instances in the JSON of `LLM_INSTANCES`.

        Args:
            text: the JSON.
            requests_per_second: the limit of each model at each instance that has none of its own.
            max_retries: attempts after the first at calls that fail for reasons which pass; 2 by default.
            policy: which instance takes a call.
            environment: what `${NAME}` in the JSON stands for.
            on_event: called with the event of every decision.

        Raises:
            ConfigurationError: with every mistake in the JSON.
        """
        return cls(
            deployments_of(parse_instances(text, environment)),
            policy=policy,
            requests_per_second=requests_per_second,
            retries=ModelRetryPolicy() if max_retries is None else ModelRetryPolicy.with_attempts(max_retries + 1),
            on_event=on_event,
        )

    def __repr__(self) -> str:
        return f"ModelRouter({', '.join(lane.deployment.name for lane in self._table.lanes)})"

    @property
    def name(self) -> str:
        """The default model's name; `"router"` when there is none."""
        return self._table.default or "router"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that are served."""
        return self._table.models

    def add(self, *deployments: Deployment) -> None:
        """More deployments, of models that the router does not serve yet.

        Raises:
            ConfigurationError: when a deployment is listed twice, or its model is served already.
        """
        self._table.add(deployments)
        self._features = None

    def fall_back(self, model: str, *fallbacks: str) -> None:
        """The models to use, in order, when this one cannot answer, after those of a request's own options.

        Raises:
            UnknownModelError: when nobody serves one of them.
        """
        self._table.fall_back(model, fallbacks)

    def serves(self, name: str) -> bool:
        """Whether there is a model of this name, or a deployment `instance:model`."""
        return self._table.serves(name)

    @property
    def features(self) -> Features:
        """What the default model can do; what every model can, when there is no default."""
        if self._features is None:
            if self._table.default is not None:
                self._features = self._table.find(None, NO_OPTIONS).features
            else:
                self._features = common_features(lane.deployment.serves.features for lane in self._table.lanes)
        return self._features

    def resolve(self, options: LlmOptions) -> RoutedModel:
        """The model that the options ask for, at the instances that they allow.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedModel(self, self._table.find(options.wanted, options))

    def for_model(self, name: str) -> RoutedModel:
        """The model of this name.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedModel(self, self._table.find(name, NO_OPTIONS))

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """One call, one answer, from the model that `request.options` asks for.

        Raises:
            UnknownModelError: when nobody serves it; nothing is sent.
            ModelTimeoutError: when the deadline passes.
            ModelError: that of the last attempt, with a note of what was tried.
        """
        return await self.generate_along(self._table.find(request.options.wanted, request.options), request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it. What fails before the first delta is tried again, as ever;
        what fails later is raised as it is, because a part of the answer has been used already.

        Raises:
            UnknownModelError: when nobody serves the model; nothing is sent.
            ModelTimeoutError: when the deadline passes before the first delta.
            ModelError: that of the last attempt.
        """
        return self.stream_along(self._table.find(request.options.wanted, request.options), request)

    def status(self) -> tuple[DeploymentStatus, ...]:
        """How each deployment is doing, model by model."""
        now = self._setup.clock.monotonic()
        return tuple(lane.status(now) for lane in self._table.lanes)

    def usage(self, *, model: str | None = None, instance: str | None = None) -> Usage:
        """What was used: by all, by a model, by an instance, or by a model at an instance."""
        lanes = (
            lane for lane in self._table.lanes if model in (None, lane.model) and instance in (None, lane.instance)
        )
        return sum((lane.usage for lane in lanes), NO_USAGE)

    def route(self, name: str | None, options: LlmOptions) -> Route:
        """Where a request for this model, with these options, may go.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return self._table.find(name, options)

    async def generate_along(self, route: Route, request: ModelRequest) -> ModelResponse:
        """`generate` for a route that is known."""
        call = RoutedCall(self._setup, route, request)
        response = await call.run(Visit.generate)
        assert isinstance(response, ModelResponse)
        return call.accounted(response)

    async def probe_along(self, route: Route, request: ModelRequest) -> ModelResponse:
        """`RoutedModel.probe` for a route that is known."""
        alone = replace(route, stages=route.stages[:1])
        response = await RoutedCall(replace(self._setup, retries=JUST_ONCE), alone, request).run(Visit.generate)
        assert isinstance(response, ModelResponse)
        return response

    async def stream_along(self, route: Route, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """`stream` for a route that is known."""
        call = RoutedCall(self._setup, route, request)

        def attempt(visit: Visit, fitted: ModelRequest) -> Awaitable[Started]:
            # What was fitted to a fallback makes sense only as a whole: its deltas are not those of the answer.
            return visit.open(fitted) if call.restore is None else visit.generate(fitted)

        started = await call.run(attempt)
        if isinstance(started, ModelResponse):
            yield call.accounted(started)
            return
        async with aclosing(started.deltas()) as items:
            async for item in items:
                yield call.accounted(item) if isinstance(item, ModelResponse) else item


class RoutedModel:
    """One model of a router, by name: what an agent that asks for it is given.

    Its features are those that all deployments of the model have, whoever answers. `models` are what stands behind it,
    one at each instance.
    """

    __slots__ = ("_router", "features", "models", "name")

    def __init__(self, router: ModelRouter, route: Route) -> None:
        self.name = route.name
        self.features = route.features
        self.models = tuple(lane.deployment.serves for lane in route.stages[0].lanes)
        self._router = router

    def __repr__(self) -> str:
        return f"RoutedModel({self.name!r})"

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """One call, one answer; see `ModelRouter.generate`."""
        router = self._router
        return await router.generate_along(router.route(self.name, request.options), request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it; see `ModelRouter.stream`."""
        router = self._router
        return router.stream_along(router.route(self.name, request.options), request)

    async def probe(self, request: ModelRequest) -> ModelResponse:
        """One single attempt, without fallbacks: to see how the model does. Limits and health count it like any other.

        Raises:
            ModelError: as the model raises it.
        """
        router = self._router
        return await router.probe_along(router.route(self.name, request.options), request)
