"""Takes blueprints of Runnables, and collects everything that a blueprint cannot say."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from tactician.agents import PlannedAgent, is_planned
from tactician.blueprint.parts import Part
from tactician.blueprint.type_names import name_of_type
from tactician.blueprint.variables import escaped
from tactician.documents import DataPath, Problems, format_path
from tactician.errors import BlueprintError
from tactician.names import path_of
from tactician.runs import Runnable

if TYPE_CHECKING:
    from tactician.blueprint.blueprint import Blueprint

_MANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
P = TypeVar("P", bound=Part)


class BlueprintWarning(UserWarning):
    """A blueprint leaves something out that no import would find again."""


@dataclass(slots=True)
class _Shared:
    """What all parts of one snapshot share."""

    class_of: Callable[[object], type[Blueprint] | None]
    is_strict: bool
    problems: Problems = field(default_factory=Problems)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Takes the blueprint of what is at one place of a constellation."""

    _shared: _Shared
    path: DataPath = ()
    above: tuple[object, ...] = ()

    @classmethod
    def by(cls, class_of: Callable[[object], type[Blueprint] | None], *, strict: bool) -> Snapshot:
        """A snapshot with blueprints of the classes that `class_of` finds."""
        return cls(_Shared(class_of, strict))

    def whole(self, runnable: Runnable) -> Blueprint:
        """The blueprint of a whole constellation.

        Raises:
            BlueprintError: with everything that it cannot say.
        """
        found, problems = self.node(runnable), self._shared.problems
        if found is None or problems:
            raise BlueprintError(f"{runnable.name} has no blueprint", problems, problems.left_out)
        for one in self._shared.left_out:
            warnings.warn(BlueprintWarning(f"The blueprint of {runnable.name} leaves out {one}"), stacklevel=4)
        return escaped(found)

    def at(self, *steps: str | int) -> Snapshot:
        """The snapshot of what is at a place inside this one."""
        return replace(self, path=(*self.path, *steps))

    def problem(self, message: str, *steps: str | int) -> None:
        """Something here, or at a place inside, cannot be said."""
        self._shared.problems.add(message, *self.path, *steps)

    def left_out(self, what: str, *steps: str | int) -> None:
        """Something here, or at a place inside, is left out; a problem where that is not wanted."""
        if self._shared.is_strict:
            self.problem(what, *steps)
        else:
            self._shared.left_out.append(": ".join(filter(None, (format_path((*self.path, *steps)), what))))

    def node(self, runnable: Runnable, *steps: str | int) -> Blueprint | None:
        """The blueprint of a Runnable; `None` when there is none."""
        here = replace(self, path=(*self.path, *steps), above=(*self.above, runnable))
        if any(one is runnable for one in self.above):
            here.problem(f"it goes in a circle, back to {runnable.name}")
            return None
        one = PlannedAgent(runnable) if is_planned(runnable) else runnable
        if (kind := self._shared.class_of(one)) is None:
            here.problem(f"{runnable.name}: a {type(runnable).__name__} has no blueprint")
            return None
        return kind.taken_from(one, here)

    def made(self, kind: type[P], fields: Mapping[str, object]) -> P | None:
        """A part that says this; `None` when it cannot be said."""
        try:
            return kind.model_validate(fields, by_name=True, by_alias=False)
        except ValidationError as error:
            for one in error.errors(include_url=False, include_context=False, include_input=False):
                self.problem(one["msg"], *(step if isinstance(step, int) else to_camel(step) for step in one["loc"]))
            return None

    def nodes_of(self, runnables: Iterable[Runnable], step: str) -> tuple[Blueprint, ...]:
        """The blueprints of several; those left out that have none."""
        found = (self.node(one, step, place) for place, one in enumerate(runnables))
        return tuple(one for one in found if one is not None)

    def type_name(self, kind: object, *steps: str | int) -> str | None:
        """The name of a type; `None` for none, and for one that no import would find."""
        if kind is None or kind is str:
            return None
        if (name := name_of_type(kind)) is None:
            self.problem(f"no import finds the type {kind!r}; define it in a module", *steps)
        return name

    def import_path(self, value: object, what: str, *steps: str | int) -> str | None:
        """The name by which an import finds a class or a function."""
        if (name := path_of(value)) is None:
            self.problem(f"no import finds {what}; define it in a module", *steps)
        return name


def is_plainly_made(value: object) -> bool:
    """Whether an object was made without arguments, as far as its attributes tell: so it can be made again."""
    try:
        parameters = inspect.signature(type(value)).parameters.items()
    except ValueError:  # written in C
        return False
    return all(one.kind in _MANY or _has_default(value, name, one.default) for name, one in parameters)


def _has_default(value: object, name: str, default: object) -> bool:
    said: object = getattr(value, name, getattr(value, f"_{name}", default))
    return default is not inspect.Parameter.empty and (said is default or said == default)
