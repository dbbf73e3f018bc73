"""`ModelRouter`: many keys, many deployments, one call, of chat models, embedding models and image models."""

from __future__ import annotations

import os
import random as chance
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.config import ModelSettings
from tactician.events import EventBus, EventEmitter, EventListener
from tactician.llm.instances import own_prices, parse_instances
from tactician.llm.model import Delta, Features, ModelRequest, ModelResponse
from tactician.llm.model_kinds import KIND_NAMES, KindName
from tactician.llm.model_profiles import parse_profiles
from tactician.llm.options import NO_ROUTING_OPTIONS, LlmOptions, RoutingOptions
from tactician.llm.routing.chat import ChatCalls, RoutedModel
from tactician.llm.routing.circuit import RestPolicy
from tactician.llm.routing.configuration import change_settings, names_in, policies_of
from tactician.llm.routing.deadlines import Watches
from tactician.llm.routing.deployment import (
    CallLimits,
    Deployment,
    DeploymentStatus,
    deployments_of,
    group_by_kind,
)
from tactician.llm.routing.estimates import Estimate, estimate_tokens
from tactician.llm.routing.features import common_features
from tactician.llm.routing.lane import Lane
from tactician.llm.routing.media import RoutedEmbeddingModel, RoutedImageModel
from tactician.llm.routing.policies import Policy, PolicyName, policy_maker
from tactician.llm.routing.reports import Reporter
from tactician.llm.routing.retries import ModelRetryPolicy, Random
from tactician.llm.routing.routes import PoolSettings, RouteTable
from tactician.llm.routing.setup import Setup
from tactician.llm.usage import NO_USAGE, Usage

NO_FALLBACKS: Mapping[str, Sequence[str]] = MappingProxyType({})


