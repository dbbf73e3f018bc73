"""Skills of a folder: lenient, since many skills break a rule."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tactician.errors import ConfigurationError
from tactician.loggers import get_logger
from tactician.skills.front_matter import FrontMatterError, read_front_matter
from tactician.skills.rules import find_skill_file, list_broken_rules, read_skill_file
from tactician.skills.skill import Skill, create_skill

_MAX_SKILLS: Final = 500
_MAX_DEPTH: Final = 6
_logger = get_logger("tactician.skills")


def load_skills(folder: Path, *, nested: bool = False, checks_files: bool = True) -> tuple[Skill, ...]:
    """Return the skill in a folder, or the skills in the folders inside it.

    What breaks a rule is logged as a warning and loaded as far as possible.

    Args:
        folder: the folder.
        nested: search folders in folders too.
        checks_files: warn about files that instructions name, but that do not exist.

    Raises:
        ConfigurationError: when there is no skill in it.
    """
    skills = [skill for place in find_skill_folders(folder, nested=nested) if (skill := _load(place, checks_files))]
    if not skills:
        raise ConfigurationError(f"there is no skill in {folder}: a skill is a folder with a file SKILL.md")
    return tuple(skills)


def find_skill_folders(folder: Path, *, nested: bool = False) -> tuple[Path, ...]:
    """Return the folder if it holds a skill, else the folders inside it that hold one."""
    if find_skill_file(folder) is not None:
        return (folder.absolute(),)
    folders: list[Path] = []
    for place in _walk(folder.absolute(), _MAX_DEPTH if nested else 1):
        folders.append(place)
        if len(folders) == _MAX_SKILLS:
            break
    return tuple(folders)


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            inside = sorted((e for e in entries if e.is_dir(follow_symlinks=False)), key=lambda entry: entry.name)
    except OSError as error:
        raise ConfigurationError(f"{folder} is not a folder with skills: {error.strerror}") from error
    for entry in inside:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if find_skill_file(path) is not None:
            yield path
        elif depth > 1:
            yield from _walk(path, depth - 1)


def _load(folder: Path, checks_files: bool) -> Skill | None:
    file = find_skill_file(folder)
    assert file is not None
    try:
        read = read_front_matter(read_skill_file(file))
    except FrontMatterError as error:
        _logger.warning("the skill in %s is left out: %s", folder, error)
        return None
    problems = () if read.problem is None else (read.problem,)
    for problem in (*problems, *list_broken_rules(read.values, folder.name)):
        _logger.warning("the skill in %s: %s", folder, problem)
    skill = create_skill(read.values, read.body, folder)
    for path in skill.find_missing_files(read.body) if checks_files else ():
        _logger.warning("the skill in %s: its instructions name %s, which does not exist", folder, path)
    return skill
