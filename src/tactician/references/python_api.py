"""APIs of Python packages as references."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from tactician.errors import ConfigurationError, ToolError
from tactician.prompts import LlmReference
from tactician.prompts.package_files import find_package_folders
from tactician.references.python_source import ApiEntry, PythonSource, read_python_source
from tactician.suggestions import did_you_mean, suggest_options
from tactician.tools import tool

_MOST_LISTED: Final = 100
_MAX_TEXT: Final = 20_000
_WORD: Final = re.compile(r"\w+")


@suggest_options
@dataclass(frozen=True)
class PythonApi(LlmReference):
    """API of Python packages as a reference: signatures and docstrings of their public classes and functions.

    The sources are parsed, stubs included; the packages are not imported. Parts written in another language have an
    API here if there are stubs.

    Args:
        name: the name.
        description: the description.
        accepted_packages: the full names of the packages; those inside of them count too.
        usage_notes: notes for the model on the use of the API.

    Raises:
        ConfigurationError: when there is no such package.
    """

    name: str
    description: str
    accepted_packages: Sequence[str]
    usage_notes: str = ""
    notes: str = field(default="", init=False)

    def __post_init__(self) -> None:
        if not self.accepted_packages or isinstance(self.accepted_packages, str):
            raise ConfigurationError("accepted_packages is a list of packages, such as ['acme']")
        for package in self.accepted_packages:
            find_package_folders(package)
        listed = ", ".join(self.accepted_packages)
        notes = (
            f"Packages: {listed}. Look up the names and signatures before you write code that uses them.\n"
            f"{self.usage_notes}"
        )
        object.__setattr__(self, "notes", notes.strip())

    @tool(blocking=True)
    def list_names(self, module: str) -> str:
        """List the public classes and functions of a module or a package.

        Args:
            module: the full name of the module
        """
        entries = [entry for name, entry in self._list_exported() if name.startswith(f"{module}.")]
        if not entries:
            raise ToolError(f"There is no API in {module!r}. Packages: {', '.join(self.accepted_packages)}.")
        return _format_list(dict.fromkeys(entries))

    @tool(blocking=True)
    def find_names(self, words: str) -> str:
        """Find classes, functions and methods by words in their names and the first lines of their docstrings.

        Args:
            words: the words
        """
        needed = {word.casefold() for word in _WORD.findall(words)}
        if not needed:
            raise ToolError("Write at least one word.")
        scores = ((_score(entry, needed), entry) for entry in self._list_all())
        best = sorted((item for item in scores if item[0]), key=lambda item: -item[0])
        return _format_list(dict.fromkeys(entry for _, entry in best)) or f"Nothing has the words {words!r}."

    @tool(blocking=True)
    def describe_name(self, name: str) -> str:
        """Return the signature, the docstring and the members of a class, a function or a method.

        Args:
            name: the full name, such as acme.orders.Order
        """
        for source in self._sources:
            if (entry := source.find(name)) is not None:
                return _format_entry(entry)[:_MAX_TEXT]
        exported_name = [exported_name for exported_name, _ in self._list_exported()]
        raise ToolError(f"There is no {name!r} in the API.{did_you_mean(name, exported_name)}")

    @cached_property
    def _sources(self) -> tuple[PythonSource, ...]:
        return tuple(map(read_python_source, self.accepted_packages))

    def _list_exported(self) -> Iterator[tuple[str, ApiEntry]]:
        """Yield the classes and functions, with the names under which they are found."""
        for source in self._sources:
            yield from source.entries.items()
            for alias in source.aliases:
                if (entry := source.find(alias)) is not None:
                    yield alias, entry

    def _list_all(self) -> Iterator[ApiEntry]:
        for source in self._sources:
            for entry in source.entries.values():
                yield entry
                yield from entry.members


def _score(entry: ApiEntry, words: set[str]) -> int:
    """Return how many words the entry has; a word in its own name counts most."""
    short_name, path, summary = (
        entry.name.rpartition(".")[2].casefold(),
        entry.name.casefold(),
        entry.summary.casefold(),
    )
    return sum(
        8 * (word == short_name) + 4 * (word in short_name) + (word in path) + (word in summary) for word in words
    )


def _format_list(entries: dict[ApiEntry, None]) -> str:
    lines = [f"{entry.name}: {entry.summary}" if entry.summary else entry.name for entry in entries]
    more = [f"and {len(lines) - _MOST_LISTED} more"] if len(lines) > _MOST_LISTED else []
    return "\n".join((*lines[:_MOST_LISTED], *more))


def _format_entry(entry: ApiEntry) -> str:
    members = (f"{member.signature}\n    {member.summary}".rstrip() for member in entry.members)
    return "\n\n".join(filter(None, (f"{entry.name}\n{entry.signature}", entry.docstring, *members)))
