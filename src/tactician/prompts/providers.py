"""Where prompts are kept outside of code: providers, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from tactician.config import PromptSettings, load_settings
from tactician.documents import did_you_mean
from tactician.errors import ConfigurationError
from tactician.prompts.folder import FolderPrompts
from tactician.prompts.langfuse import LangfusePrompts


class PromptProvider(Protocol):
    """Has prompts by their names."""

    async def get_prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """The text of a prompt.

        Args:
            name: its name.
            filters: which of its versions is meant; what they may say is the provider's.

        Raises:
            ConfigurationError: when there is no such prompt, or it cannot be had.
        """
        ...


class PromptProviders:
    """The providers of this process, by the names that blueprints use.

    Beside those that are registered there are those of `tactician.toml`, which is read when they are first needed.
    """

    def __init__(self) -> None:
        self._known: dict[str, PromptProvider] = {}
        self._settings: Mapping[str, PromptSettings] | None = None

    def register(self, name: str, provider: PromptProvider) -> None:
        """Gives a provider a name; one that had it before loses it."""
        self._known[name] = provider

    def find(self, name: str) -> PromptProvider:
        """The provider of that name.

        Raises:
            ConfigurationError: when there is none, or what `tactician.toml` says of it is wrong.
        """
        if (found := self._known.get(name)) is not None:
            return found
        if (settings := self._load_settings().get(name)) is not None:
            return self._known.setdefault(name, _create_provider(name, settings))
        hint = did_you_mean(name, self.names)
        raise ConfigurationError(
            f"No provider of prompts is registered as {name!r}.{hint} Registered: {', '.join(self.names) or 'none'}. "
            f"Call prompt_providers.register({name!r}, ...) first, or add [prompts.{name}] to tactician.toml."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._load_settings()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all providers, in order."""
        return tuple(sorted({*self._known, *self._load_settings()}))

    def unregister(self, name: str) -> None:
        """Forgets a provider that was registered. One of that name in `tactician.toml` is made anew."""
        self._known.pop(name, None)

    def clear(self) -> None:
        """Forgets all providers that were registered, and reads `tactician.toml` anew."""
        self._known.clear()
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
