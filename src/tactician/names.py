"""Classes and functions by name. Names that nobody registered or allowed are never resolved."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from importlib import import_module
from types import FunctionType, MappingProxyType, MethodType, ModuleType
from typing import TypeVar, cast

from tactician.environment import read_environment
from tactician.suggestions import did_you_mean

ALLOW_VARIABLE = "TACTICIAN_ALLOW"
_DEEPEST = 2  # a method of a class, or a class inside a class
NOTHING_REGISTERED: Mapping[str, object] = MappingProxyType({})

T = TypeVar("T")


class NameProblem(LookupError):  # noqa: N818 - it says what is wrong
    """Error for a name that cannot be resolved, or resolves to another kind of object."""


class Names:
    """Resolver of names: registered objects, and public classes and functions of allowed packages.

    Args:
        registered: objects by simple name, or by name with their module.
        packages: names such as `acme.tools`, which allows `acme.tools.Search` and `acme.tools.web.Fetch`.
        kinds: the classes whose instances may be named too, if an allowed module defines them.
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
        """Return the class or function of this name; `module.Class.method` is a method of a new instance.

        Raises:
            NameProblem: when the name cannot be resolved.
        """
        if name in self._registered:
            return self._registered[name]
        if (target := self._in_packages(name)) is not None:
            return target
        hint = did_you_mean(name, self.list_known())
        allowed = ", ".join(self.packages) or "none"
        raise NameProblem(
            f"there is nothing with the name {name!r}.{hint} Register it, or allow its package (allowed: {allowed})"
        )

    def create(self, name: str, kind: Callable[[], T]) -> T:
        """Return a new instance of the class of this name.

        Raises:
            NameProblem: when the class needs arguments.
        """
        try:
            return kind()
        except Exception as error:
            why = str(error).partition("\n")[0] or type(error).__name__
            raise NameProblem(f"{name!r} cannot be created without arguments: {why}; register an object") from error

    def list_known(self) -> Iterator[str]:
        """Yield the names that can be resolved, as far as their modules are loaded."""
        yield from self._registered
        for name, module in list(sys.modules.items()):
            if self._is_open(name) and isinstance(module, ModuleType):
                yield from (
                    f"{name}.{member}" for member in list(vars(module)) if self._public(module, member) is not None
                )

    def allows(self, module: str) -> bool:
        """Return whether names of a module can be resolved."""
        return any(module == package or module.startswith(f"{package}.") for package in self.packages)

    def _in_packages(self, name: str) -> object | None:
        home, _, last = name.rpartition(".")
        if (module := self._module(home)) is not None:
            return self._public(module, last)
        outer, _, owner = home.rpartition(".")
        module = self._module(outer)
        kind = None if module is None else self._public(module, owner)
        return self._inside(kind, home, last) if isinstance(kind, type) else None

    def _inside(self, kind: type, home: str, name: str) -> object | None:
        """Return a nested class, or a method of a new instance, if an allowed package defines it."""
        base = next((owner for owner in kind.__mro__ if name in vars(owner)), None)
        if name.startswith("_") or base is None or not self.allows(base.__module__):
            return None
        inner = cast("object", getattr(kind, name))
        if isinstance(inner, type):
            return inner if self.allows(inner.__module__) else None
        if not callable(inner):
            return None
        if home not in self._owners:  # tools that are methods of the same object share it
            self._owners[home] = self.create(home, kind)
        return cast("object", getattr(self._owners[home], name))

    def _public(self, module: ModuleType, name: str) -> object | None:
        try:
            member = None if name.startswith("_") else getattr(module, name, None)
        except Exception as error:  # some modules import on demand
            raise NameProblem(f"{name!r} cannot be loaded from the module {module.__name__!r}: {error}") from error
        if isinstance(member, FunctionType | type):
            return member if self.allows(member.__module__) else None
        return member if isinstance(member, self._kinds) else None

    def _module(self, name: str) -> ModuleType | None:
        """Return a module, if it is of an allowed package and not private."""
        if not self._is_open(name):
            return None
        try:
            return import_module(name)
        except (Exception, SystemExit) as error:  # a script may end the program
            if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
                return None
            why = str(error) or type(error).__name__
            raise NameProblem(f"the module {name!r} cannot be imported: {why}") from error

    def _is_open(self, module: str) -> bool:
        return self.allows(module) and not _is_private(module)


def read_allowed_packages(environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Return the packages in `TACTICIAN_ALLOW`, which are separated by commas."""
    names = read_environment(environment).get(ALLOW_VARIABLE, "").split(",")
    return tuple(name.strip() for name in names if name.strip())


def find_import_path(value: object) -> str | None:
    """Return the name under which `Names` finds a class, a function or a tool, or `None`."""
    definition = getattr(value, "__wrapped__", value)
    definition = getattr(definition, "__func__", definition) if isinstance(definition, MethodType) else definition
    if not isinstance(definition, FunctionType | type):
        return None
    steps = definition.__qualname__.split(".")
    if len(steps) > _DEEPEST or _is_private(definition.__module__) or _is_private(definition.__qualname__):
        return None
    try:
        target = reduce(getattr, steps, cast("object", sys.modules.get(definition.__module__)))
    except AttributeError:
        return None
    is_it = target in (value, definition) or getattr(target, "__wrapped__", None) is definition
    return f"{definition.__module__}.{definition.__qualname__}" if is_it else None


def _is_private(name: str) -> bool:
    return name != "__main__" and any(part.startswith("_") for part in name.split("."))


def _full_name(value: object) -> str:
    definition = value if isinstance(value, FunctionType | type) else type(value)
    return f"{definition.__module__}.{definition.__qualname__}"
