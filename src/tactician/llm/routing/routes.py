"""Routes: the deployments that may serve a request, by model name, allowed instances and fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tactician.clock import Clock
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.frozen import frozen
from tactician.llm.model import Features
from tactician.llm.model_kinds import KindName
from tactician.llm.routing.deployment import CallLimits, Deployment, ServedModel
from tactician.llm.routing.deployment_pool import DeploymentPool
from tactician.llm.routing.deployment_state import DeploymentState
from tactician.llm.routing.features import intersect_features
from tactician.llm.routing.policies import DeploymentStates, Policy
from tactician.resilience.circuit_breaker import CircuitBreakerPolicy
from tactician.suggestions import did_you_mean

_MOST_ROUTES = 4096
_NOUNS: Mapping[KindName, str] = {"chat": "model", "embeddings": "embedding model", "images": "image model"}


@frozen
class Stage:
    """Model of a route, and the deployments that the request may use."""

    pool: DeploymentPool
    states: DeploymentStates
    features: Features


@frozen
class Route:
    """Stages of a request: the model that was requested, then its fallbacks."""

    name: str
    stages: tuple[Stage, ...]

    @property
    def features(self) -> Features:
        """Features that every deployment of the model shares. For a weaker fallback, the request is adapted again."""
        return self.stages[0].features

    @property
    def models(self) -> tuple[ServedModel, ...]:
        """Models that serve the requested name, in the order of the instances."""
        return tuple(state.deployment.served_model for state in self.stages[0].states)


@frozen
class PoolSettings:
    """Settings of all pools of a router."""

    limits: CallLimits
    circuit_breaker: CircuitBreakerPolicy
    new_policy: Callable[[], Policy]
    clock: Clock

    def create_pool(self, model: str, deployments: Sequence[Deployment]) -> DeploymentPool:
        """Return a pool of the deployments of a model."""
        states = (
            DeploymentState(deployment, place, self.limits, self.circuit_breaker)
            for place, deployment in enumerate(deployments)
        )
        return DeploymentPool(model, tuple(states), self.new_policy, self.clock)


class RouteTable:
    """All deployments of models of a kind, and the routes over them. Each route is computed once.

    Raises:
        ConfigurationError: when a deployment is listed twice, or no deployment serves a fallback.
    """

    def __init__(
        self,
        kind: KindName,
        deployments: Iterable[Deployment],
        default: str | None,
        settings: PoolSettings,
        roles: Mapping[str, str],
    ) -> None:
        self._kind = kind
        self._roles = roles
        self._settings = settings
        self._pools: dict[str, DeploymentPool] = {}
        self._exact: dict[str, tuple[DeploymentPool, DeploymentState]] = {}
        self._fallbacks: dict[str, Sequence[str]] = {}
        self._default = default
        self._routes: dict[object, Route] = {}
        self.add(deployments)
        self._check()

    def add(self, deployments: Iterable[Deployment]) -> None:
        """Add deployments of models that are not served yet.

        Raises:
            ConfigurationError: when a deployment is listed twice, or its model is served already.
        """
        by_model: dict[str, list[Deployment]] = {}
        for deployment in deployments:
            listed = by_model.setdefault(deployment.model, [])
            if deployment.model in self._pools or any(
                listed_deployment.instance == deployment.instance for listed_deployment in listed
            ):
                raise ConfigurationError(f"{deployment.name} is listed twice")
            listed.append(deployment)
        for model, listed in by_model.items():
            pool = self._pools[model] = self._settings.create_pool(model, listed)
            self._exact.update({state.name: (pool, state) for state in pool.states})
        self._routes.clear()

    def set_fallbacks(self, fallbacks: Mapping[str, Sequence[str]]) -> None:
        """Set, for each of these models, the models to use in order when it cannot answer.

        Raises:
            UnknownModelError: when no deployment serves a fallback.
            ConfigurationError: when the models are embedding models.
        """
        self._fallbacks.update(fallbacks)
        self._routes.clear()
        self._check()

    @property
    def pools(self) -> Iterable[DeploymentPool]:
        """Deployments of each model."""
        return tuple(self._pools.values())  # another thread may add models meanwhile

    @property
    def states(self) -> Iterator[DeploymentState]:
        """States of all deployments, model by model."""
        return (state for pool in self.pools for state in pool.states)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of all models."""
        return tuple(self._pools)

    @property
    def default(self) -> str | None:
        """Model of requests without a model: the configured default, or the only model."""
        return self._default or (self.models[0] if len(self._pools) == 1 else None)

    def has_model(self, name: str) -> bool:
        """Return whether a model or a deployment has this name."""
        return name in self._pools or name in self._exact

    def find(self, name: str | None, instances: tuple[str, ...] = (), fallbacks: tuple[str, ...] = ()) -> Route:
        """Return the route of a request for this model, at the allowed instances or, without any, at all.

        Raises:
            UnknownModelError: when no allowed deployment serves the model, or a fallback that the request names.
        """
        key = (name, instances, fallbacks) if instances or fallbacks else name
        route = self._routes.get(key)
        if route is None:
            route = self._create_route(name, instances, fallbacks)
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            self._routes[key] = route
        return route

    def _create_route(self, name: str | None, instances: tuple[str, ...], fallbacks: tuple[str, ...]) -> Route:
        requested = name or self.default
        if requested is None:
            noun = _NOUNS[self._kind]
            raise UnknownModelError(f"The request names no {noun}, and there is no default. {self._describe_models()}")
        requested = self._resolve_role(requested)
        required = [self._stage(self._resolve_role(name), instances) for name in dict.fromkeys((requested, *fallbacks))]
        model = required[0].pool.model
        fallback_names = dict.fromkeys((*self._fallbacks.get(requested, ()), *self._fallbacks.get(model, ())))
        spare = [stage for name in fallback_names if (stage := self._find(name, instances)) is not None]
        stages = {(stage.pool.model, stage.states): stage for stage in (*required, *spare)}
        return Route(requested, tuple(stages.values()))

    def _resolve_role(self, name: str) -> str:
        prefix, _, role = name.partition(":")
        return self._roles.get(role, name) if prefix == "role" else name

    def _stage(self, name: str, instances: tuple[str, ...]) -> Stage:
        if (stage := self._find(name, instances)) is not None:
            return stage
        where = f" at the allowed instances ({', '.join(instances)})" if instances else ""
        hint = "" if name in self.models else did_you_mean(name, self.models)
        raise UnknownModelError(
            f"Nothing serves the {_NOUNS[self._kind]} {name!r}{where}.{hint} {self._describe_models()}"
        )

    def _find(self, name: str, instances: tuple[str, ...]) -> Stage | None:
        states: DeploymentStates
        if (pool := self._pools.get(name)) is not None:
            states = pool.states
        elif (exact := self._exact.get(name)) is not None:
            pool, states = exact[0], (exact[1],)
        else:
            return None
        if instances:
            states = tuple(state for state in states if state.instance in instances)
        return (
            Stage(pool, states, intersect_features(state.deployment.features for state in states)) if states else None
        )

    def _describe_models(self) -> str:
        served = (f"{pool.model} (at {', '.join(state.instance for state in pool.states)})" for pool in self.pools)
        return f"Served are: {'; '.join(served) or self._describe_missing()}."

    def _describe_missing(self) -> str:
        with_one = "" if self._kind == "chat" else f" with an {_NOUNS[self._kind]}"
        return f"none, because no instance{with_one} is configured"

    def _check(self) -> None:
        if self._kind == "embeddings" and self._fallbacks:
            names = ", ".join(map(repr, self._fallbacks))
            raise ConfigurationError(
                f"The fallbacks of {names}: an embedding model can have none, because vectors of different models "
                "cannot be compared. Serve the same model at another instance instead."
            )
        named = [*([self._default] if self._default else []), *self._fallbacks]
        named += [name for names in self._fallbacks.values() for name in names]
        unknown = [name for name in dict.fromkeys(named) if self._find(name, ()) is None]
        if unknown:
            names = ", ".join(map(repr, unknown))
            raise UnknownModelError(
                f"Nothing serves {names}, the default or in the fallbacks. {self._describe_models()}"
            )
