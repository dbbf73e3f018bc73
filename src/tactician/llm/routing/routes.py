"""Which deployments may serve a request: by the model's name, the allow-list and the fallbacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tactician.clock import Clock
from tactician.documents import did_you_mean
from tactician.errors import ConfigurationError, UnknownModelError
from tactician.llm.model import Features
from tactician.llm.model_kinds import KindName
from tactician.llm.routing.circuit import RestPolicy
from tactician.llm.routing.deployment import CallLimits, Deployment, ServedModel
from tactician.llm.routing.lane import Lane
from tactician.llm.routing.policies import Lanes, Policy
from tactician.llm.routing.pool import Pool

_MOST_ROUTES = 4096
_NOUNS: Mapping[KindName, str] = {"chat": "model", "embeddings": "embedding model", "images": "image model"}


@dataclass(frozen=True, slots=True)
class Stage:
    """One model of a route, and those of its lanes that the request may take."""

    pool: Pool
    lanes: Lanes
    features: Features


@dataclass(frozen=True, slots=True)
class Route:
    """Where a request may go: the stage of the model that was asked for, then those of its fallbacks."""

    name: str
    stages: tuple[Stage, ...]

    @property
    def features(self) -> Features:
        """What every deployment of the model can do. For a fallback that can do less, the request is fitted again."""
        return self.stages[0].features

    @property
    def models(self) -> tuple[ServedModel, ...]:
        """What serves the model that was asked for, one at each instance."""
        return tuple(lane.deployment.serves for lane in self.stages[0].lanes)


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """Settings of all pools of a router."""

    limits: CallLimits
    rests: RestPolicy
    new_policy: Callable[[], Policy]
    clock: Clock

    def pool(self, model: str, deployments: Sequence[Deployment]) -> Pool:
        """Return a pool of the deployments of a model."""
        lanes = (Lane(one, place, self.limits, self.rests) for place, one in enumerate(deployments))
        return Pool(model, tuple(lanes), self.new_policy, self.clock)


class RouteTable:
    """All deployments of models of one kind, and the routes over them. Each route is worked out once.

    Raises:
        ConfigurationError: when a deployment is listed twice, or a fallback is a model that nobody serves.
    """

    def __init__(
        self,
        kind: KindName,
        deployments: Iterable[Deployment],
        default: str | None,
        settings: PoolSettings,
    ) -> None:
        self._kind = kind
        self._settings = settings
        self._pools: dict[str, Pool] = {}
        self._exact: dict[str, tuple[Pool, Lane]] = {}
        self._fallbacks: dict[str, Sequence[str]] = {}
        self._default = default
        self._routes: dict[object, Route] = {}
        self.add(deployments)
        self._check()

    def add(self, deployments: Iterable[Deployment]) -> None:
        """More deployments, of models that nobody serves yet.

        Raises:
            ConfigurationError: when a deployment is listed twice, or its model is served already.
        """
        by_model: dict[str, list[Deployment]] = {}
        for deployment in deployments:
            listed = by_model.setdefault(deployment.model, [])
            if deployment.model in self._pools or any(one.instance == deployment.instance for one in listed):
                raise ConfigurationError(f"{deployment.name} is listed twice")
            listed.append(deployment)
        for model, listed in by_model.items():
            pool = self._pools[model] = self._settings.pool(model, listed)
            self._exact.update({lane.name: (pool, lane) for lane in pool.lanes})
        self._routes.clear()

    def fall_back(self, fallbacks: Mapping[str, Sequence[str]]) -> None:
        """For each of these models, those to use, in order, when it cannot answer.

        Raises:
            UnknownModelError: when nobody serves one of them.
            ConfigurationError: when they are embedding models.
        """
        self._fallbacks.update(fallbacks)
        self._routes.clear()
        self._check()

    @property
    def lanes(self) -> Iterator[Lane]:
        """All lanes, model by model."""
        return (lane for pool in self._pools.values() for lane in pool.lanes)

    @property
    def models(self) -> tuple[str, ...]:
        """All models that are served."""
        return tuple(self._pools)

    @property
    def default(self) -> str | None:
        """The model of requests that name none: the one that was chosen, or the only one there is."""
        return self._default or (self.models[0] if len(self._pools) == 1 else None)

    def serves(self, name: str) -> bool:
        """Whether a model or a deployment has this name."""
        return name in self._pools or name in self._exact

    def find(self, name: str | None, instances: tuple[str, ...] = (), fallbacks: tuple[str, ...] = ()) -> Route:
        """The route of a request for this model at the allowed instances; at any, when there are none.

        Raises:
            UnknownModelError: when no allowed deployment serves the model or one of the request's own fallbacks.
        """
        key = (name, instances, fallbacks) if instances or fallbacks else name
        route = self._routes.get(key)
        if route is None:
            route = self._make(name, instances, fallbacks)
            if len(self._routes) >= _MOST_ROUTES:
                self._routes.clear()
            self._routes[key] = route
        return route

    def _make(self, name: str | None, instances: tuple[str, ...], fallbacks: tuple[str, ...]) -> Route:
        wanted = name or self.default
        if wanted is None:
            noun = _NOUNS[self._kind]
            raise UnknownModelError(f"The request names no {noun}, and there is no default. {self._served()}")
        required = [self._stage(one, instances) for one in dict.fromkeys((wanted, *fallbacks))]
        model = required[0].pool.model
        known = dict.fromkeys((*self._fallbacks.get(wanted, ()), *self._fallbacks.get(model, ())))
        spare = [stage for one in known if (stage := self._find(one, instances)) is not None]
        stages = {(stage.pool.model, stage.lanes): stage for stage in (*required, *spare)}
        return Route(wanted, tuple(stages.values()))

    def _stage(self, name: str, instances: tuple[str, ...]) -> Stage:
        if (stage := self._find(name, instances)) is not None:
            return stage
        where = f" at the allowed instances ({', '.join(instances)})" if instances else ""
        hint = "" if name in self.models else did_you_mean(name, self.models)
        raise UnknownModelError(f"Nothing serves the {_NOUNS[self._kind]} {name!r}{where}.{hint} {self._served()}")

    def _find(self, name: str, instances: tuple[str, ...]) -> Stage | None:
        lanes: Lanes
        if (pool := self._pools.get(name)) is not None:
            lanes = pool.lanes
        elif (exact := self._exact.get(name)) is not None:
            pool, lanes = exact[0], (exact[1],)
        else:
            return None
        if instances:
            lanes = tuple(lane for lane in lanes if lane.instance in instances)
        return Stage(pool, lanes, pool.features_of(lanes)) if lanes else None

    def _served(self) -> str:
        served = (
            f"{model} (at {', '.join(lane.instance for lane in pool.lanes)})" for model, pool in self._pools.items()
        )
        return f"Served are: {'; '.join(served) or self._nothing()}."

    def _nothing(self) -> str:
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
            raise UnknownModelError(f"Nothing serves {names}, the default or in the fallbacks. {self._served()}")
