"""`Skills`: agent skills as a reference for models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field
from typing_extensions import override

from tactician.errors import DeclarationError, ToolError
from tactician.grammar import format_count
from tactician.prompts import LlmReference
from tactician.references.git import DEFAULT_SCHEMES, RepositoryAddress, fetch_repository, find_cache_folder
from tactician.runs import RunContext
from tactician.skills.loading import load_skills
from tactician.skills.sandbox import ScriptLimits
from tactician.skills.scripts import ScriptMode, ScriptPolicy, run_skill_script
from tactician.skills.skill import Skill
from tactician.skills.sources import SkillSource
from tactician.suggestions import did_you_mean, suggest_options
from tactician.text import replace_surrogates
from tactician.tools import Tool, tool
from tactician.tools.builtin.process_group import ProgramResult

_MAX_PART: Final = 50_000
_NOTES: Final = (
    "Each skill is a folder with instructions. When a task matches the description of a skill, activate the skill "
    "first, and follow its instructions. Read its files only when the instructions say so."
)


@suggest_options
@dataclass(frozen=True)
class Skills(LlmReference):
    """Agent skills: folders with a `SKILL.md`, which a model activates when it needs them.

    The instructions of the caller have their names and descriptions only. Every method that adds skills returns a
    changed copy.

    Args:
        name: the name, which is the prefix of the names of the tools.
        description: what the skills are about.
        checks_files: warn about files that instructions name, but that do not exist.

    Attributes:
        skills: the skills.
        scripts: the rules for their scripts.
        sources: the folders and repositories that they come from.
    """

    late_kind: ClassVar[str] = "skills"
    name: str
    description: str
    notes: str = _NOTES
    checks_files: bool = True
    skills: tuple[Skill, ...] = ()
    scripts: ScriptPolicy = field(default_factory=ScriptPolicy)
    sources: tuple[SkillSource, ...] = field(default=(), compare=False)

    def add(self, source: SkillSource) -> Self:
        """Add the skills of a folder or a repository, as `local` and `git` do.

        Raises:
            ConfigurationError: when there is no skill, or the source is not valid.
            DeclarationError: when two skills have the same name.
        """
        if source.folder is not None:
            return self.local(source.folder, nested=source.nested)
        return self.git(source.url, ref=source.ref, commit=source.commit, path=source.path, nested=source.nested)

    def local(self, path: str | os.PathLike[str], *, nested: bool = False) -> Self:
        """Add the skill in a folder, or those in the folders directly inside it.

        Args:
            path: the folder.
            nested: search folders in folders too.

        Raises:
            ConfigurationError: when there is no skill in it.
            DeclarationError: when two skills have the same name.
        """
        skills = load_skills(Path(path), nested=nested, checks_files=self.checks_files)
        return self._with(skills, SkillSource(folder=Path(path).absolute(), nested=nested))

    def git(
        self,
        url: str,
        *,
        ref: str = "",
        commit: str = "",
        path: str = "",
        nested: bool = False,
        schemes: Sequence[str] = DEFAULT_SCHEMES,
        cache: str | os.PathLike[str] | None = None,
        timeout: float = 60.0,
    ) -> Self:
        """Add the skills of a Git repository, which the git command fetches now.

        Args:
            url: the repository; also the page of a folder, as `https://github.com/acme/skills/tree/main/office`.
            ref: a branch or a tag; the default branch by default.
            commit: the commit that must be used: nobody can change the skills afterwards.
            path: the folder in the repository.
            nested: search folders in folders too.
            schemes: the allowed schemes of the URL, of `https`, `ssh` and `file`.
            cache: folder of the fetched files; one in the cache of the user by default.
            timeout: seconds for each command.

        Raises:
            ConfigurationError: when it cannot be fetched, or has no skill.
            DeclarationError: when two skills have the same name.
        """
        place = RepositoryAddress.parse(url, ref=ref, commit=commit, path=path, schemes=schemes)
        folder = fetch_repository(place, find_cache_folder() if cache is None else Path(cache).absolute(), timeout)
        skills = load_skills(folder, nested=nested, checks_files=self.checks_files)
        return self._with(skills, SkillSource(url=url, ref=ref, commit=commit, path=path, nested=nested))

    def with_scripts(
        self,
        mode: ScriptMode = "sandbox",
        *,
        limits: ScriptLimits | None = None,
        folder: str | os.PathLike[str] | None = None,
        required_role: str | None = None,
    ) -> Self:
        """Return the skills with other rules for scripts.

        Args:
            mode: `"sandbox"` to ask only where there is no sandbox, `"ask"` to ask always, `"never"` to run none.
            limits: their limits; by default a minute, a gigabyte, and no network.
            folder: the folder in which they may write; by default a temporary folder.
            required_role: role that a person needs to approve a script; anybody may, when `None`.
        """
        place = None if folder is None else Path(folder).absolute()
        return replace(self, scripts=ScriptPolicy(mode, limits or self.scripts.limits, place, required_role))

    @property
    @override
    def tools(self) -> Sequence[Tool]:
        """The tools to activate skills, to list and to read their files, and to run their scripts."""
        tools: list[Tool] = [self.activate, self.list_resources, self.read_resource]
        if self.scripts.mode != "never" and any(skill.has_scripts for skill in self.skills):
            script = self.run_script
            script.traits = replace(
                script.traits,
                needs_approval=lambda _: self.scripts.needs_approval,
                required_role=self.scripts.required_role,
            )
            tools.append(script)
        return tools

    @override
    def contribution(self) -> str:
        """Return the names and the descriptions of the skills, and how to use them."""
        listed = (f"- {skill.name}: {skill.description}" for skill in self.skills)
        return "\n".join((super().contribution(), "Skills:", *listed))

    @tool
    def activate(self, name: str) -> str:
        """Activate a skill: load its instructions.

        Args:
            name: the name of the skill
        """
        skill = self._find(name)
        needs = skill.compatibility and f"It needs: {skill.compatibility}"
        files = ", ".join(skill.list_files())
        parts = (f"# Skill: {skill.name}", skill.read_instructions(), needs, files and f"Files: {files}")
        return "\n\n".join(filter(None, parts))

    @tool
    def list_resources(self, skill: str, kind: Literal["scripts", "references", "assets", "all"] = "all") -> list[str]:
        """List the files of a skill.

        Args:
            skill: the name of the skill
            kind: the folder of the files
        """
        return list(self._find(skill).list_files(None if kind == "all" else kind))

    @tool
    def read_resource(self, skill: str, path: str, offset: Annotated[int, Field(ge=0)] = 0) -> str:
        """Read a text file of a skill.

        Args:
            skill: the name of the skill
            path: the file, such as references/forms.md
            offset: bytes to skip, to read a long file in parts
        """
        content, size = self._find(skill).workspace.read(path, offset, _MAX_PART)
        if b"\0" in content:
            raise ToolError(f"{path!r} is not a text file.")
        end = offset + len(content)
        text = replace_surrogates(content.decode(errors="replace"))
        return text if end >= size else f"{text}\n[{format_count(size - end, 'more byte')}; read on at offset {end}]"

    @tool
    async def run_script(
        self, context: RunContext, skill: str, path: str, arguments: list[str] | None = None, input: str = ""
    ) -> ProgramResult:
        """Run a script of a skill, and return what it prints.

        Args:
            context: the context of the run
            skill: the name of the skill
            path: the script, such as scripts/convert.py
            arguments: its arguments
            input: text for its standard input
        """
        if self.scripts.mode == "never":
            raise ToolError("Scripts are not allowed.")
        return await run_skill_script(self._find(skill), path, arguments or [], input, self.scripts, context.clock)

    def _find(self, name: str) -> Skill:
        """Return a skill by its name.

        Raises:
            ToolError: when no skill has the name.
        """
        by_name = {skill.name: skill for skill in self.skills}
        if (skill := by_name.get(name)) is None:
            raise ToolError(f"There is no skill {name!r}.{did_you_mean(name, by_name)} Skills: {', '.join(by_name)}.")
        return skill

    def _with(self, more: Sequence[Skill], source: SkillSource) -> Self:
        places: dict[str, Path] = {}
        for skill in (*self.skills, *more):
            if (other := places.setdefault(skill.name, skill.folder)) != skill.folder:
                problem = f"the skill {skill.name!r} is in {other} and in {skill.folder}; leave either out"
                raise DeclarationError(f"Skills({self.name!r})", [problem])
        skill_names = {skill.name for skill in self.skills}
        skills = (*self.skills, *(skill for skill in more if skill.name not in skill_names))
        return replace(self, skills=skills, sources=(*self.sources, source))
