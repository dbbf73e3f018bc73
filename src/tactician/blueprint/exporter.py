"""Exporter of Runnables to blueprints, which collects all problems."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from tactician.agents.planned.specs import as_runnable
from tactician.blueprint.blueprint import Blueprint
from tactician.blueprint.schema_base import Part
from tactician.blueprint.type_names import find_type_name
from tactician.blueprint.variables import escape_part
from tactician.documents.data import DataPath, format_path
from tactician.documents.models import list_mistakes
from tactician.documents.problems import Problems
from tactician.errors import BlueprintError
from tactician.frozen import frozen
from tactician.grammar import add_article
from tactician.names import find_import_path
from tactician.runs import Runnable

_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
P = TypeVar("P", bound=Part)
R = TypeVar("R")
E = TypeVar("E", bound="Blueprint | None")


class BlueprintWarning(UserWarning):
    """Warning that a blueprint leaves out something that no import would find."""


_EXPORTS: dict[type, Callable[..., Blueprint | None]] = {}


def blueprint_exporter(kind: type[R]) -> Callable[[Callable[[R, Exporter], E]], Callable[[R, Exporter], E]]:
    """Register the function that exports Runnables of a class and its subclasses to a blueprint.

    The function returns `None` when it has added a problem to the exporter.
    """

    def register(export: Callable[[R, Exporter], E]) -> Callable[[R, Exporter], E]:
        _EXPORTS[kind] = export
        return export

    return register


def export_blueprint(runnable: Runnable, *, strict: bool = False) -> Blueprint:
    """Return the blueprint of a Runnable and of all Runnables inside it. `runnable.to_blueprint()` is the same.

    Args:
        runnable: an agent, a constellation, a planned agent ...
        strict: refuse to leave out tools that no import would find again; else a `BlueprintWarning` names them.

    Raises:
        BlueprintError: with everything that a blueprint cannot express.
    """
    shared = _Shared(strict)
    node, problems = Exporter(shared).export_node(runnable), shared.problems
    if node is None or problems:
        raise problems.create_error(f"{runnable.name} has no blueprint", BlueprintError)
    for problem in shared.left_out:
        warnings.warn(BlueprintWarning(f"The blueprint of {runnable.name} leaves out {problem}"), stacklevel=3)
    return escape_part(node)


@dataclass(slots=True)
class _Shared:
    """State of an export that all exporters share."""

    is_strict: bool = False
    problems: Problems = field(default_factory=Problems)
    left_out: list[str] = field(default_factory=list)


@frozen
class Exporter:
    """Exporter of the part at a path of a constellation."""

    _shared: _Shared = field(default_factory=_Shared)
    path: DataPath = ()
    above: tuple[object, ...] = ()

    def at(self, *steps: str | int) -> Exporter:
        """Return the exporter of a path inside its own."""
        return replace(self, path=(*self.path, *steps))

    def add_problem(self, message: str, *steps: str | int) -> None:
        """Add a problem here, or at a path inside."""
        self._shared.problems.add(message, *self.path, *steps)

    def omit(self, what: str, *steps: str | int) -> None:
        """Omit something here, or at a path inside; that is a problem in a strict export."""
        if self._shared.is_strict:
            self.add_problem(what, *steps)
        else:
            self._shared.left_out.append(": ".join(filter(None, (format_path((*self.path, *steps)), what))))

    def export_node(self, runnable: Runnable, *steps: str | int) -> Blueprint | None:
        """Return the blueprint of a Runnable, or `None`."""
        part_exporter = replace(self, path=(*self.path, *steps), above=(*self.above, runnable))
        if any(outer is runnable for outer in self.above):
            part_exporter.add_problem(f"it goes in a circle, back to {runnable.name}")
            return None
        exported = as_runnable(runnable) or runnable
        if (export := next(filter(None, map(_EXPORTS.get, type(exported).__mro__)), None)) is None:
            part_exporter.add_problem(f"{runnable.name}: {add_article(type(runnable).__name__)} has no blueprint")
            return None
        return export(exported, part_exporter)

    def make_relative(self, file: File) -> str:
        """Return the path of a file or folder relative to the working directory when it is inside."""
        return str(file.relative_to(File.cwd())) if file.is_relative_to(File.cwd()) else str(file)

    def make(self, kind: type[P], fields: Mapping[str, object]) -> P | None:
        """Return a part with these fields; `None` when it is not valid."""
        try:
            return kind.model_validate(fields, by_name=True, by_alias=False)
        except ValidationError as error:
            for path, message in list_mistakes(error).items():
                self.add_problem(message, *(step if isinstance(step, int) else to_camel(step) for step in path))
            return None

    def export_nodes(self, runnables: Iterable[Runnable], step: str) -> tuple[Blueprint, ...]:
        """Return the blueprints of several Runnables, without those that have problems."""
        nodes = (self.export_node(runnable, step, place) for place, runnable in enumerate(runnables))
        return tuple(node for node in nodes if node is not None)

    def find_type_name(self, kind: object, *steps: str | int) -> str | None:
        """Return the name of a type; `None` for `None`, and for a type that no import would find."""
        if kind is None or kind is str:
            return None
        if (name := find_type_name(kind)) is None:
            self.add_problem(f"no import finds the type {kind!r}; define it in a module", *steps)
        return name

    def find_import_path(self, value: object, what: str, *steps: str | int) -> str | None:
        """Return the name by which an import finds a class or a function."""
        if (name := find_import_path(value)) is None:
            self.add_problem(f"no import finds {what}; define it in a module", *steps)
        return name


def is_default_instance(value: object) -> bool:
    """Return whether an object was created without arguments, as far as its attributes tell."""
    try:
        parameters = inspect.signature(type(value)).parameters.items()
    except ValueError:  # written in C
        return False
    return all(
        parameter.kind in _MANY or _has_default(value, name, parameter.default) for name, parameter in parameters
    )


def _has_default(value: object, name: str, default: object) -> bool:
    attribute: object = getattr(value, name, getattr(value, f"_{name}", default))
    return default is not inspect.Parameter.empty and (attribute is default or attribute == default)
