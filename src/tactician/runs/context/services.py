"""Services that the runs of a platform share: models, store, clock, event bus, and any others."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from tactician.clock import SYSTEM_CLOCK, Clock
from tactician.events.bus import EventBus
from tactician.frozen import frozen
from tactician.llm import LanguageModel, LlmOptions
from tactician.llm.model_sources import ModelSource
from tactician.llm.options import NO_OPTIONS
from tactician.runs.context.telemetry import start_telemetry
from tactician.runs.progress.store import default_store
from tactician.stores import DocumentStore

if TYPE_CHECKING:
    from tactician.llm import ModelCatalog
    from tactician.planning.rules import Rule

T = TypeVar("T")


@frozen
class ModelFilter:
    """Function that all models of a run pass through, such as a cache of their answers; see `RunContext.inside`.

    Attributes:
        wrap: returns the model to call in the place of a model.
        options: options of all calls; an agent with such options of its own keeps them.
    """

    wrap: Callable[[LanguageModel], LanguageModel]
    options: LlmOptions = NO_OPTIONS


class Services:
    """All that the runs of a platform share.

    Beside the services that every run needs there may be any others, found by their class: see `find`.

    Args:
        models: where models come from.
        store: where runs that wait are kept.
        clock: the time.
        bus: where events go.
        others: further services.
        is_durable: true when every run is saved in the store after each step; by default, when there is a store.

    Attributes:
        rules: rules that every run keeps whose actions, tools or tasks they speak of.
    """

    __slots__ = ("_others", "bus", "clock", "is_durable", "models", "rules", "store")

    def __init__(
        self,
        models: ModelSource,
        store: DocumentStore | None = None,
        clock: Clock = SYSTEM_CLOCK,
        bus: EventBus | None = None,
        *others: object,
        is_durable: bool | None = None,
    ) -> None:
        self.models = models
        self.store = store if store is not None else default_store()
        self.is_durable = store is not None if is_durable is None else is_durable
        self.clock = clock
        self.bus = bus if bus is not None else EventBus()
        self.rules: tuple[Rule, ...] = ()
        self._others: dict[type, object] = {type(other): other for other in others}

    @staticmethod
    def default() -> Services:
        """Return the services of runs outside of a platform; the same object each time.

        Their models come from `tactician.toml` and the environment, and their store is in memory.

        Raises:
            ConfigurationError: when the settings are not valid.
        """
        return _services_over(_find_loader()())

    def find(self, kind: type[T]) -> T:
        """Return the service of a class. A service that nobody has provided is created without arguments."""
        service = self._others.get(kind)
        if service is None:
            service = self._others[kind] = kind()
        assert isinstance(service, kind)
        return service

    def with_models(self, models: ModelSource) -> Services:
        """Return the same services with another source of models."""
        if models is self.models:
            return self
        changed = self.with_bus(self.bus)
        changed.models = models
        return changed

    def with_service(self, service: object) -> Services:
        """Return a copy with the service in place of another of its class."""
        changed = self.with_bus(self.bus)
        changed._others = {**self._others, type(service): service}
        return changed

    def with_bus(self, bus: EventBus) -> Services:
        """Return the same services with another bus."""
        changed = Services(self.models, self.store, self.clock, bus)
        changed.is_durable, changed.rules = self.is_durable, self.rules
        changed._others = self._others
        return changed


@cache
def _find_loader() -> Callable[[], ModelCatalog]:
    from tactician.llm.catalog import load_default_models  # an import takes as long as half of what a run needs here

    return load_default_models


@cache
def _services_over(models: ModelCatalog) -> Services:
    start_telemetry()
    return Services(models)
