"""`ModelRouter`: calls of chat, embedding and image models over many keys and deployments."""

from __future__ import annotations

import random as chance
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Unpack

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.config import ModelSettings
from tactician.events.bus import EventBus, EventEmitter, EventListener
from tactician.llm.instances import parse_instances, parse_prices
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.model_kinds import KIND_NAMES, KindName
from tactician.llm.model_profiles import parse_profiles
from tactician.llm.options import NO_ROUTING_OPTIONS, LlmOptions, RoutingOptions
from tactician.llm.routing.call_settings import CallSettings
from tactician.llm.routing.chat import ChatCalls, RoutedModel
from tactician.llm.routing.deployment import (
    DEFAULT_CONCURRENCY,
    CallLimits,
    Deployment,
    DeploymentStatus,
    create_deployments,
    group_by_kind,
)
from tactician.llm.routing.deployment_state import DeploymentState
from tactician.llm.routing.features import intersect_features
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.routing.policies import Policy, PolicyName, find_policy_factory
from tactician.llm.routing.reporter import Reporter
from tactician.llm.routing.retries import ModelRetryPolicy
from tactician.llm.routing.router_arguments import (
    RouterChanges,
    change_settings,
    create_model_arguments,
    create_router_arguments,
)
from tactician.llm.routing.routes import PoolSettings, RouteTable
from tactician.llm.routing.token_estimate import Estimate, estimate_tokens
from tactician.llm.time_limit import TimeLimit
from tactician.llm.usage import NO_USAGE, Usage
from tactician.resilience.backoff import Random
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tactician.suggestions import suggest_options

NO_FALLBACKS: Mapping[str, Sequence[str]] = MappingProxyType({})
NO_ROLES: Mapping[str, str] = MappingProxyType({})


