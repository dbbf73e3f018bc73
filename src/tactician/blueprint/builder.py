"""Builder of Runnables from blueprints, which collects all problems."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path as File
from typing import TypeVar, cast

from tactician.agents import BaseRunnable
from tactician.blueprint.origin import Limits, LimitUsage, Origin
from tactician.blueprint.permissions import BuildPermissions
from tactician.blueprint.schema_base import Part
from tactician.blueprint.variables import fill_variables
from tactician.documents.data import DataPath
from tactician.documents.problems import Problems
from tactician.environment import read_environment
from tactician.errors import ConfigurationError, DeclarationError, Problem
from tactician.frozen import frozen
from tactician.names import NameProblem, Names

T = TypeVar("T")


class BlueprintNode(Part):
    """Part of a blueprint that describes a Runnable."""

    @property
    def label(self) -> str:
        """Name in messages."""
        return str(getattr(self, "name", type(self).__name__))

    @abstractmethod
    def build_with(self, builder: Builder) -> BaseRunnable[object] | None:
        """Return the Runnable; `None` when a problem was added to the builder."""


@dataclass(slots=True)
class _Shared:
    """State of a build that all builders share."""

    names: Names
    environment: Mapping[str, str] = field(repr=False)
    root: File | None
    limits: Limits
    permissions: BuildPermissions
    problems: Problems = field(default_factory=Problems)
    count: int = 0
    """Number of reported mistakes, repetitions included."""
    nodes: int = 0
    read: dict[File, object] = field(default_factory=dict)
    taken: LimitUsage = field(default_factory=LimitUsage)


@frozen(enforced=False)
class Builder:
    """Builder of the part at a path of a blueprint.

    Attributes:
        origin: the text that is built.
        path: the path of the part.
        files: the chain of referencing files, outermost first.
        above: the depth of this file inside the referencing files.
    """

    _shared: _Shared
    origin: Origin
    path: DataPath = ()
    files: tuple[File, ...] = ()
    above: int = 0
    _before: int = 0
    """Number of problems before this blueprint."""

    @classmethod
    def create(
        cls,
        names: Names,
        environment: Mapping[str, str] | None,
        root: str | File | None,
        limits: Limits,
        origin: Origin,
        permissions: BuildPermissions,
    ) -> Builder:
        """Return the builder of a whole blueprint."""
        file = None if origin.file is None else origin.file.resolve()
        folder = _find_root(file) if root is None else File(root).resolve()
        shared = _Shared(names, read_environment(environment), folder, limits, permissions)
        return cls(shared, origin, (), () if file is None else (file,))

    @property
    def names(self) -> Names:
        """The registry of names."""
        return self._shared.names

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment variables."""
        return self._shared.environment

    @property
    def permissions(self) -> BuildPermissions:
        """The variables and hosts that may be used."""
        return self._shared.permissions

    @property
    def depth(self) -> int:
        """The depth of this path, with the depths of the files around its own."""
        return self.above + len(self.path)

    @property
    def limits(self) -> Limits:
        """The limits of the build."""
        return self._shared.limits

    @property
    def taken(self) -> LimitUsage:
        """The usage of the limits by referenced files."""
        return self._shared.taken

    @property
    def problems(self) -> list[Problem]:
        """All problems with their places, sorted by file and line."""
        problems, file_name = list(self._shared.problems), None if self.origin.file is None else str(self.origin.file)
        files = [*dict.fromkeys(problem.file for problem in problems)]
        problems.sort(key=lambda problem: (files.index(problem.file), problem.line or 0))
        return [replace(problem, file=None) for problem in problems] if files == [file_name] else problems

    @property
    def left_out(self) -> int:
        """The number of problems that are not listed."""
        return self._shared.problems.left_out

    def read_once(self, file: File, read: Callable[[File, Limits], T]) -> tuple[T, bool]:
        """Return the result of `read` for a file, and whether the file was read before."""
        is_known = file in self._shared.read
        if not is_known:
            self._shared.read[file] = read(file, self.limits)
        return cast("T", self._shared.read[file]), is_known

    def at(self, *steps: str | int) -> Builder:
        """Return the builder of a path inside its own."""
        return replace(self, path=(*self.path, *steps))

    def enter_file(self, origin: Origin, file: File) -> Builder:
        """Return the builder of another file that is referenced here."""
        return replace(self, origin=origin, path=(), files=(*self.files, file), above=self.depth)

    def add_problem(self, message: str, *steps: str | int) -> None:
        """Add a problem here, or at a path inside."""
        self._shared.count += 1
        if (path := self.origin.find((*self.path, *steps))) is not None:
            file = None if self.origin.file is None else str(self.origin.file)
            self._shared.problems.add(message, *path, document=self.origin.document, file=file)

    def build_whole(self, blueprint: BlueprintNode) -> BaseRunnable[object] | None:
        """Build a whole blueprint; return `None` when there was a problem."""
        filled, problems = fill_variables(blueprint, self.environment, self.permissions)
        for path, message in problems:
            self.add_problem(message, *path)
        return None if filled is None else self.build_node(filled)

    def build_node(self, blueprint: BlueprintNode, *steps: str | int) -> BaseRunnable[object] | None:
        """Build a blueprint inside; return `None` when there was a problem."""
        shared, part_builder = self._shared, self.at(*steps) if steps else self
        shared.nodes += 1
        if shared.nodes > shared.limits.nodes:
            if shared.nodes == shared.limits.nodes + 1:
                part_builder.add_problem(f"more than {shared.limits.nodes:,} agents and constellations are not built")
            return None
        before = shared.count
        runnable = blueprint.build_with(replace(part_builder, _before=before))
        return runnable if shared.count == before else None

    def build_nodes(self, blueprints: Iterable[BlueprintNode], step: str) -> list[BaseRunnable[object]]:
        """Build several blueprints, without those that have problems."""
        runnables = (self.build_node(blueprint, step, place) for place, blueprint in enumerate(blueprints))
        return [runnable for runnable in runnables if runnable is not None]

    def make_relative(self, file: File) -> str:
        """Return the path of a file relative to the outermost blueprint."""
        outermost = self.files[0].parent if self.files else File.cwd()
        return os.path.relpath(file, outermost)

    def may_use(self, what: str, module: str, *steps: str | int) -> bool:
        """Return whether the blueprint may use what acts on this machine; add a problem when it may not.

        A text may come from anybody: it may do so when the module is allowed.
        """
        if self.origin.is_trusted or self.names.allows(module):
            return True
        self.add_problem(f"{what} is not allowed in a text; allow it with build(allow=[{module!r}])", *steps)
        return False

    def resolve_file(self, name: str, *steps: str | int) -> File | None:
        """Return a file relative to the blueprint's file; `None` when reading it is not allowed."""
        root, beside = self._shared.root, self.origin.file
        if any(part.startswith(".") and part.strip(".") for part in re.split(r"[\\/]", name)):
            self.add_problem(
                f"{name}: files and folders whose names begin with a dot are not read, as they may hold secrets", *steps
            )
            return None
        try:
            file = ((beside.parent if beside is not None else File.cwd()) / name).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            self.add_problem(f"there can be no file {name!r}: {error}", *steps)
            return None
        if root is not None and file.is_relative_to(root):
            return file
        self.add_problem(f"{name} is outside of {root}: no file is read there; build with another root", *steps)
        return None

    def attempt(self, make: Callable[[], T], *steps: str | int) -> T | None:
        """Call `make`, and return `None` when it fails, or without steps when there are other problems here."""
        part_builder = self.at(*steps) if steps else self
        shared = self._shared
        if not steps and (shared.count > self._before or shared.nodes > shared.limits.nodes):
            return None
        try:
            return make()
        except DeclarationError as error:
            for problem in error.problems:
                part_builder.add_problem(problem)
        except (NameProblem, ConfigurationError, TypeError, ValueError) as error:
            part_builder.add_problem(str(error).partition("\n")[0])
        except (Exception, SystemExit) as error:  # somebody else's code runs here
            part_builder.add_problem(f"{type(error).__name__}: {error}")
        return None


def _find_root(file: File | None) -> File:
    folder = File.cwd()
    return folder if file is None or file.is_relative_to(folder) else file.parent
