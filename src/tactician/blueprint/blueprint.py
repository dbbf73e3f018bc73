"""`Blueprint`: any agent or constellation as data."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

from pydantic import Field, PrivateAttr, SerializeAsAny, TypeAdapter, ValidationError, WithJsonSchema

from tactician.agents import BaseRunnable
from tactician.blueprint.builder import BlueprintNode, Builder
from tactician.blueprint.origin import DEFAULT_LIMITS, NOWHERE, Limits, Origin
from tactician.blueprint.permissions import BuildPermissions
from tactician.blueprint.recovery import recover_parse
from tactician.blueprint.schema_base import Part, one_of
from tactician.documents.data import Data
from tactician.documents.document import write_yaml
from tactician.documents.models import explain_validation, validate_document
from tactician.documents.problems import Problems
from tactician.errors import BlueprintError, DeclarationError, Problem
from tactician.frozen import frozen
from tactician.names import NOTHING_REGISTERED, Names, read_allowed_packages
from tactician.tools import Tool

K = TypeVar("K", bound="type[Blueprint]")
KINDS: dict[str, type[Part]] = {}
"""The kinds of blueprints, by their `type`."""


class Blueprint(BlueprintNode):
    """Agent or constellation as data.

    The keys, tools, types and guardrails that it names are looked up when it is built. A custom class, with its
    own `type`, is registered with `blueprint_type`, and a function that exports to the class with `blueprint_exporter`.
    """

    schema_: Annotated[str | None, Field(alias="$schema", exclude=True)] = None
    _origin: Origin = PrivateAttr(default_factory=lambda: NOWHERE)  # a default is copied deeply

    @classmethod
    def from_data(cls, data: Mapping[str, object]) -> Blueprint:
        """Parse a blueprint from data, such as the content of a JSON file.

        Raises:
            BlueprintError: with every mistake.
        """
        return read_from(Origin.from_data(data, DEFAULT_LIMITS))

    @classmethod
    def from_json(cls, text: str, *, limits: Limits = DEFAULT_LIMITS) -> Blueprint:
        """Parse a blueprint from JSON text.

        Raises:
            BlueprintError: with every mistake, each with its path and line.
        """
        return read_from(Origin.from_text(text, "json", limits))

    @classmethod
    def from_yaml(cls, text: str, *, limits: Limits = DEFAULT_LIMITS) -> Blueprint:
        """Parse a blueprint from YAML text.

        Raises:
            BlueprintError: with every mistake, each with its path and line.
        """
        return read_from(Origin.from_text(text, "yaml", limits))

    @classmethod
    def from_file(cls, file: str | Path, *, limits: Limits = DEFAULT_LIMITS) -> Blueprint:
        """Load a blueprint from a `.json`, `.yaml` or `.yml` file. Files that it names are relative to its folder.

        Raises:
            BlueprintError: with every mistake, each with its path and line.
        """
        return read_from(Origin.from_file(Path(file), limits))

    @classmethod
    def load(
        cls,
        file: str | Path,
        *,
        allow: Sequence[str] = (),
        names: Mapping[str, object] = NOTHING_REGISTERED,
        environment: Mapping[str, str] | None = None,
        variables: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
        root: str | Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> BaseRunnable[object]:
        """Build the blueprint in a file: `from_file` and `build` together, with the mistakes of both.

        Args:
            file: `.json`, `.yaml` or `.yml`.
            allow: as for `build`, as are all that follow.
            names: objects for further names.
            environment: the environment variables, for keys and `${NAME}`.
            variables: the names of those that it may read.
            hosts: the hosts that it may reach.
            root: the folder outside of which no file is read.
            limits: limits on its size.

        Raises:
            BlueprintError: with every mistake of its form, and with everything that is missing or not allowed.
        """
        draft = ParsedBlueprint.of(Origin.from_file(Path(file), limits))
        more = BlueprintError(draft.origin.subject, ())
        if draft.blueprint is not None:
            try:
                runnable = draft.blueprint.build(
                    allow=allow,
                    names=names,
                    environment=environment,
                    variables=variables,
                    hosts=hosts,
                    root=root,
                    limits=limits,
                )
            except BlueprintError as error:
                more = error
            else:
                if not draft.problems:
                    return runnable
        named = str(file) if any(problem.file for problem in more.problems) else None
        problems = [*(replace(problem, file=named) for problem in draft.problems), *more.problems]
        raise BlueprintError(draft.origin.subject, problems, draft.problems.left_out + more.left_out)

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same fields, wherever they were read."""
        return type(other) is type(self) and self.__dict__ == other.__dict__

    @property
    def origin(self) -> Origin:
        """The document from which the blueprint was read."""
        return self._origin

    def to_data(self) -> dict[str, Data]:
        """Return the data of the blueprint, without empty fields."""
        data = super().to_data()
        return {"type": data.pop("type"), **data} if "type" in data else data

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the blueprint as JSON."""
        return json.dumps(self.to_data(), indent=indent, ensure_ascii=False)

    def to_yaml(self) -> str:
        """Return the blueprint as YAML."""
        return write_yaml(self.to_data())

    def build(
        self,
        *,
        allow: Sequence[str] = (),
        names: Mapping[str, object] = NOTHING_REGISTERED,
        environment: Mapping[str, str] | None = None,
        variables: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
        root: str | Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> BaseRunnable[object]:
        """Build the Runnable. No argument is needed.

        Args:
            allow: the packages in which tools, types, guardrails and agents may be looked up, beside those that
                `TACTICIAN_ALLOW` names.
            names: objects for further names.
            environment: the environment variables, for keys and `${NAME}`; this process's variables by default.
            variables: the names of the variables that it may read. By default a file, and a blueprint that the program
                made, may read all, and a text those that `TACTICIAN_ALLOW_VARIABLES` names, or all of an explicit
                `environment`. A provider's own key may always be read, for the provider's own address.
            hosts: the hosts that `baseUrl` may name, as `host` or `host:port`, beside the hosts of the built-in
                providers. By default all for a file, and for a text those that `TACTICIAN_ALLOW_HOSTS` names.
            root: the folder outside of which no file is read; the working directory when the blueprint's file is in it
                or it has none, else the file's own folder.
            limits: limits on the number of agents.

        Raises:
            BlueprintError: with everything that is missing or not allowed, each with its path.
        """
        packages = (*allow, *read_allowed_packages(environment))
        registry = Names(names, packages, (Tool, BaseRunnable))
        permissions = BuildPermissions.choose(self._origin, variables, hosts, environment)
        builder = Builder.create(registry, environment, root, limits, self._origin, permissions)
        runnable = builder.build_whole(self)
        if runnable is None or builder.problems:
            raise BlueprintError(self._origin.subject, builder.problems, builder.left_out)
        return runnable

    def problems(
        self,
        *,
        allow: Sequence[str] = (),
        names: Mapping[str, object] = NOTHING_REGISTERED,
        environment: Mapping[str, str] | None = None,
        variables: Collection[str] | None = None,
        hosts: Collection[str] | None = None,
        root: str | Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
    ) -> tuple[Problem, ...]:
        """Return the problems that `build` with these arguments would raise."""
        try:
            self.build(
                allow=allow,
                names=names,
                environment=environment,
                variables=variables,
                hosts=hosts,
                root=root,
                limits=limits,
            )
        except BlueprintError as error:
            return error.problems
        return ()


def read_from(origin: Origin) -> Blueprint:
    """Parse a blueprint from a document.

    Raises:
        BlueprintError: with every mistake, each with its path and line.
    """
    blueprint = validate_document(origin.document, _adapter().validate_python, origin.subject, BlueprintError)
    blueprint._origin = origin
    return blueprint


@frozen
class ParsedBlueprint:
    """Blueprint as far as it could be parsed.

    Attributes:
        origin: the text.
        blueprint: the parsed blueprint without invalid parts; `None` when nothing is left.
        problems: the mistakes in its form.
    """

    origin: Origin
    blueprint: Blueprint | None
    problems: Problems

    @classmethod
    def of(cls, origin: Origin) -> ParsedBlueprint:
        """Parse a text."""
        validate, data, problems = _adapter().validate_python, origin.document.data, Problems()
        try:
            blueprint = validate(data)
        except ValidationError as error:
            problems = explain_validation(origin.document, error)
            if (left := recover_parse(data, error, validate)) is None:
                return cls(origin, None, problems)
            blueprint, origin = left.value, replace(origin, mending=left.mending)
        blueprint._origin = origin
        return cls(origin, blueprint, problems)


@cache
def _adapter() -> TypeAdapter[Blueprint]:
    return TypeAdapter(Node)


def blueprint_type(name: str) -> Callable[[K], K]:
    """Register a class of blueprints under a name: its `type` in JSON.

    Raises:
        DeclarationError: when another class has this name.
    """

    def register(kind: K) -> K:
        other = KINDS.setdefault(name, kind)
        if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            raise DeclarationError(
                kind.__qualname__, [f"its type {name!r} belongs to {other.__module__}.{other.__qualname__}"]
            )
        KINDS[name] = kind
        return kind

    return register


Node: TypeAlias = Annotated[
    SerializeAsAny[Blueprint], one_of("type", KINDS, "a blueprint"), WithJsonSchema({"$ref": "#/$defs/Blueprint"})
]
"""A blueprint inside another."""
