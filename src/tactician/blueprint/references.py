"""`$ref`: a blueprint in another file."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from pydantic import Field

from tactician.agents.base import BaseRunnable
from tactician.blueprint.blueprint import Blueprint, blueprint_type, read_from
from tactician.blueprint.building import Builder
from tactician.blueprint.origin import Origin
from tactician.blueprint.parts import Name
from tactician.blueprint.snapshot import Snapshot
from tactician.errors import BlueprintError
from tactician.runs import Runnable


@blueprint_type("$ref")
class Reference(Blueprint):
    """The blueprint in another file, beside the one that says this. A snapshot of what was built holds it whole."""

    ref: Annotated[Name, Field(alias="$ref")]

    @property
    def label(self) -> str:
        """How it is called."""
        return self.ref

    def assembled(self, builder: Builder) -> BaseRunnable[object] | None:
        """What the other file describes."""
        found = self.followed(builder)
        return None if found is None else found[1].whole(found[0])

    def followed(self, builder: Builder) -> tuple[Blueprint, Builder] | None:
        """The blueprint in the other file, and the builder of that; `None` when it was told that there is none."""
        if (file := builder.file(self.ref, "$ref")) is None:
            return None
        if file in builder.files:
            names = [one.name for one in (*builder.files[builder.files.index(file) :], file)]
            builder.problem(f"the files go in a circle: {' -> '.join(names)}", "$ref")
            return None
        # Files that are nested in each other are nested no deeper than one file may be.
        limits = replace(builder.limits, depth=max(builder.limits.depth - builder.depth, 0))
        try:
            blueprint = read_from(Origin.of(file, limits), limits)
        except BlueprintError as error:
            for problem in error.problems:
                builder.problem(f"{self.ref}: {problem}", "$ref")
            return None
        return blueprint, builder.inside(blueprint.origin, file)

    @classmethod
    def taken_from(cls, runnable: Runnable, snapshot: Snapshot) -> None:
        """Nothing is a reference."""
        return
