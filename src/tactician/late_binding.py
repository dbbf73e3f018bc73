"""Ports: operations that a lower layer declares and a higher layer implements.

`agent.to_blueprint()` is a method of agents, and blueprints are made of agents. So that agents need not know the layer
above, not even by a type, `agents` declares a port, `blueprint` binds its implementation to the port, and the package's
roof (`tactician/__init__`) says in which module that happens. The module is imported when the port is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Generic, TypeVar

T = TypeVar("T")
_MODULES: dict[str, str] = {}


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
