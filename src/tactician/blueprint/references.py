"""`$ref`: a blueprint in another file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from tactician.agents import BaseRunnable
from tactician.blueprint.blueprint import Blueprint, Draft, blueprint_type
from tactician.blueprint.building import Builder
from tactician.blueprint.limits import Limits
from tactician.blueprint.origin import Origin
from tactician.blueprint.parts import Name
from tactician.blueprint.snapshot import Snapshot
from tactician.documents import measure_data
from tactician.errors import BlueprintError
from tactician.runs import Runnable


@dataclass(frozen=True, slots=True)
class Other:
    """A file that others name, as it was read.

    Attributes:
        file: where it is.
        blueprint: what it says; where its form is wrong, without that; `None` when nothing can be read.
        problems: what is wrong with its form.
        size: its characters.
        values: its objects, lists and values.
        depth: how deep they are nested.
    """

    file: Path
    blueprint: Blueprint | None = None
    problems: tuple[str, ...] = ()
    size: int = 0
    values: int = 0
    depth: int = 0

    @classmethod
    def of(cls, file: Path, limits: Limits) -> Other:
        """That of a file."""
        try:
            draft = Draft.of(Origin.of_file(file, limits))
        except BlueprintError as error:
            return cls(file, problems=tuple(map(str, error.problems)))
        values, depth = (0, 0) if draft.blueprint is None else measure_data(draft.blueprint.to_data())
        return cls(
            file, draft.blueprint, tuple(map(str, draft.problems)), len(draft.origin.document.text), values, depth
        )

    def too_much(self, builder: Builder) -> list[str]:
        """Why it is too much where it is named."""
        # Files that are nested in each other are nested no deeper than one file may be.
        if self.depth > builder.limits.depth - builder.depth:
            return [f"with it, files in files are nested more than {builder.limits.depth} deep"]
        told = builder.taken.more(self.size, self.values, builder.limits)
        return [] if told is None else [told]


@blueprint_type("$ref")
class Reference(Blueprint):
    """The blueprint in another file, beside the one that says this. A snapshot of what was built holds it whole."""

    ref: Annotated[Name, Field(alias="$ref")]

    @property
    def label(self) -> str:
        """How it is called."""
        return self.ref

    def assembled(self, builder: Builder) -> BaseRunnable[object] | None:
        """What the other file describes; where its form is wrong the rest is built, to tell what else is."""
        other = self._read(builder)
        if other is None or other.blueprint is None:
            return None
        return builder.inside(other.blueprint.origin, other.file).whole(other.blueprint)

    def followed(self, builder: Builder) -> tuple[Blueprint, Builder] | None:
        """The blueprint in the other file, and the builder of that; `None` when it was told that there is none."""
        other = self._read(builder)
        if other is None or other.blueprint is None or other.problems:
            return None
        return other.blueprint, builder.inside(other.blueprint.origin, other.file)

    def _read(self, builder: Builder) -> Other | None:
        """The other file; `None` when it was told that it cannot be there. What is wrong with its form is told once."""
        if (file := builder.file(self.ref, "$ref")) is None:
            return None
        if file in builder.files:
            names = [one.name for one in (*builder.files[builder.files.index(file) :], file)]
            builder.problem(f"the files go in a circle: {' -> '.join(names)}", "$ref")
            return None
        known = builder.others.get(file)
        other = builder.others[file] = known or Other.of(file, builder.limits)
        problems = ["it is wrong, as was said where it is named first"] if known and known.problems else other.problems
        too_much = other.too_much(builder)
        for problem in (*problems, *too_much):
            builder.problem(f"{self.ref}: {problem}", "$ref")
        return None if too_much or (known and known.problems) else other

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> None:
        """Nothing is a reference."""
        return
