"""Models of tiers: each call of a run goes to the model that the tier of the node names then."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from tactician.llm import Features, LanguageModel, LlmOptions, ModelRequest, ModelResponse
from tactician.llm.model import Delta
from tactician.llm.model_sources import ModelSource, as_model_source


class TieredModel:
    """Model in whose place another is called while a tier is set.

    Args:
        model: the model that the work names.
        choose: returns the name of the model to call in its place; `None` for none.
        source: source of the models of tiers.
    """

    def __init__(self, model: LanguageModel, choose: Callable[[], str | None], source: ModelSource) -> None:
        self._model, self._choose, self._source = model, choose, source

    @property
    def _current(self) -> LanguageModel:
        return self._model if (name := self._choose()) is None else self._source.resolve(LlmOptions.of(name))

    @property
    def name(self) -> str:
        """The name of the model that is called now."""
        return self._current.name

    @property
    def features(self) -> Features:
        """The features of the model that is called now."""
        return self._current.features

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Call the model, and return its answer."""
        return await self._current.generate(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Yield the deltas as they come, then the response."""
        async for piece in self._current.stream(request):
            yield piece


class TieredRouter(TieredModel):
    """Model that is also the source of other models, for which the tier holds too."""

    def resolve(self, options: LlmOptions) -> LanguageModel:
        """Return the model for the options."""
        return TieredModel(as_model_source(self._model).resolve(options), self._choose, self._source)


def create_tiered(model: LanguageModel, choose: Callable[[], str | None], source: ModelSource) -> LanguageModel:
    """Return a model in whose place another is called while a tier is set."""
    kind = TieredRouter if hasattr(type(model), "resolve") else TieredModel
    return kind(model, choose, source)
