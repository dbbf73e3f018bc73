"""Selection of the tools of a server: which an agent has, and what the model calls them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.suggestions import did_you_mean
from tactician.tools.selection import NamingStrategy, matches_name

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST_NAME = 64


@frozen
class ToolSelection:
    """Selection of tools by their names on the server, which may be patterns such as `read_*`.

    Attributes:
        only: patterns of the tools to take; all if `None`.
        but: patterns of the tools to leave out.
        naming: the naming strategy; names stay as they are if `None`.
        approved: patterns of the tools whose calls need an approval.
        types: types of the structured output of tools, by patterns.
        required_role: role that a person needs to approve these calls; anybody may, when `None`.
    """

    only: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()
    naming: NamingStrategy | None = None
    approved: tuple[str, ...] = ()
    types: tuple[tuple[str, object], ...] = ()
    required_role: str | None = None

    def takes(self, name: str) -> bool:
        """Return whether a tool is selected."""
        return (self.only is None or matches_name(name, self.only)) and not matches_name(name, self.but)

    def rename(self, name: str) -> str:
        """Return the name of a tool for the model, which every provider of models accepts."""
        if isinstance(self.naming, str):
            named = f"{self.naming}{name}"
        else:
            named = name if self.naming is None else self.naming(name)
        return _NOT_IN_A_NAME.sub("_", named)[:_LONGEST_NAME]

    def check(self, server: str, names: Iterable[str]) -> None:
        """Check that the server has a tool for each pattern.

        Raises:
            ConfigurationError: when it has none.
        """
        all_names = tuple(names)
        for pattern in (*(self.only or ()), *self.but, *self.approved, *(pattern for pattern, _ in self.types)):
            if not any(fnmatchcase(name, pattern) for name in all_names):
                listed = ", ".join(all_names) or "none"
                raise ConfigurationError(
                    f"The MCP server {server!r} has no tool {pattern!r}."
                    f"{did_you_mean(pattern, all_names)} Tools: {listed}."
                )
