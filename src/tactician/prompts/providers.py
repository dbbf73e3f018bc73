"""Where prompts are kept outside of code: providers, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Protocol

from tactician.errors import ConfigurationError


class PromptProvider(Protocol):
    """Has prompts by their names."""

    async def prompt(self, name: str, filters: Mapping[str, str]) -> str:
        """The text of a prompt.

        Args:
            name: its name.
            filters: which of its versions is meant; what they may say is the provider's.

        Raises:
            ConfigurationError: when there is no such prompt, or it cannot be had.
        """
        ...


class PromptProviders:
    """The providers of this process, by the names that blueprints use."""

    def __init__(self) -> None:
        self._known: dict[str, PromptProvider] = {}

    def register(self, name: str, provider: PromptProvider) -> None:
        """Gives a provider a name; one that had it before loses it."""
        self._known[name] = provider

    def find(self, name: str) -> PromptProvider:
        """The provider of that name.

        Raises:
            ConfigurationError: when there is none.
        """
        if (found := self._known.get(name)) is not None:
            return found
        close = get_close_matches(name, self._known, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise ConfigurationError(
            f"No provider of prompts is registered as {name!r}.{hint} Registered: {', '.join(self._known) or 'none'}. "
            f"Call prompt_providers.register({name!r}, ...) first."
        )

    def __contains__(self, name: object) -> bool:
        return name in self._known

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all providers, in order."""
        return tuple(sorted(self._known))

    def unregister(self, name: str) -> None:
        """Forgets a name."""
        self._known.pop(name, None)

    def clear(self) -> None:
        """Forgets all names."""
        self._known.clear()


prompt_providers = PromptProviders()
