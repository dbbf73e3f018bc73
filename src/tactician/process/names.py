"""The names under which types are stored, and the types of a name that a program has loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, reduce
from pathlib import Path
from typing import cast


def type_name(kind: type) -> str:
    """The name under which objects of a type are stored.

    A type of the program that runs, `__main__`, has the name that it would have in another program that imports it.
    """
    module = kind.__module__
    return f"{_main_module() if module == '__main__' else module}.{kind.__qualname__}"


def error_named(name: str) -> type[Exception] | None:
    """The kind of error of that name, if the program has loaded it; nothing is imported."""
    return next((kind for kind in _below(Exception) if type_name(kind) == name), None)


def is_taken(name: str) -> bool:
    """Whether a class has the name, in a module that the program has loaded; nothing is imported.

    Not so for `__main__`, where a class that was renamed by hand, as in a notebook, is still there.
    """
    parts = name.split(".")
    loaded = (place for place in range(len(parts) - 1, 0, -1) if ".".join(parts[:place]) in sys.modules)
    place = next(loaded, None)
    if place is None or (module := ".".join(parts[:place])) == "__main__":
        return False
    found = reduce(lambda owner, part: getattr(owner, part, None), parts[place:], cast("object", sys.modules[module]))
    return isinstance(found, type) and type_name(found) == name


def is_found_elsewhere(kind: type) -> bool:
    """Whether another program that imports the same modules finds the type by its name."""
    return "<locals>" not in kind.__qualname__


def _below(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _below(narrower)


@cache
def _main_module() -> str:
    main = sys.modules["__main__"]
    if (spec := getattr(main, "__spec__", None)) is not None:
        return str(spec.name).removesuffix(".__main__")
    file = getattr(main, "__file__", None)
    return Path(file).stem if file else "__main__"
