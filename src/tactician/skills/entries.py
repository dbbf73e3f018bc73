"""Agent skills as entries of files: with the folders and repositories that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from tactician.errors import ConfigurationError
from tactician.prompts import LlmReference
from tactician.references.entry_fields import EntryPath
from tactician.references.late_kinds import LATE_KINDS, LateKind, WritePath
from tactician.skills.sandbox import ScriptLimits
from tactician.skills.scripts import ScriptMode
from tactician.skills.skills import Skills
from tactician.skills.sources import SkillSource


class SourceEntry(TypedDict, total=False):
    """Folder with skills, or repository of them."""

    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc] # noqa: RUF012 - pydantic reads it

    folder: EntryPath
    url: str
    ref: str
    commit: str
    path: str
    nested: bool


def create_skills(
    name: str,
    description: str,
    sources: Annotated[Sequence[SourceEntry], Field(min_length=1)],
    notes: str | None = None,
    checks_files: bool = True,
    scripts: ScriptMode = "sandbox",
    limits: ScriptLimits | None = None,
    script_folder: EntryPath | None = None,
    required_role: str | None = None,
) -> Skills:
    """Return the skills of an entry; repositories are fetched now.

    Raises:
        ConfigurationError: when a source is not valid.
    """
    skills = Skills(name, description, checks_files=checks_files)
    skills = skills if notes is None else Skills(name, description, notes, checks_files)
    for entry in sources:
        skills = skills.add(_create_source(entry))
    return skills.with_scripts(scripts, limits=limits, folder=script_folder, required_role=required_role)


def _create_source(entry: SourceEntry) -> SkillSource:
    folder = entry.get("folder")
    return SkillSource(
        None if folder is None else Path(folder),
        entry.get("url", ""),
        entry.get("ref", ""),
        entry.get("commit", ""),
        entry.get("path", ""),
        entry.get("nested", False),
    )


def describe_skills(reference: LlmReference, write_path: WritePath) -> dict[str, object] | None:
    """Return the fields of the entry that creates equal skills.

    Raises:
        ConfigurationError: when they come from nowhere.
    """
    if type(reference) is not Skills:
        return None
    if not reference.sources:
        raise ConfigurationError("its skills come from no folder and no repository")
    plain, policy = Skills(reference.name, reference.description), reference.scripts
    limits = {
        field.name: value
        for field in fields(ScriptLimits)
        if (value := getattr(policy.limits, field.name)) != getattr(ScriptLimits(), field.name)
    }
    return {
        "name": reference.name,
        "description": reference.description,
        "sources": [_describe_source(source, write_path) for source in reference.sources],
        "notes": None if reference.notes == plain.notes else reference.notes,
        "checks_files": None if reference.checks_files else False,
        "scripts": None if policy.mode == plain.scripts.mode else policy.mode,
        "limits": limits or None,
        "script_folder": None if policy.folder is None else write_path(policy.folder),
        "required_role": policy.required_role,
    }


def _describe_source(source: SkillSource, write_path: WritePath) -> dict[str, object]:
    place = {"folder": None if source.folder is None else write_path(source.folder)}
    rest = {name: getattr(source, name) for name in ("url", "ref", "commit", "path", "nested")}
    return {name: value for name, value in {**place, **rest}.items() if value}


LATE_KINDS["skills"].bind(LateKind(create_skills, describe_skills))
