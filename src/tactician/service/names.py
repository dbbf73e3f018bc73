"""Classes and functions that agent files may name: those that are registered or in allowed packages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import cast

from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError, PydanticUserError

from tactician.errors import DeclarationError
from tactician.llm.model import JsonSchema
from tactician.loop import output_type
from tactician.names import NameProblem, Names
from tactician.tools import as_tool
from tactician.tools.declared_tool import ToolExecutor


class AgentFileNames(Names):
    """Classes and functions by name, as agent files use them.

    Args:
        registered: what simple names, or names with their module, stand for.
        packages: names such as `acme.tools`. `acme.tools.Search` and `acme.tools.web.Fetch` can be named in full, and
            `Search` alone where the package itself has it.

    Raises:
        ImportError: when a package cannot be imported.
    """

    def __init__(self, registered: Mapping[str, object], packages: Sequence[str]) -> None:
        super().__init__(registered, packages)
        self._modules = tuple(import_module(package) for package in packages)

    def find(self, name: str) -> object:
        """Return the class or the function of that name.

        Raises:
            NameProblem: when the name is unknown.
        """
        if "." not in name and name not in self._registered:
            for module in self._modules:
                if (value := self._public(module, name)) is not None:
                    return value
        return super().find(name)

    def list_known(self) -> Iterator[str]:
        """Yield the simple names that can be used."""
        yield from self._registered
        for module in self._modules:
            yield from (name for name in vars(module) if not name.startswith("_"))

    def kind(self, name: str) -> type[object]:
        """Return the type of that name, which must have a JSON form.

        Raises:
            NameProblem: when the name is unknown.
        """
        kind = self.find(name)
        if not isinstance(kind, type):
            raise NameProblem(f"{name!r} is not a class")
        try:
            TypeAdapter(kind)
        except (PydanticSchemaGenerationError, PydanticUserError) as error:
            raise NameProblem(f"{name!r} has no JSON form: {str(error).splitlines()[0]}") from error
        return kind

    def schema(self, name: str) -> JsonSchema:
        """Return the JSON schema of the type of that name.

        Raises:
            NameProblem: when there is no such type, or its schema does not describe an object.
        """
        kind = self.kind(name)
        plain, spec = TypeAdapter(kind).json_schema(), output_type(kind).spec
        contains_itself = "$ref" in plain
        if spec is None or not (contains_itself or plain.get("type") == "object"):
            raise NameProblem(f"{name!r} is not an object; pass the arguments as an object")
        return spec.schema

    def executor(self, name: str) -> ToolExecutor:
        """Return the tool executor of that name.

        An executor is a function of a `ToolCall`, or a class whose objects are callable or have a method `execute`.

        Raises:
            NameProblem: when the name is unknown.
        """
        value = self.find(name)
        instance = self.create(name, value) if isinstance(value, type) else value
        executor = getattr(instance, "execute", instance)
        if not callable(executor):
            raise NameProblem(f"{name!r} executes nothing: it is neither a function nor has it a method `execute`")
        return cast("ToolExecutor", executor)

    def method(self, owner: str, name: str) -> Callable[..., object]:
        """Return a public method of a class, or a function of that name, bound to a new object of the class.

        Raises:
            NameProblem: when the name is unknown.
        """
        kind = self.find(owner)
        attribute = None if name.startswith("_") else getattr(kind, name, None)
        if not isinstance(kind, type) or not callable(attribute):
            raise NameProblem(f"{owner!r} has no public method {name!r}")
        is_plain = isinstance(vars(kind).get(name), staticmethod | classmethod)
        bound = attribute if is_plain else getattr(self.create(owner, kind), name)
        try:
            as_tool(bound)
        except DeclarationError as error:
            raise NameProblem(f"{owner}.{name}: {'; '.join(error.problems)}") from error
        return cast("Callable[..., object]", bound)
