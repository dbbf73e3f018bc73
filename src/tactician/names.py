"""What the names in files stand for. A name that nobody registered or allowed stands for nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import reduce
from importlib import import_module
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TypeVar, cast

ALLOW_VARIABLE = "TACTICIAN_ALLOW"
NOTHING_REGISTERED: Mapping[str, object] = MappingProxyType({})

T = TypeVar("T")


class NameProblem(LookupError):  # noqa: N818 - it says what is wrong
    """A name stands for nothing, or for something of another kind."""


class Names:
    """Classes and functions by name: those registered, and the public ones that the allowed packages define.

    Args:
        registered: what simple names, or names with their module, stand for.
        packages: names such as `acme.tools`. `acme.tools.Search` and `acme.tools.web.Fetch` can be named in full.
        kinds: of which classes objects may be named too, where an allowed module holds them.
    """

    def __init__(
        self,
        registered: Mapping[str, object] = NOTHING_REGISTERED,
        packages: Sequence[str] = (),
        kinds: tuple[type, ...] = (),
    ) -> None:
        self._registered = {_full_name(value): value for value in registered.values()} | dict(registered)
        self.packages = tuple(packages)
        self._kinds = kinds
        self._owners: dict[str, object] = {}

    def find(self, name: str) -> object:
        """The class or the function of that name; `module.Class.method` is a method of a new object of the class.

        Raises:
            NameProblem: when there is none.
        """
        if name in self._registered:
            return self._registered[name]
        if (found := self._in_packages(name)) is not None:
            return found
        close = get_close_matches(name, self.known(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        allowed = ", ".join(self.packages) or "none"
        raise NameProblem(
            f"nothing is known by the name {name!r}.{hint} Register it, or allow its package (allowed: {allowed})"
        )

    def made(self, name: str, kind: Callable[[], T]) -> T:
        """A new object of the class of that name.

        Raises:
            NameProblem: when it cannot be made without arguments.
        """
        try:
            return kind()
        except Exception as error:
            why = str(error).partition("\n")[0]
            raise NameProblem(f"{name!r} cannot be made without arguments: {why}; register an object") from error

    def known(self) -> Iterator[str]:
        """The names that stand for something, as far as their modules are loaded."""
        yield from self._registered
        for name in [one for one in sys.modules if self._allows(one)]:
            yield from (f"{name}.{found}" for found in vars(sys.modules[name]) if not found.startswith("_"))

    def _in_packages(self, name: str) -> object | None:
        home, _, last = name.rpartition(".")
        if (module := self._module(home)) is not None:
            return self._public(module, last)
        outer, _, owner = home.rpartition(".")
        if (module := self._module(outer)) is None or last.startswith("_"):
            return None
        kind = self._public(module, owner)
        inner = getattr(kind, last, None) if isinstance(kind, type) else None
        if isinstance(kind, type) and callable(inner) and not isinstance(inner, type):
            if home not in self._owners:  # tools that are methods of one object share it
                self._owners[home] = self.made(home, kind)
            return cast("object", getattr(self._owners[home], last))
        return inner

    def _public(self, module: ModuleType, name: str) -> object | None:
        found = None if name.startswith("_") else getattr(module, name, None)
        if isinstance(found, FunctionType | type):
            return found if self._allows(found.__module__) else None
        return found if isinstance(found, self._kinds) else None

    def _module(self, name: str) -> ModuleType | None:
        """A module, if it is of an allowed package and not private."""
        if not self._allows(name) or any(part.startswith("_") for part in name.split(".") if name != "__main__"):
            return None
        try:
            return import_module(name)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name is not None and name.startswith(error.name):
                return None
            raise NameProblem(f"the module {name!r} cannot be imported: {error}") from error

    def _allows(self, module: str) -> bool:
        return any(module == package or module.startswith(f"{package}.") for package in self.packages)


def allowed_by(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The packages that `TACTICIAN_ALLOW` names, with commas between them."""
    names = environment.get(ALLOW_VARIABLE, "").split(",")
    return tuple(name.strip() for name in names if name.strip())


def path_of(value: object) -> str | None:
    """The name under which an import finds a class, a function or a tool; `None` when none finds it."""
    definition = getattr(value, "__wrapped__", value)
    definition = getattr(definition, "__func__", definition) if isinstance(definition, MethodType) else definition
    if not isinstance(definition, FunctionType | type):
        return None
    steps = definition.__qualname__.split(".")
    try:
        found = reduce(getattr, steps, cast("object", sys.modules.get(definition.__module__)))
    except AttributeError:
        return None
    is_it = found in (value, definition) or getattr(found, "__wrapped__", None) is definition
    return f"{definition.__module__}.{definition.__qualname__}" if is_it else None


def _full_name(value: object) -> str:
    definition = value if isinstance(value, FunctionType | type) else type(value)
    return f"{definition.__module__}.{definition.__qualname__}"