class ModelRouter:
    """Spreads calls over deployments, within their limits, and tries again where that helps.

    Deployments are of chat models, embedding models and image models; all calls have the same limits, retries and
    rests. A router is a `LanguageModel`, which goes by each request's `options.model`, and a source of models, whose
    `resolve`, `embedding_model` and `image_model` give a model of one name. A name is a model's, exactly as deployments
    say it, or `instance:model`. `options.instances` says which instances may serve a request, `options.session` keeps
    requests together under the policy `sticky`.

    Which deployment takes a call: of those that can start it now, the one that the policy picks. When none can, the
    call waits in its model's line, and the first in line gets whatever opens first; a session that sticks to its
    instance waits for that one alone. A failed attempt goes at once to an instance that this call has not tried, and
    without one waits as the retry policy says.

    A router may be used in several event loops. Limits, rests and totals are the process's; lines are each loop's own.

    Args:
        deployments: what there is to call.
        policy: `"round_robin"`, `"least_loaded"`, `"sticky"`, or what makes a `Policy` for a model.
        requests_per_second: the limit of each deployment that has none of its own; no limit, when `None`.
        tokens_per_second: likewise, in tokens.
        max_concurrency: how many calls may be under way at once, at each deployment that does not say it.
        retries: what is tried again, how often, and the deadline.
        rests: when a failing deployment is left alone, and for how long.
        default_model: the chat model of requests that name none; the only one there is, when `None`.
        default_embedding: likewise, the embedding model.
        default_image: likewise, the image model.
        fallbacks: for a chat model or an image model, those to use in order when it cannot answer, after those of the
            request's own options. Embedding models have none: vectors of different models cannot be compared.
        estimate: guesses the tokens of a request to a chat model, where they are limited.
        clock: the time.
        random: numbers from 0 to 1, for pauses.
        on_event: called with the event of every decision.

    Raises:
        ConfigurationError: when a deployment is listed twice, there is no such policy, or an embedding model has
            fallbacks.
        UnknownModelError: when a default or a fallback is not served.
    """

    def __init__(
        self,
        deployments: Iterable[Deployment],
        *,
        policy: PolicyName | Callable[[], Policy] = "round_robin",
        requests_per_second: float | None = None,
        tokens_per_second: float | None = None,
        max_concurrency: int = 50,
        retries: ModelRetryPolicy = ModelRetryPolicy(),  # noqa: B008
        rests: RestPolicy = RestPolicy(),  # noqa: B008
        default_model: str | None = None,
        default_embedding: str | None = None,
        default_image: str | None = None,
        fallbacks: Mapping[str, Sequence[str]] = NO_FALLBACKS,
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
        pools = PoolSettings(limits, rests, policy_maker(policy), clock)
        by_kind, defaults = group_by_kind(deployments), (default_model, default_embedding, default_image)
        self._tables = {
            kind: RouteTable(kind, by_kind[kind], default, pools)
            for kind, default in zip(KIND_NAMES, defaults, strict=True)
        }
        self._chat = self._tables["chat"]
        for kind, table in self._tables.items():
            table.fall_back({model: fallbacks[model] for model in fallbacks if self._kind_of(model) == kind})
        name = policy if isinstance(policy, str) else getattr(policy, "__name__", "policy")
        reporter = Reporter(EventEmitter(EventBus(on_event), clock=clock))
        self._setup = Setup(retries, clock, Watches(clock), random, estimate, name, reporter)
        self._calls = ChatCalls(self._chat, self._setup)
        self._features: Features | None = None

    @classmethod
    def from_json(
        cls,
        text: str,
        settings: ModelSettings | None = None,
        *,
        requests_per_second: float | None = None,
        max_retries: int | None = None,
        policy: PolicyName | None = None,
        environment: Mapping[str, str] = os.environ,
        clock: Clock = SYSTEM_CLOCK,
        on_event: EventListener | None = None,
    ) -> ModelRouter:
        """A router over the instances in the JSON of `LLM_INSTANCES`.

        Args:
            text: the JSON.
            settings: what the table `[models]` of `tactician.toml` can say: limits, retries, rests, fallbacks, default
                models, prices and facts. The arguments below come before it.
            requests_per_second: the limit of each model at each instance that has none of its own.
            max_retries: attempts after the first at calls that fail for reasons which pass; 2 by default.
            policy: which instance takes a call.
            environment: what `${NAME}` in the JSON stands for.
            clock: the time.
            on_event: called with the event of every decision.

        Raises:
            ConfigurationError: with every mistake in the JSON, or with every argument that is wrong.
        """
        settings = settings or ModelSettings()
        changes = {"policy": policy, "requests_per_second": requests_per_second, "max_retries": max_retries}
        router = change_settings(settings.router, changes)
        instances = parse_instances(text, environment, parse_profiles(settings.facts), own_prices(settings))
        return cls(
            deployments_of(instances), **policies_of(router), **names_in(settings), clock=clock, on_event=on_event
        )

    def __repr__(self) -> str:
        return f"ModelRouter({', '.join(lane.name for lane in self._lanes())})"

    @property
    def name(self) -> str:
        """The default model's name; `"router"` when there is none."""
        return self._chat.default or "router"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all chat models that are served."""
        return self._chat.models

    def add(self, *deployments: Deployment) -> None:
        """More deployments, of models that the router does not serve yet.

        Raises:
            ConfigurationError: when a deployment is listed twice, or its model is served already.
        """
        for kind, added in group_by_kind(deployments).items():
            self._tables[kind].add(added)
        self._features = None

    def fall_back(self, model: str, *fallbacks: str, kind: KindName = "chat") -> None:
        """The models to use, in order, when this one cannot answer, after those of a request's own options.

        Raises:
            UnknownModelError: when nobody serves one of them as a model of the same kind.
            ConfigurationError: when it is an embedding model.
        """
        self._tables[kind].fall_back({model: fallbacks})

    def serves(self, name: str, kind: KindName = "chat") -> bool:
        """Whether there is a model of this name and kind, or a deployment `instance:model`."""
        return self._tables[kind].serves(name)

    @property
    def features(self) -> Features:
        """What the default model can do; what every model can, when there is no default."""
        if self._features is None:
            if self._chat.default is not None:
                self._features = self._chat.find(None).features
            else:
                self._features = common_features(lane.deployment.features for lane in self._chat.lanes)
        return self._features

    def resolve(self, options: LlmOptions) -> RoutedModel:
        """The model that the options ask for, at the instances that they allow.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedModel(self._calls, self._chat.find(options.wanted, options.instances, options.fallbacks))

    def for_model(self, name: str) -> RoutedModel:
        """The model of this name.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedModel(self._calls, self._chat.find(name))

    def embedding_model(
        self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS
    ) -> RoutedEmbeddingModel:
        """The embedding model of this name, else the default, at the instances that the options allow.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedEmbeddingModel(self._tables["embeddings"], self._setup, name, options)

    def image_model(self, name: str | None = None, options: RoutingOptions = NO_ROUTING_OPTIONS) -> RoutedImageModel:
        """The image model of this name, else the default, at the instances that the options allow.

        Raises:
            UnknownModelError: when nobody serves it.
        """
        return RoutedImageModel(self._tables["images"], self._setup, name, options)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """One call, one answer, from the model that `request.options` asks for.

        Raises:
            UnknownModelError: when nobody serves it; nothing is sent.
            ModelTimeoutError: when the deadline passes.
            ModelError: that of the last attempt, with a note of what was tried.
        """
        return await self._calls.generate(request.options.wanted, request)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | ModelResponse]:
        """The answer as it comes, then the whole of it. What fails before the first delta is tried again, as ever;
        what fails later is raised as it is, because a part of the answer has been used already.

        Raises:
            UnknownModelError: when nobody serves the model; nothing is sent.
            ModelTimeoutError: when the deadline passes before the first delta.
            ModelError: that of the last attempt.
        """
        return self._calls.stream(request.options.wanted, request)

    def status(self) -> tuple[DeploymentStatus, ...]:
        """How each deployment is doing, model by model: chat models, embedding models, image models."""
        now = self._setup.clock.monotonic()
        return tuple(lane.status(now) for lane in self._lanes())

    def usage(self, *, model: str | None = None, instance: str | None = None) -> Usage:
        """What was used: by all, by a model, by an instance, or by a model at an instance."""
        lanes = (lane for lane in self._lanes() if model in (None, lane.model) and instance in (None, lane.instance))
        return sum((lane.usage for lane in lanes), NO_USAGE)

    def _lanes(self) -> Iterator[Lane]:
        return (lane for table in self._tables.values() for lane in table.lanes)

    def _kind_of(self, model: str) -> KindName:
        """The kind of a model by its name: chat where models of several kinds have it, or none."""
        return next((kind for kind, table in self._tables.items() if table.serves(model)), "chat")
