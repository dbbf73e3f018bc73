"""Folder of a repository as the detection reads it: untrusted, bounded, and without links."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Final

_MAX_FILE: Final = 262_144
_OTHERS: Final = ("node_modules", "bower_components", "vendor", "third_party", "site-packages", "venv", "env")
_GENERATED: Final = ("target", "build", "dist", "out", "bin", "obj", "coverage", "fixtures", "testdata", "__pycache__")
IGNORED_FOLDERS: Final = frozenset((*_OTHERS, *_GENERATED))
"""Names of folders whose content somebody else wrote, or a program."""

_PARSERS: Final[Mapping[str, Callable[[str], object]]] = {
    "package.json": json.loads,
    "composer.json": json.loads,
    "pyproject.toml": tomllib.loads,
    "Cargo.toml": tomllib.loads,
}


class ProjectFolder:
    """Folder with the names in it, and its files as text.

    Args:
        path: the folder.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def files(self) -> frozenset[str]:
        """The names of the files. Links are left out."""
        return frozenset(entry.name for entry in self._entries if entry.is_file() and not entry.is_symlink())

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The names of the folders, sorted. Links are left out."""
        return tuple(sorted(entry.name for entry in self._entries if entry.is_dir() and not entry.is_symlink()))

    @cached_property
    def inner_folders(self) -> tuple[str, ...]:
        """The names of the folders in which somebody wrote something."""
        return tuple(name for name in self.folders if name not in IGNORED_FOLDERS and not name.startswith("."))

    @cached_property
    def _entries(self) -> tuple[Path, ...]:
        try:
            return tuple(self.path.iterdir())
        except OSError:
            return ()

    def has_any(self, *names: str) -> bool:
        """Return whether any of these files is there."""
        return not self.files.isdisjoint(names)

    def find_ending(self, *endings: str) -> str | None:
        """Return the first file with one of the endings, in the order of the endings."""
        return next((name for ending in endings for name in sorted(self.files) if name.endswith(ending)), None)

    def read(self, name: str) -> str:
        """Return the text of a file; nothing, when it is not there or too long."""
        if name not in self.files:
            return ""
        try:
            with (self.path / name).open("rb") as file:
                content = file.read(_MAX_FILE + 1)
        except OSError:
            return ""
        return "" if len(content) > _MAX_FILE else content.decode(errors="replace")

    def read_json(self, name: str) -> Mapping[str, object]:
        """Return the object in a JSON file; an empty one, when it is not valid."""
        try:
            content = json.loads(self.read(name) or "{}")
        except (ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}

    def read_toml(self, name: str) -> Mapping[str, object]:
        """Return the table in a TOML file; an empty one, when it is not valid."""
        try:
            return tomllib.loads(self.read(name))
        except (tomllib.TOMLDecodeError, RecursionError):
            return {}

    def select(self, candidates: Iterable[str]) -> tuple[str, ...]:
        """Return the candidates, such as `src/main/java`, that are folders here."""
        return tuple(name for name in candidates if self._is_folder(name))

    def _is_folder(self, name: str) -> bool:
        path = self.path
        for part in name.split("/"):
            path /= part
            if path.is_symlink() or not path.is_dir():
                return False
        return True


def find_table(data: Mapping[str, object], *keys: str) -> Mapping[str, object]:
    """Return a table inside of a document; an empty one, when it is not there."""
    for key in keys:
        inner = data.get(key)
        if not isinstance(inner, dict):
            return {}
        data = inner
    return data


def find_broken_files(root: Path, folders: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each build file in JSON or TOML that cannot be read, and says nothing then."""
    for folder in dict.fromkeys(folders):
        for name, parse in _PARSERS.items():
            path = root / folder / name
            try:
                content = path.read_bytes() if path.is_file() and path.stat().st_size <= _MAX_FILE else None
                if content is not None:
                    parse(content.decode())
            except (OSError, ValueError, RecursionError) as error:
                yield f"{path} cannot be read, so what it says is not used: {error}"
