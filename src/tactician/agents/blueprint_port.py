"""Blueprints as agents know them: what `tactician.blueprint` implements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from typing_extensions import TypeVar

from tactician.errors import Problem
from tactician.runs import Runnable

B_co = TypeVar("B_co", covariant=True, default=Runnable)


class BlueprintLike(Protocol[B_co]):
    """Runnable as data: the part of `tactician.Blueprint` that agents depend on.

    Blueprints are made of agents, so that this layer must not know their classes. `tactician.Blueprint` is checked
    against this protocol where it is bound to `BLUEPRINTS`. Of the Runnables that it builds, only their type is known.
    """

    @property
    def label(self) -> str:
        """Name in messages."""
        ...

    def to_data(self) -> Mapping[str, object]:
        """Return the data as a JSON file has it."""
        ...

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the blueprint as JSON."""
        ...

    def to_yaml(self) -> str:
        """Return the blueprint as YAML."""
        ...

    def build(
        self,
        *,
        allow: Sequence[str] = ...,
        names: Mapping[str, object] = ...,
        environment: Mapping[str, str] = ...,
        root: str | Path | None = ...,
    ) -> B_co:
        """Build the Runnable; see `tactician.Blueprint.build`."""
        ...

    def problems(
        self,
        *,
        allow: Sequence[str] = ...,
        names: Mapping[str, object] = ...,
        environment: Mapping[str, str] = ...,
        root: str | Path | None = ...,
    ) -> tuple[Problem, ...]:
        """Return the problems that `build` with these arguments would raise."""
        ...


class BlueprintExporter(Protocol[B_co]):
    """Function that exports a Runnable to a blueprint."""

    def __call__(self, runnable: Runnable, *, strict: bool = False) -> BlueprintLike[B_co]:
        """Return the blueprint."""
        ...