@suggest_options
class ModelRouter:
    """Router that spreads calls over deployments, within their limits, and retries where that helps.

    Deployments are of chat models, embedding models and image models; all calls have the same limits, retries and
    circuit breakers. A router is a `LanguageModel`, which uses each request's `options.model`, and a source of models,
    whose `resolve`, `embedding_model` and `image_model` return a model by name. A name is a model's name, exactly as
    deployments spell it, or `instance:model`. `options.instances` limits the instances that may serve a request,
    `options.session` keeps requests together under the policy `sticky`.

    Of the deployments that can start a call now, the policy picks one. If none can, the call waits in its model's
    queue, and the first in the queue gets the first available deployment; a session that sticks to its instance waits
    for that deployment alone. A failed call goes at once to an instance that it has not tried, or, without one,
    waits as the retry policy says.

    A router may be used in several event loops. Limits, circuit breakers and totals belong to the process; queues to
    each loop.

    Args:
        deployments: the deployments to call.
        policy: `"round_robin"`, `"least_loaded"`, `"sticky"`, or a function that creates a `Policy` for a model.
        requests_per_second: the limit of each deployment that has none of its own; unlimited if `None`.
        tokens_per_second: likewise, in tokens.
        max_concurrency: number of calls that may run at once at each deployment that has no limit of its own.
        retries: the failures that are retried, the number of retries, and the deadline.
        circuit_breaker: when a failing deployment is left alone, and for how long.
        default_model: the chat model of requests without a model; `None` stands for the only chat model, if no other is
            served.
        default_embedding: likewise, the embedding model.
        default_image: likewise, the image model.
        fallbacks: for a chat model or an image model, the models to use in order when it cannot answer, after the
            fallbacks of the request's own options. Embedding models have none: vectors of different models cannot be
            compared.
        roles: the model of each role: a request for `role:<role>` uses that model.
        estimate: estimates the tokens of a request to a chat model, where tokens are limited.
        clock: the time.
        random: numbers from 0 to 1, for pauses.
        on_event: called with the event of every decision.

    Raises:
        ConfigurationError: when a deployment is listed twice, the policy does not exist, or an embedding model has
            fallbacks.
        UnknownModelError: when no deployment serves a default or a fallback.
    """

    def __init__(
        self,
        deployments: Iterable[Deployment],
        *,
        policy: PolicyName | Callable[[], Policy] = "round_robin",
        requests_per_second: float | None = None,
        tokens_per_second: float | None = None,
        max_concurrency: int = DEFAULT_CONCURRENCY,
        retries: ModelRetryPolicy = ModelRetryPolicy(),  # noqa: B008
        circuit_breaker: CircuitBreakerPolicy = CircuitBreakerPolicy(),  # noqa: B008
        default_model: str | None = None,
        default_embedding: str | None = None,
        default_image: str | None = None,
        fallbacks: Mapping[str, Sequence[str]] = NO_FALLBACKS,
        roles: Mapping[str, str] = NO_ROLES,
        estimate: Estimate = estimate_tokens,
        clock: Clock = SYSTEM_CLOCK,
        random: Random = chance.random,
        on_event: EventListener | None = None,
    ) -> None:
        limits = CallLimits(
            requests_per_second=requests_per_second,
            tokens_per_second=tokens_per_second,
            max_concurrency=max_concurrency,
        )
        pools = PoolSettings(limits, circuit_breaker, find_policy_factory(policy), clock)
        by_kind, defaults = group_by_kind(deployments), (default_model, default_embedding, default_image)
        self._tables = {
            kind: RouteTable(kind, by_kind[kind], default, pools, roles)
            for kind, default in zip(KIND_NAMES, defaults, strict=True)
        }
        self._chat = self._tables["chat"]
        for kind, table in self._tables.items():
            table.set_fallbacks({model: fallbacks[model] for model in fallbacks if self._find_kind(model) == kind})
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", "policy")
        reporter = Reporter(EventEmitter(EventBus(on_event), clock=clock))
        self._settings = CallSettings(
            retries, clock, TimeLimit(retries.deadline, clock), random, estimate, name, reporter
        )
        self._calls = ChatCalls(self._chat, self._settings)
        self._features: Features | None = None

    @classmethod
    def from_json(
        cls,
        text: str,
        settings: ModelSettings | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Clock = SYSTEM_CLOCK,
        on_event: EventListener | None = None,
        **changes: Unpack[RouterChanges],
    ) -> ModelRouter:
        """Create a router over the instances in the JSON of `LLM_INSTANCES`.

        Args:
            text: the JSON.
            settings: the `[models]` table of `tactician.toml`: limits, retries, circuit breakers, fallbacks, default
                models, roles, prices and profiles.
            environment: the values of `${NAME}` in the JSON; the environment of this process by default.
            clock: the time.
            on_event: called with the event of every decision.
            **changes: settings of the table `[models.router]`, which override those in `settings`:
                `requests_per_second`, `tokens_per_second` and `max_concurrency` of each model at each instance that has
                none of its own; `max_retries`, `timeout`, `deadline` and `policy`.

        Raises:
            ConfigurationError: with every mistake in the JSON, or every wrong argument.
        """
        settings = settings or ModelSettings()
        router = change_settings(settings.router, changes)
        instances = parse_instances(text, environment, parse_profiles(settings.profiles), parse_prices(settings))
        return cls(
            create_deployments(instances),
            **create_router_arguments(router),
            **create_model_arguments(settings),
            clock=clock,
            on_event=on_event,
        )

    def __repr__(self) -> str:
        return f"ModelRouter({', '.join(state.name for state in self._states())})"

    @property
    def name(self) -> str:
        """Name of the default model, or `"router"`."""
        return self._chat.default or "router"

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all chat models."""
        return self._chat.models

    def add(self, *deployments: Deployment) -> None:
        """Add deployments of models that the router does not serve yet.

        Raises:
            ConfigurationError: when a deployment is listed twice, or the router serves its model already.
        """
        for kind, added in group_by_kind(deployments).items():
            self._tables[kind].add(added)
        self._features = None

    def set_fallbacks(self, model: str, *fallbacks: str, kind: KindName = "chat") -> None:
        """Set the models to use, in order, when a model cannot answer, after the fallbacks in a request's own options.

        Raises:
            UnknownModelError: when no deployment serves a fallback as a model of the same kind.
            ConfigurationError: when the model is an embedding model.
        """
        self._tables[kind].set_fallbacks({model: fallbacks})

    def has_model(self, name: str, kind: KindName = "chat") -> bool:
        """Return whether there is a model of this name and kind, or a deployment `instance:model`."""
        return self._tables[kind].has_model(name)

    @property
    def features(self) -> Features:
        """Features of the default model; without a default, those that all models share."""
        if self._features is None:
            if self._chat.default is not None:
                self._features = self._chat.find(None).features
            else:
                self._features = intersect_features(state.deployment.features for state in self._chat.states)
        return self._features

    def resolve(self, options: LlmOptions) -> RoutedModel:
        """Return the model that the options ask for, at the instances that they allow.

        Raises:
            UnknownModelError: when no deployment serves the model.
        """
        return RoutedModel(self._calls, self._chat.find(options.requested_model, options.instances, options.fallbacks))

    def for_model(self, name: str) -> RoutedModel:
        """Return the model of this name.

        Raises:
            UnknownModelError: when no deployment serves the model.
        """
        return RoutedModel(self._calls, self._chat.find(name))

    def embedding_model(
        self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS
    ) -> RoutedEmbeddingModel:
        """Return the embedding model of this name, else the default, at the instances that the options allow.

        Raises:
            UnknownModelError: when no deployment serves the model.
        """
        return RoutedEmbeddingModel(self._tables["embeddings"], self._settings, name, options)

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> RoutedImageModel:
        """Return the image model of this name, else the default, at the instances that the options allow.

        Raises:
            UnknownModelError: when no deployment serves the model.
        """
        return RoutedImageModel(self._tables["images"], self._settings, name, options)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model that `request.options` asks for, and return its answer.

        Raises:
            UnknownModelError: when no deployment serves the model; nothing is sent.
            ModelTimeoutError: when the deadline passes.
            ModelError: the error of the last attempt, with a note of all attempts.
        """
        return await self._calls.generate(request.options.requested_model, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """Return the deltas as they come, then the response.

        What fails before the first delta is retried; what fails later is raised, because part of the answer has been
        used.

        Raises:
            UnknownModelError: when no deployment serves the model; nothing is sent.
            ModelTimeoutError: when the deadline passes before the first delta.
            ModelError: the error of the last attempt.
        """
        return self._calls.stream(request.options.requested_model, request)

    def status(self) -> tuple[DeploymentStatus, ...]:
        """Return the status of each deployment: chat models, embedding models, image models."""
        now = self._settings.clock.monotonic()
        pools = (pool for table in self._tables.values() for pool in table.pools)
        return tuple(state.status(now, pool.waiting) for pool in pools for state in pool.states)

    def usage(self, *, model: str | None = None, instance: str | None = None) -> Usage:
        """Return the usage of all deployments, of a model, of an instance, or of a model at an instance."""
        states = (
            state for state in self._states() if model in (None, state.model) and instance in (None, state.instance)
        )
        return sum((state.usage for state in states), NO_USAGE)

    def _states(self) -> Iterator[DeploymentState]:
        return (state for table in self._tables.values() for state in table.states)

    def _find_kind(self, model: str) -> KindName:
        """Return the kind of a model by its name: chat if models of several kinds have it, or none."""
        return next((kind for kind, table in self._tables.items() if table.has_model(model)), "chat")
