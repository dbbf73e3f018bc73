"""Providers of tools, which list them when a run needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from tactician.tools.tool import Tool


class Closable(Protocol):
    """Object with something to close, such as a connection."""

    async def aclose(self) -> None:
        """Close it."""
        ...


class ToolProvider(ABC):
    """Provider whose tools are not known before a run needs them, such as a tool group or a server."""

    @abstractmethod
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the tools as they are now."""

    async def aclose(self) -> None:
        """Close what the tools need, such as a connection. It is opened again when the tools are loaded."""
        return


class OpenProviders:
    """Providers and connections that the runs of a platform have opened; the platform closes them."""

    def __init__(self) -> None:
        self._open: dict[Closable, None] = {}

    def add(self, provider: Closable) -> None:
        """Remember a provider that is to be closed."""
        self._open[provider] = None

    async def aclose(self) -> None:
        """Close all providers.

        Raises:
            ExceptionGroup: when any of them cannot be closed, once all others are.
        """
        problems: list[Exception] = []
        while self._open:
            provider, _ = self._open.popitem()
            try:
                await provider.aclose()
            except Exception as error:
                problems.append(error)
        if problems:
            raise ExceptionGroup("tool providers could not be closed", problems)
