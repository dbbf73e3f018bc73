"""Agents that stand for models, for requests to a model by its name."""

from __future__ import annotations

from tactician.agents import Agent
from tactician.errors import UnknownModelError
from tactician.llm import LlmOptions, ModelCatalog, ModelRouter, OneModel
from tactician.llm.model_sources import ModelSource

_SUFFIXES = {"-websearch": "web_search", "-codeinterpreter": "code_interpreter"}


def find_model_agent(name: str, models: ModelSource) -> Agent[str] | None:
    """Return an agent that stands for the model of a name, or `None`.

    The model has tools of its provider with `-websearch` or `-codeinterpreter` behind its name.

    Raises:
        ConfigurationError: when the key for the model is not set.
    """
    if not _lists(name, models):
        for suffix, tool in _SUFFIXES.items():
            if name.endswith(suffix) and _serves(model := name.removesuffix(suffix), models):
                return Agent(name, id=name, model=LlmOptions(model=model, native_tools=(tool,)))
        if not _serves(name, models):
            return None
    return Agent(name, id=name, model=name)


def _lists(model: str, models: ModelSource) -> bool:
    """Return whether it is exactly a model that is served, whatever its name looks like."""
    if isinstance(models, ModelRouter):
        return models.has_model(model)
    if isinstance(models, ModelCatalog):
        return any(model in (entry.name, entry.full_name) for entry in models.list_entries())
    return isinstance(models, OneModel) and models.model.name == model


def _serves(model: str, models: ModelSource) -> bool:
    if isinstance(models, ModelRouter | OneModel):
        return _lists(model, models)
    try:
        models.resolve(LlmOptions(model=model))
    except UnknownModelError:
        return False
    return True
