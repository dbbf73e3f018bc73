"""Agent skill: a folder with instructions, and with files that they need."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from tactician.errors import ToolError
from tactician.skills.front_matter import FrontMatter, FrontMatterError, FrontValue, read_front_matter
from tactician.skills.rules import FILE_NAMES, find_skill_file, read_skill_file
from tactician.suggestions import suggest_options
from tactician.tools.builtin.confined_folder import ConfinedFolder

ResourceKind: TypeAlias = Literal["scripts", "references", "assets"]
RESOURCE_KINDS: Final[tuple[ResourceKind, ...]] = get_args(ResourceKind)
_MAX_FILES: Final = 500
_MAX_DEPTH: Final = 8
_REFERENCE = re.compile(r"(?<![\w./-])(?:scripts|references|assets)/[\w.-]+(?:/[\w.-]+)*")


@suggest_options
@dataclass(frozen=True)
class Skill:
    """Agent skill of a folder.

    Attributes:
        name: the name.
        description: its purpose, and when to use it.
        folder: the folder.
        license: the licence.
        compatibility: what it needs.
        allowed_tools: tools that its author expects it to use. It permits nothing.
        metadata: further values.
    """

    name: str
    description: str
    folder: Path
    license: str = ""
    compatibility: str = ""
    allowed_tools: tuple[str, ...] = ()
    metadata: FrontMatter = field(default_factory=dict)

    @property
    def workspace(self) -> ConfinedFolder:
        """The folder, which no path leaves."""
        return ConfinedFolder(self.folder)

    def read_instructions(self) -> str:
        """Return the instructions, as they are now.

        Raises:
            ToolError: when they cannot be read.
        """
        file = find_skill_file(self.folder) or self.folder / FILE_NAMES[0]
        try:
            return read_front_matter(read_skill_file(file)).body
        except FrontMatterError as error:
            raise ToolError(f"The skill {self.name!r}: {error}.") from error

    def list_files(self, kind: ResourceKind | None = None) -> tuple[str, ...]:
        """Return the paths of its files, all or only of one kind. Links and hidden files are left out."""
        start = self.folder if kind is None else self.folder / kind
        paths: list[str] = []
        for path in _walk(start, 0):
            paths.append(path.relative_to(self.folder).as_posix())
            if len(paths) == _MAX_FILES:
                break
        return tuple(sorted(path for path in paths if path not in FILE_NAMES))

    def find_missing_files(self, instructions: str) -> tuple[str, ...]:
        """Return the paths that the instructions name, as `scripts/build.sh`, but that do not exist."""
        named = dict.fromkeys(path.rstrip(".-") for path in _REFERENCE.findall(instructions))
        return tuple(path for path in named if not (self.folder / path).exists())

    @property
    def has_scripts(self) -> bool:
        """True when there are scripts."""
        return bool(self.list_files("scripts"))


def create_skill(front: FrontMatter, body: str, folder: Path) -> Skill:
    """Create a skill from its front matter, with the name of its folder and its first line where fields are missing."""
    first = next((line.strip("# ").strip() for line in body.splitlines() if line.strip("# ")), "")
    metadata = front.get("metadata")
    return Skill(
        name=_read(front, "name", 64) or folder.name,
        description=_read(front, "description", 1024) or first[:1024],
        folder=folder,
        license=_read(front, "license", 500),
        compatibility=_read(front, "compatibility", 500),
        allowed_tools=tuple(_read(front, "allowed-tools", 5_000).split()),
        metadata=metadata if isinstance(metadata, dict) else {},
    )


def _read(front: FrontMatter, key: str, longest: int) -> str:
    """Return a field as a text on a single line."""
    value: FrontValue = front.get(key, "")
    return " ".join(value.split())[:longest] if isinstance(value, str) else ""


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files in a folder and in those inside it, without following links."""
    try:
        with os.scandir(folder) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in inside:
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            if depth < _MAX_DEPTH:
                yield from _walk(Path(entry.path), depth + 1)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            yield Path(entry.path)
