"""Functions and objects that blueprints of ensembles name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter, is_default_instance
from tactician.names import NameProblem, find_import_path

T = TypeVar("T")


def find_object(name: str | None, kind: type[T], what: str, builder: Builder, *steps: str | int) -> T | None:
    """Return the object with a name; of a class, a new instance.

    Args:
        name: the name; `None` for no object.
        kind: the type that the object has to have.
        what: the object that is meant, for messages.
        builder: the builder of the part around the name.
        steps: the path of the name in the part.
    """

    def find(path: str) -> T:
        named = builder.names.find(path)
        made = builder.names.create(path, cast("Callable[[], object]", named)) if isinstance(named, type) else named
        if not isinstance(made, kind):
            raise NameProblem(f"{path!r} is not {what}")
        return made

    return None if name is None else builder.attempt(lambda: find(name), *steps)


def find_callable(name: str | None, what: str, builder: Builder, *steps: str | int) -> Callable[..., Any] | None:
    """Return the function with a name, or the callable object; see `find_object`."""
    kind = cast("type[Callable[..., Any]]", Callable)  # isinstance takes it, as it takes any protocol
    return find_object(name, kind, what, builder, *steps)


def export_object(value: object, what: str, exporter: Exporter, *steps: str | int) -> str | None:
    """Return the name of a function, or of the class of an object that was created without arguments.

    Args:
        value: the function or the object; `None` for none.
        what: the object, for messages.
        exporter: the exporter of the part around the name.
        steps: the path of the name in the part.
    """
    if value is None:
        return None
    named = value if inspect.isroutine(value) else type(value) if is_default_instance(value) else None
    if named is not None and (name := find_import_path(named)) is not None:
        return name
    exporter.add_problem(
        f"{what} {value!r} has no name that an import finds: write a function of a module, or a class that is created "
        "without arguments",
        *steps,
    )
    return None
