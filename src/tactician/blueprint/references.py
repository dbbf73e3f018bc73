"""References to blueprints in other files."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field

from tactician.agents import BaseRunnable
from tactician.blueprint.blueprint import Blueprint, ParsedBlueprint, blueprint_type
from tactician.blueprint.builder import Builder
from tactician.blueprint.origin import DEFAULT_LIMITS, Limits, Origin
from tactician.blueprint.permissions import BuildPermissions
from tactician.blueprint.schema_base import Name, Part
from tactician.blueprint.turn_settings import FilePart
from tactician.blueprint.variables import expand_variables
from tactician.documents.data import measure_data
from tactician.errors import BlueprintError, Problem
from tactician.frozen import frozen
from tactician.names import Names
from tactician.prompts import InstructionFile


@frozen
class ReferencedFile:
    """Parsed file that others reference.

    Attributes:
        file: the path of the file.
        blueprint: the parsed blueprint without invalid parts; `None` when nothing can be read.
        problems: the mistakes in its form.
        size: number of characters.
        values: number of objects, lists and values.
        depth: depth of nesting.
    """

    file: Path
    blueprint: Blueprint | None = None
    problems: tuple[str, ...] = ()
    size: int = 0
    values: int = 0
    depth: int = 0

    @classmethod
    def of(cls, file: Path, limits: Limits) -> ReferencedFile:
        """Read a file."""
        try:
            draft = ParsedBlueprint.of(Origin.from_file(file, limits))
        except BlueprintError as error:
            return cls(file, problems=tuple(map(str, error.problems)))
        values, depth = (0, 0) if draft.blueprint is None else measure_data(draft.blueprint.to_data())
        return cls(
            file, draft.blueprint, tuple(map(str, draft.problems)), len(draft.origin.document.text), values, depth
        )

    def check_limits(self, builder: Builder) -> list[str]:
        """Return the problem of a reference to a file that exceeds the limits."""
        # Files that are nested in each other are nested no deeper than a file may be.
        if self.depth > builder.limits.depth - builder.depth:
            return [f"with it, files in files are nested more than {builder.limits.depth} deep"]
        problem = builder.taken.add(self.size, self.values, builder.limits)
        return [] if problem is None else [problem]


@blueprint_type("$ref")
class BlueprintRef(Blueprint):
    """Reference to the blueprint in another file. The Runnable that is built exports without references."""

    ref: Annotated[Name, Field(alias="$ref")]

    @property
    def label(self) -> str:
        """Name in messages."""
        return self.ref

    def build_with(self, builder: Builder) -> BaseRunnable[object] | None:
        """Build the other file; of an invalid file the valid part is built, to find further problems."""
        other = self._read(builder)
        if other is None or other.blueprint is None:
            return None
        return builder.enter_file(other.blueprint.origin, other.file).build_whole(other.blueprint)

    def resolve(self, builder: Builder) -> tuple[Blueprint, Builder] | None:
        """Return the blueprint in the other file with its builder; `None` when there was a problem."""
        other = self._read(builder)
        if other is None or other.blueprint is None or other.problems:
            return None
        return other.blueprint, builder.enter_file(other.blueprint.origin, other.file)

    def _read(self, builder: Builder) -> ReferencedFile | None:
        """Return the other file; `None` when it cannot be read. Its mistakes are reported once."""
        if (file := builder.resolve_file(self.ref, "$ref")) is None:
            return None
        if file in builder.files:
            names = [above.name for above in (*builder.files[builder.files.index(file) :], file)]
            builder.add_problem(f"the files go in a circle: {' -> '.join(names)}", "$ref")
            return None
        other, is_known = builder.read_once(file, ReferencedFile.of)
        is_known_wrong = is_known and bool(other.problems)
        problems = ["it is wrong: see its first mention"] if is_known_wrong else other.problems
        too_much = other.check_limits(builder)
        for problem in (*problems, *too_much):
            builder.add_problem(f"{self.ref}: {problem}", "$ref")
        return None if too_much or is_known_wrong else other


P = TypeVar("P", bound=Part)
K = TypeVar("K", str, int)


@frozen
class ResolvedBlueprint:
    """Blueprint with its references resolved.

    Attributes:
        blueprint: the blueprint. References that cannot be read stay.
        problems: the problems of these references.
        files: the referenced files, readable or not.
    """

    blueprint: Blueprint
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


def resolve_references(
    blueprint: Blueprint,
    *,
    environment: Mapping[str, str] | None = None,
    variables: Collection[str] | None = None,
    root: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    texts: bool = True,
) -> ResolvedBlueprint:
    """Return the blueprint with its references resolved.

    Args:
        blueprint: the blueprint. Without a file of its own, references are relative to the working directory.
        environment: the environment variables, for `${NAME}` in a `$ref`.
        variables: the names of those that it may read, as for `Blueprint.build`.
        root: the folder outside of which no file is read, as for `Blueprint.build`.
        limits: limits on the number of blueprints.
        texts: true when instructions take the place of the names of their files, too.
    """
    permissions = BuildPermissions.choose(blueprint.origin, variables, None, environment)
    builder = Builder.create(Names(), environment, root, limits, blueprint.origin, permissions)
    follower = _ReferenceResolver(limits.nodes, texts)
    whole = follower.node(blueprint, builder)
    return ResolvedBlueprint(whole, tuple(builder.problems), tuple(follower.files))


@dataclass(slots=True)
class _ReferenceResolver:
    """Resolver of the references in a blueprint. Unchanged parts stay the same objects."""

    left: int
    texts: bool
    files: dict[Path, None] = field(default_factory=dict)

    def node(self, blueprint: Blueprint, builder: Builder) -> Blueprint:
        """Return the blueprint with its references resolved."""
        if isinstance(blueprint, BlueprintRef):
            return self._resolve_reference(blueprint, builder)
        return self._resolve_part(blueprint, builder)

    def _resolve_value(self, value: object, builder: Builder) -> object:
        if isinstance(value, Blueprint):
            return self.node(value, builder)
        if isinstance(value, FilePart):
            return self._resolve_text(value, builder) if self.texts else value
        if isinstance(value, Part):
            return self._resolve_part(value, builder)
        if isinstance(value, Mapping):
            return self._resolve_values(value, builder) or value
        if isinstance(value, Sequence) and not isinstance(value, str):
            changed = self._resolve_values(dict(enumerate(value)), builder)
            return tuple(changed.values()) if changed else value
        return value

    def _resolve_part(self, part: P, builder: Builder) -> P:
        names = {field.alias or name: name for name, field in type(part).model_fields.items()}
        changed = self._resolve_values({label: getattr(part, name) for label, name in names.items()}, builder)
        return part.model_copy(update={names[label]: value for label, value in changed.items()}) if changed else part

    def _resolve_values(self, values: Mapping[K, object], builder: Builder) -> dict[K, object]:
        """Return all resolved values; nothing when none has changed."""
        resolved = {step: self._resolve_value(value, builder.at(step)) for step, value in values.items()}
        return resolved if any(resolved[step] is not values[step] for step in values) else {}

    def _resolve_reference(self, reference: BlueprintRef, builder: Builder) -> Blueprint:
        expanded, problems = expand_variables(reference, builder.environment, builder.permissions)
        for path, message in problems:
            builder.add_problem(message, *path)
        if problems or not self._may_read(builder):
            return reference
        self._note_file(expanded.ref, builder)
        target = expanded.resolve(builder)
        return reference if target is None else self.node(*target)

    def _may_read(self, builder: Builder) -> bool:
        """Return whether the limits allow another file: a few files can reference each other very often."""
        self.left -= 1
        if self.left == -1:
            builder.add_problem(f"more than {builder.limits.nodes:,} references are not followed")
        return self.left >= 0

    def _resolve_text(self, part: FilePart, builder: Builder) -> FilePart | str:
        self._note_file(part.path, builder)
        file = builder.resolve_file(part.path, "path")
        source = None if file is None else builder.attempt(lambda: InstructionFile(part.path, file), "path")
        return part if source is None else source.text

    def _note_file(self, name: str, builder: Builder) -> None:
        beside = builder.origin.file
        self.files[(Path.cwd() if beside is None else beside.parent) / name] = None
