"""A blueprint with all that is in other files: what it refers to, and its instructions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.building import Builder
from tactician.blueprint.instructions import FilePart
from tactician.blueprint.limits import DEFAULT_LIMITS, Limits
from tactician.blueprint.parts import Part
from tactician.blueprint.references import Reference
from tactician.blueprint.variables import expanded
from tactician.errors import Problem
from tactician.names import Names
from tactician.prompts import InstructionFile

P = TypeVar("P", bound=Part)
K = TypeVar("K", str, int)


@dataclass(frozen=True, slots=True)
class Followed:
    """A blueprint with what it refers to in its place.

    Attributes:
        blueprint: that. What cannot be read is left as it was.
        problems: why it cannot be read.
        files: the other files that it names, whether or not they can be read.
    """

    blueprint: Blueprint
    problems: tuple[Problem, ...]
    files: tuple[Path, ...]


def followed(
    blueprint: Blueprint,
    *,
    environment: Mapping[str, str] = os.environ,
    root: str | Path | None = None,
    limits: Limits = DEFAULT_LIMITS,
    texts: bool = True,
) -> Followed:
    """The blueprint with what it refers to in its place.

    Args:
        blueprint: one that was read from a file, else files are looked for in the working directory.
        environment: what `${NAME}` in a `$ref` stands for.
        root: the folder outside of which no file is read, as for `Blueprint.build`.
        limits: how many blueprints are read.
        texts: whether instructions take the place of the names of their files, too.
    """
    builder = Builder.over(Names(), environment, root, limits, blueprint.origin)
    follower = _Follower(limits.nodes, texts)
    whole = follower.node(blueprint, builder)
    return Followed(whole, tuple(builder.problems), tuple(follower.files))


@dataclass(slots=True)
class _Follower:
    """Goes through a blueprint. What does not change stays the same object."""

    left: int
    texts: bool
    files: dict[Path, None] = field(default_factory=dict)

    def node(self, blueprint: Blueprint, builder: Builder) -> Blueprint:
        """The blueprint with what it refers to in its place."""
        if isinstance(blueprint, Reference):
            return self._referred(blueprint, builder)
        return self._part(blueprint, builder)

    def _value(self, value: object, builder: Builder) -> object:
        if isinstance(value, Blueprint):
            return self.node(value, builder)
        if isinstance(value, FilePart):
            return self._text(value, builder) if self.texts else value
        if isinstance(value, Part):
            return self._part(value, builder)
        if isinstance(value, Mapping):
            return self._changed(value, builder) or value
        if isinstance(value, Sequence) and not isinstance(value, str):
            changed = self._changed(dict(enumerate(value)), builder)
            return tuple(changed.values()) if changed else value
        return value

    def _part(self, part: P, builder: Builder) -> P:
        names = {field.alias or name: name for name, field in type(part).model_fields.items()}
        changed = self._changed({label: getattr(part, name) for label, name in names.items()}, builder)
        return part.model_copy(update={names[label]: value for label, value in changed.items()}) if changed else part

    def _changed(self, values: Mapping[K, object], builder: Builder) -> dict[K, object]:
        """All values, as they are now; nothing, when none has changed."""
        made = {step: self._value(value, builder.at(step)) for step, value in values.items()}
        return made if any(made[step] is not values[step] for step in values) else {}

    def _referred(self, reference: Reference, builder: Builder) -> Blueprint:
        said, problems = expanded(reference, builder.environment)
        for path, message in problems:
            builder.problem(message, *path)
        if problems or not self._may_read(builder):
            return reference
        self._note(said.ref, builder)
        found = said.followed(builder)
        return reference if found is None else self.node(*found)

    def _may_read(self, builder: Builder) -> bool:
        """Whether it is not too much: a few files can name each other very often."""
        self.left -= 1
        if self.left == -1:
            builder.problem(f"more than {builder.limits.nodes:,} references are not followed")
        return self.left >= 0

    def _text(self, part: FilePart, builder: Builder) -> FilePart | str:
        self._note(part.path, builder)
        file = builder.file(part.path, "path")
        source = None if file is None else builder.tried(lambda: InstructionFile(part.path, file), "path")
        return part if source is None else source.text

    def _note(self, name: str, builder: Builder) -> None:
        beside = builder.origin.file
        self.files[(Path.cwd() if beside is None else beside.parent) / name] = None
