"""Functions that blueprints name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, cast

from tactician.blueprint.builder import Builder
from tactician.blueprint.exporter import Exporter
from tactician.names import NameProblem


def find_function(name: str | None, builder: Builder, *steps: str | int) -> Callable[..., Any] | None:
    """Return the function with a name; `None` without a name, and when there was a problem."""

    def find(path: str) -> Callable[..., Any]:
        if not inspect.isroutine(named := builder.names.find(path)):
            raise NameProblem(f"{path!r} is not a function")
        return cast("Callable[..., Any]", named)

    return None if name is None else builder.attempt(lambda: find(name), *steps)


def export_function(function: Callable[..., object] | None, exporter: Exporter, *steps: str | int) -> str | None:
    """Return the name of a function; `None` without a function, and when no import finds it."""
    if function is None:
        return None
    name = getattr(function, "__name__", type(function).__name__)
    return exporter.find_import_path(function, f"the function {name}", *steps)
