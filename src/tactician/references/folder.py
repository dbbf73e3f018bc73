"""Folders as references: a model lists, reads and searches the files in them."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Self

from pydantic import Field
from typing_extensions import override

from tactician.errors import ToolError
from tactician.grammar import format_count
from tactician.prompts import LlmReference
from tactician.references.entry_fields import EntryPath
from tactician.suggestions import suggest_options
from tactician.text import replace_surrogates
from tactician.tools import tool
from tactician.tools.builtin.confined_folder import ConfinedFolder
from tactician.tools.selection import matches_name

_MOST_FILES: Final = 5_000
_MOST_DEPTH: Final = 20
_MOST_LISTED: Final = 200
_MOST_HITS: Final = 50
_MAX_READ: Final = 50_000
_MAX_SEARCHED: Final = 2_000_000
"""Bytes of a file that are searched."""
_LONGEST_LINE: Final = 300
_EVERYTHING: Final = ("*",)


class FolderReference(LlmReference):
    """Folder of text files: the model gets a description, and tools that list, read and search the files.

    Links are not followed, and what has a name that begins with a dot is neither listed nor read, as it may hold
    secrets.

    Attributes:
        patterns: patterns of the paths of the files that are shown, such as `*.md`.
    """

    patterns: tuple[str, ...] = _EVERYTHING

    @abstractmethod
    def open_folder(self) -> ConfinedFolder:
        """Return the folder.

        Raises:
            ToolError: when it cannot be opened.
        """

    @tool(blocking=True)
    def list_files(self, folder: str = "") -> str:
        """List the files, with those in inner folders.

        Args:
            folder: only the files in this folder
        """
        paths = [path for path in self._walk() if not folder or f"{path}/".startswith(f"{folder.strip('/')}/")]
        if not paths:
            raise ToolError(f"There are no files in {folder or 'the folder'!r}.")
        more = [f"and {len(paths) - _MOST_LISTED} more: name a folder"] if len(paths) > _MOST_LISTED else []
        return "\n".join((*paths[:_MOST_LISTED], *more))

    @tool(blocking=True)
    def read_file(self, path: str, offset: Annotated[int, Field(ge=0)] = 0) -> str:
        """Read a text file. A long file is read in parts.

        Args:
            path: the path, as it is listed
            offset: number of bytes to skip
        """
        if not self._shows(path):
            raise ToolError(f"{path!r} is not among the files of {self.name}.")
        content, size = self.open_folder().read(path, offset, _MAX_READ)
        if b"\0" in content:
            raise ToolError(f"{path!r} is not a text file.")
        end = offset + len(content)
        text = replace_surrogates(content.decode(errors="replace"))
        return text if end >= size else f"{text}\n[{format_count(size - end, 'more byte')}; read on at offset {end}]"

    @tool(blocking=True)
    def search_files(self, text: str, pattern: str = "*") -> str:
        """Find the lines that contain a text; upper and lower case are the same.

        Args:
            text: the text, such as a name or an error message
            pattern: pattern of the paths, such as `*.py`
        """
        if not text.strip():
            raise ToolError("The text is empty.")
        hits: list[str] = []
        for path in self._walk():
            if matches_name(path, (pattern,)):
                hits += self._search_file(path, text.casefold())
            if len(hits) >= _MOST_HITS:
                return "\n".join((*hits[:_MOST_HITS], "[there may be more: search for a longer text]"))
        return "\n".join(hits) or f"No line contains {text!r}."

    def _search_file(self, path: str, text: str) -> list[str]:
        try:
            content, _ = self.open_folder().read(path, 0, _MAX_SEARCHED)
        except ToolError:  # it was removed meanwhile, or cannot be read
            return []
        if b"\0" in content[:_MAX_READ]:
            return []
        lines = enumerate(content.decode(errors="replace").splitlines(), start=1)
        return [f"{path}:{number}: {line.strip()[:_LONGEST_LINE]}" for number, line in lines if text in line.casefold()]

    def _shows(self, path: str) -> bool:
        parts = path.split("/")
        return not any(part.startswith(".") and part != "." for part in parts) and matches_name(path, self.patterns)

    def _walk(self) -> list[str]:
        root = self.open_folder().root
        paths: list[str] = []
        for file in _walk_files(root, _MOST_DEPTH):
            path = file.relative_to(root).as_posix()
            if matches_name(path, self.patterns):
                paths.append(path)
            if len(paths) == _MOST_FILES:
                break
        return paths


@suggest_options
@dataclass(frozen=True)
class LocalDirectory(FolderReference):
    """Folder of this machine as a reference.

    Args:
        path: the folder.
        description: the description.
        name: the name; the name of the folder by default.
        usage_notes: notes for the model on the use of the files.
        patterns: patterns of the paths of the files that are shown, such as `*.md`.
        place: the place in the instructions.
    """

    path: EntryPath
    description: str
    name: str = ""
    usage_notes: str = ""
    patterns: tuple[str, ...] = _EVERYTHING
    notes: str = field(default="", init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name or Path(self.path).absolute().name)
        object.__setattr__(self, "notes", self.usage_notes)

    def with_usage_notes(self, notes: str) -> Self:
        """Return the reference with other notes on the use of its files."""
        return replace(self, usage_notes=notes)

    @cached_property
    def _workspace(self) -> ConfinedFolder:
        return ConfinedFolder(self.path)

    @override
    def open_folder(self) -> ConfinedFolder:
        return self._workspace


def _walk_files(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files in a folder, sorted, without links and hidden files."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda each: each.name)
    except OSError as error:
        raise ToolError(f"{folder.name} is not a folder that can be read: {error.strerror}.") from error
    for entry in inside:
        if entry.is_file(follow_symlinks=False):
            yield Path(entry.path)
        elif depth > 0 and entry.is_dir(follow_symlinks=False):
            yield from _walk_files(Path(entry.path), depth - 1)
