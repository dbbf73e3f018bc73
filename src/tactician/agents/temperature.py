"""Model with a default temperature."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

from tactician.frozen import frozen
from tactician.llm import Features, LanguageModel, LlmOptions, ModelRequest, ModelResponse
from tactician.llm.model import Delta
from tactician.llm.responder import find_sibling


@frozen
class ModelWithTemperature(LanguageModel):
    """Model that is called with this temperature unless a request has its own."""

    model: LanguageModel
    temperature: float

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.model.name

    @property
    def features(self) -> Features:
        """The features of the model."""
        return self.model.features

    def find_sibling(self, name: str) -> LanguageModel | None:
        """Return the model of some name at the same server, if it has one of its own."""
        return find_sibling(self.model, name)

    async def generate(self, request: ModelRequest) -> ModelResponse:
        """Return the response to a request."""
        return await self.model.generate(self._apply_temperature(request))

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | ModelResponse]:
        """Stream the response to a request."""
        return self.model.stream(self._apply_temperature(request))

    def _apply_temperature(self, request: ModelRequest) -> ModelRequest:
        return replace(request, options=request.options.with_defaults(LlmOptions(temperature=self.temperature)))


def with_temperature(
    model: str | LlmOptions | LanguageModel | None, temperature: float | None
) -> str | LlmOptions | LanguageModel | None:
    """Return the model with a default temperature, if set."""
    if temperature is None:
        return model
    if model is None or isinstance(model, str):
        return LlmOptions(model=model, temperature=temperature)
    if isinstance(model, LlmOptions):
        return replace(model, temperature=temperature)
    return ModelWithTemperature(model, temperature)
