"""Agent skills in blueprints: references of the kind `skills`, with the folders and repositories they come from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Final, cast

from pydantic import Field
from typing_extensions import TypedDict

from tactician.blueprint.exporter import Exporter
from tactician.documents import Data
from tactician.errors import ConfigurationError
from tactician.references import EntryPath
from tactician.skills import ScriptLimits, ScriptMode, Skills, SkillSource

KIND: Final = "skills"


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
) -> Skills:
    """Return the skills of an entry; repositories are fetched now.

    Raises:
        ConfigurationError: when a source is not valid.
    """
    skills = Skills(name, description, checks_files=checks_files)
    skills = skills if notes is None else Skills(name, description, notes, checks_files)
    for entry in sources:
        skills = skills.add(_create_source(entry))
    return skills.with_scripts(scripts, limits=limits, folder=script_folder)


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


def describe_skills(skills: Skills, here: Exporter) -> dict[str, Data]:
    """Return the entry that creates equal skills.

    Raises:
        ConfigurationError: when they come from nowhere.
    """
    if not skills.sources:
        raise ConfigurationError("its skills come from no folder and no repository")
    plain, policy = Skills(skills.name, skills.description), skills.scripts
    limits = {
        field.name: value
        for field in fields(ScriptLimits)
        if (value := getattr(policy.limits, field.name)) != getattr(ScriptLimits(), field.name)
    }
    values: dict[str, object] = {
        "kind": KIND,
        "name": skills.name,
        "description": skills.description,
        "sources": [_describe_source(source, here) for source in skills.sources],
        "notes": None if skills.notes == plain.notes else skills.notes,
        "checks_files": None if skills.checks_files else False,
        "scripts": None if policy.mode == plain.scripts.mode else policy.mode,
        "limits": limits or None,
        "script_folder": None if policy.folder is None else here.make_relative(policy.folder),
    }
    return cast("dict[str, Data]", {name: value for name, value in values.items() if value is not None})


def _describe_source(source: SkillSource, here: Exporter) -> dict[str, object]:
    place = {"folder": None if source.folder is None else here.make_relative(source.folder)}
    rest = {name: getattr(source, name) for name in ("url", "ref", "commit", "path", "nested")}
    return {name: value for name, value in {**place, **rest}.items() if value}
