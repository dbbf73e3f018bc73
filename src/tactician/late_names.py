"""Names of a package that are imported when they are first used.

The face of a package, its `__init__`, names what the package exports: to type checkers as imports, and to the running
program as the modules that define the names. Importing one name does not load the modules of the others, so that a
program pays for what it uses. `tests/test_layers.py` checks that both lists are the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple


class LateNames(NamedTuple):
    """Module attributes of a package whose names are imported late, in the order in which a face assigns them."""

    find: Callable[[str], object]
    list_names: Callable[[], list[str]]
    exported: list[str]


def export_late(package: str, homes: Mapping[str, str]) -> LateNames:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Args:
        package: name of the package.
        homes: the names, separated by spaces, by the modules that define them; modules of the package itself, by the
            name of the package.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}
    namespace = vars(sys.modules[package])

    def find(name: str) -> object:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = import_module(f"{home}.{name}") if home == package else getattr(import_module(home), name)
        namespace[name] = value
        return value

    def list_names() -> list[str]:
        return sorted({*namespace, *home_of})

    return LateNames(find, list_names, list(home_of))
