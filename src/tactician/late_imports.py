"""Late imports: what a program loads when it first uses it.

The face of a package, its `__init__`, names what the package exports: to type checkers as imports, and to the running
program as the modules that define the names. Importing one name does not load the modules of the others, so that a
program pays for what it uses. `tests/test_layers.py` checks that both lists are the same.

A port is an operation that a lower layer declares and a higher layer implements. `agent.to_blueprint()` is a method of
agents, and blueprints are made of agents. So that agents need not know the layer above, not even by a type, `agents`
declares a port, `blueprint` binds its implementation to the port, and the package's roof (`tactician/__init__`) says in
which module that happens. The module is imported when the port is first used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
_MODULES: dict[str, str] = {}


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


class Port(Generic[T]):
    """An operation that a higher layer implements, of the type `T`.

    Args:
        name: the name under which the roof declares the module that implements the operation.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._implementation: T | None = None

    def bind(self, implementation: T) -> None:
        """Set the implementation."""
        self._implementation = implementation

    def load(self) -> T:
        """Return the implementation; import the module that binds it on first use."""
        if self._implementation is None:
            load_modules(self._name)
        assert self._implementation is not None, f"{_MODULES.get(self._name)} binds nothing to {self._name!r}"
        return self._implementation


def declare_modules(modules: dict[str, str]) -> None:
    """Declare the modules that implement ports, by the names of the ports; several are separated by spaces."""
    _MODULES.update(modules)


def load_modules(name: str) -> None:
    """Import the modules that are declared under a name, if there are any."""
    for module in _MODULES.get(name, "").split():
        import_module(module)
