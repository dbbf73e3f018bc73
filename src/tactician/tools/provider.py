"""Providers of tools, which list them when a run needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from tactician.tools.tool import Tool


class ToolProvider(ABC):
    """Provider whose tools are not known before a run needs them, such as a tool group or a server."""

    @abstractmethod
    async def load_tools(self) -> tuple[Tool, ...]:
        """Return the tools as they are now."""

    async def aclose(self) -> None:
        """Close what the tools need, such as a connection. It is opened again when the tools are loaded."""
        return


class OpenProviders:
    """Providers whose tools the runs of a platform have loaded; the platform closes them."""

    def __init__(self) -> None:
        self._open: dict[ToolProvider, None] = {}

    def add(self, provider: ToolProvider) -> None:
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
