"""What the names in agent files stand for. A name that nobody registered or allowed stands for nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import FunctionType, ModuleType
from typing import cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from tactician.errors import DeclarationError
from tactician.llm import JsonSchema
from tactician.loop import output_type
from tactician.tools import ToolExecutor, as_tool


class NameProblem(LookupError):  # noqa: N818 - it says what is wrong
    """A name stands for nothing, or for something of another kind."""


class Names:
    """Classes and functions by name: those registered, and the public ones that the allowed packages define.

    Args:
        registered: what simple names, or names with their module, stand for.
        packages: names such as `acme.tools`. `acme.tools.Search` and `acme.tools.web.Fetch` can be named in full, and
            `Search` alone where the package itself has it.

    Raises:
        ImportError: when a package cannot be imported.
    """

    def __init__(self, registered: Mapping[str, object], packages: Sequence[str]) -> None:
        self._registered = {_full_name(value): value for value in registered.values()} | dict(registered)
        self._packages = tuple(packages)
        self._modules = tuple(import_module(package) for package in self._packages)

    def kind(self, name: str) -> type[object]:
        """The type of that name, of which there can be objects in JSON.

        Raises:
            NameProblem: when there is none.
        """
        found = self._find(name)
        if not isinstance(found, type):
            raise NameProblem(f"{name!r} is no class")
        try:
            TypeAdapter(found)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise NameProblem(f"{name!r} has no JSON form: {str(error).splitlines()[0]}") from error
        return found

    def schema(self, name: str) -> JsonSchema:
        """The JSON schema of the type of that name.

        Raises:
            NameProblem: when there is none, or it is not an object.
        """
        wanted = self.kind(name)
        plain, spec = TypeAdapter(wanted).json_schema(), output_type(wanted).spec
        contains_itself = "$ref" in plain
        if spec is None or not (contains_itself or plain.get("type") == "object"):
            raise NameProblem(f"{name!r} is no object, and arguments are one")
        return spec.schema

    def executor(self, name: str) -> ToolExecutor:
        """What executes tools: a function of a `ToolCall`, or a class that is callable or has a method `execute`.

        Raises:
            NameProblem: when there is none.
        """
        found = self._find(name)
        made = self._made(name, found) if isinstance(found, type) else found
        executor = getattr(made, "execute", made)
        if not callable(executor):
            raise NameProblem(f"{name!r} executes nothing: it is neither a function nor has it a method `execute`")
        return cast("ToolExecutor", executor)

    def method(self, owner: str, name: str) -> Callable[..., object]:
        """A public method of a class, or a function of that name, bound to a new object of the class.

        Raises:
            NameProblem: when there is none.
        """
        kind = self._find(owner)
        found = None if name.startswith("_") else getattr(kind, name, None)
        if not isinstance(kind, type) or not callable(found):
            raise NameProblem(f"{owner!r} has no public method {name!r}")
        is_plain = isinstance(vars(kind).get(name), staticmethod | classmethod)
        bound = found if is_plain else getattr(self._made(owner, kind), name)
        try:
            as_tool(bound)
        except DeclarationError as error:
            raise NameProblem(f"{owner}.{name}: {'; '.join(error.problems)}") from error
        return cast("Callable[..., object]", bound)

    def _made(self, name: str, kind: type[object]) -> object:
        try:
            return kind()
        except Exception as error:
            why = str(error).partition("\n")[0]
            raise NameProblem(f"{name!r} cannot be made without arguments: {why}; register an object") from error

    def _find(self, name: str) -> object:
        if name in self._registered:
            return self._registered[name]
        module, _, simple = name.rpartition(".")
        for candidate in [self._module(module)] if "." in name else self._modules:
            found = getattr(candidate, simple, None) if not simple.startswith("_") else None
            if isinstance(found, FunctionType | type) and self._allows(found.__module__):
                return found
        close = get_close_matches(name, self._known(), n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        allowed = ", ".join(self._packages) or "none"
        raise NameProblem(
            f"nothing is known by the name {name!r}.{hint} Register it, or allow its package (allowed: {allowed})"
        )

    def _module(self, name: str) -> ModuleType | None:
        """A module, if it is of an allowed package and not private."""
        if not self._allows(name) or any(part.startswith("_") for part in name.split(".")):
            return None
        try:
            return import_module(name)
        except Exception as error:
            if isinstance(error, ModuleNotFoundError) and error.name is not None and name.startswith(error.name):
                return None
            raise NameProblem(f"the module {name!r} cannot be imported: {error}") from error

    def _allows(self, module: str) -> bool:
        return any(module == package or module.startswith(f"{package}.") for package in self._packages)

    def _known(self) -> Iterator[str]:
        yield from self._registered
        for module in self._modules:
            yield from (name for name in vars(module) if not name.startswith("_"))


def _full_name(value: object) -> str:
    definition = value if isinstance(value, FunctionType | type) else type(value)
    return f"{definition.__module__}.{definition.__qualname__}"
