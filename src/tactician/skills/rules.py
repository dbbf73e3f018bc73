"""Rules of the Agent Skills specification, with the verdicts of its reference validator."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tactician.errors import ToolError
from tactician.skills.front_matter import FrontMatter, FrontMatterError, FrontValue, split_front_matter
from tactician.tools.builtin.confined_folder import ConfinedFolder

FIELDS: Final = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
FILE_NAMES: Final = ("SKILL.md", "skill.md")
MAX_SKILL_FILE: Final = 200_000
_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 1024
_LONGEST_COMPATIBILITY: Final = 500


def check_skill(folder: Path) -> tuple[str, ...]:
    """Return what is wrong with the skill in a folder; nothing for a valid skill."""
    if not folder.is_dir():
        return ("it is not a folder",)
    if (file := find_skill_file(folder)) is None:
        return ("there is no SKILL.md in it",)
    try:
        front, _ = split_front_matter(read_skill_file(file))
    except FrontMatterError as error:
        return (str(error),)
    return tuple(list_broken_rules(front, folder.name))


def find_skill_file(folder: Path) -> Path | None:
    """Return the `SKILL.md` of a folder."""
    return next((folder / name for name in FILE_NAMES if (folder / name).is_file()), None)


def read_skill_file(file: Path) -> str:
    """Return the content of a `SKILL.md`, which must not be a link.

    Raises:
        FrontMatterError: when it cannot be read, or is too long.
    """
    try:
        content, size = ConfinedFolder(file.parent).read(file.name, 0, MAX_SKILL_FILE)
        if size > MAX_SKILL_FILE:
            raise FrontMatterError(f"{file.name} has {size} bytes; {MAX_SKILL_FILE} are allowed")
        return content.decode().replace("\r\n", "\n").replace("\r", "\n")
    except (ToolError, UnicodeDecodeError) as error:
        raise FrontMatterError(f"{file.name} cannot be read: {error}") from error


def list_broken_rules(front: FrontMatter, folder: str) -> Iterator[str]:
    """Yield the rules that a front matter breaks.

    Args:
        front: the front matter.
        folder: name of the folder of the skill.
    """
    if unknown := sorted(front.keys() - set(FIELDS)):
        yield f"unknown fields: {', '.join(unknown)}; the fields are {', '.join(FIELDS)}"
    for field in ("name", "description"):
        if field not in front:
            yield f"{field}: it is missing"
        elif not isinstance(text := front[field], str) or not text.strip():
            yield f"{field}: it must be a text that is not blank"
    yield from _check_name(front.get("name"), folder)
    yield from _check_length(front.get("description"), "description", _LONGEST_DESCRIPTION)
    compatibility = front.get("compatibility", "")
    if not isinstance(compatibility, str):
        yield "compatibility: it must be a text"
    yield from _check_length(compatibility, "compatibility", _LONGEST_COMPATIBILITY)


def _check_name(value: FrontValue | None, folder: str) -> Iterator[str]:
    if not isinstance(value, str) or not value.strip():
        return
    name = unicodedata.normalize("NFKC", value.strip())
    yield from _check_length(name, "name", _LONGEST_NAME)
    if name != name.lower():
        yield f"name: {name!r} must be in lower case"
    if name.startswith("-") or name.endswith("-"):
        yield f"name: {name!r} must not begin or end with '-'"
    if "--" in name:
        yield f"name: {name!r} must not have '--' in it"
    if not all(character.isalnum() or character == "-" for character in name):
        yield f"name: {name!r} may have letters, digits and '-' only"
    if unicodedata.normalize("NFKC", folder) != name:
        yield f"name: {name!r} must be the name of its folder, {folder!r}"


def _check_length(value: FrontValue | None, field: str, longest: int) -> Iterator[str]:
    if isinstance(value, str) and len(value) > longest:
        yield f"{field}: it has {len(value)} characters; {longest} are allowed"
