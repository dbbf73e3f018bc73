"""Prompt providers: named sources of prompts outside of code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tactician.config.loading import load_settings
from tactician.config.settings import PromptSettings
from tactician.errors import ConfigurationError
from tactician.prompts.folder import FolderPrompts
from tactician.prompts.langfuse import LangfusePrompts
from tactician.suggestions import did_you_mean


class PromptProvider(Protocol):
    """Source of prompts by name."""

    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """Return the text of a prompt.

        Args:
            name: its name.
            filters: filters that select a version; their meaning is up to the provider.

        Raises:
            ConfigurationError: when there is no such prompt, or it cannot be loaded.
        """
        ...


class PromptProviders:
    """Registry of the providers of this process, by the names that blueprints use.

    Besides registered providers it has those in `tactician.toml`, which is read when they are first needed.
    """

    def __init__(self) -> None:
        self._providers: dict[str, PromptProvider] = {}
        self._settings: Mapping[str, PromptSettings] | None = None

    def register(self, name: str, provider: PromptProvider) -> None:
        """Register a provider under a name, in place of any other provider with that name."""
        self._providers[name] = provider

    def find(self, name: str) -> PromptProvider:
        """Return the provider with a name.

        Raises:
            ConfigurationError: when no provider has the name, or its settings in `tactician.toml` are wrong.
        """
        if (provider := self._providers.get(name)) is not None:
            return provider
        if (settings := self._load_settings().get(name)) is not None:
            return self._providers.setdefault(name, _create_provider(name, settings))
        hint = did_you_mean(name, self.names)
        raise ConfigurationError(
            f"No provider of prompts is registered as {name!r}.{hint} Registered: {', '.join(self.names) or 'none'}. "
            f"Call prompt_providers.register({name!r}, ...) first, or add [prompts.{name}] to tactician.toml."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._providers or name in self._load_settings()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all providers, sorted."""
        return tuple(sorted({*self._providers, *self._load_settings()}))

    def unregister(self, name: str) -> None:
        """Remove a registered provider. A provider in `tactician.toml` is created again when it is needed."""
        self._providers.pop(name, None)

    def clear(self) -> None:
        """Remove all registered providers, and read `tactician.toml` again when it is needed."""
        self._providers.clear()
        self._settings = None

    def _load_settings(self) -> Mapping[str, PromptSettings]:
        if self._settings is None:
            self._settings = load_settings().prompts
        return self._settings


def _create_provider(name: str, settings: PromptSettings) -> PromptProvider:
    if settings.folder is not None:
        return FolderPrompts(settings.folder)
    try:
        return LangfusePrompts.from_environment()
    except ConfigurationError as error:
        raise ConfigurationError(f"tactician.toml: prompts.{name}: {error}") from error


prompt_providers = PromptProviders()
