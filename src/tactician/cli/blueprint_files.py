"""Blueprints as files of the command line: what they may use, and advice on their mistakes."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import typer

from tactician.agents import BaseRunnable
from tactician.blueprint import Blueprint
from tactician.errors import BlueprintError, ConfigurationError, Problem
from tactician.frozen import frozen
from tactician.names import read_allowed_packages

Allow = Annotated[
    list[str] | None,
    typer.Option(
        "--allow", help="A package in which a blueprint's names are looked up, beside those in TACTICIAN_ALLOW."
    ),
]
Modules = Annotated[
    list[str] | None,
    typer.Option("--module", help="A module to import before a blueprint, such as the module of its guardrails."),
]
Root = Annotated[
    Path | None,
    typer.Option(
        "--root",
        help="The folder outside of which a blueprint reads no file; the working directory, if FILE is in it.",
    ),
]
_SUFFIXES: Final = (".json", ".yaml", ".yml")
_ADVICE: Final = {
    "Register it, or allow its package": "Allow its package with --allow",
    "Import the module": "Import with --module the module",
    "build with another root": "name another folder with --root",
}
"""What is advised to programs, and what that is on the command line."""


@frozen
class BlueprintAccess:
    """Code and files that blueprints may use.

    Attributes:
        allow: packages in which names are looked up.
        modules: modules that are imported first.
        root: folder outside of which no file is read.
    """

    allow: Sequence[str] = ()
    modules: Sequence[str] = ()
    root: Path | None = None

    @classmethod
    def of(cls, allow: list[str] | None, modules: list[str] | None, root: Path | None = None) -> BlueprintAccess:
        """Return the access that the options of a command give."""
        return cls(tuple(allow or ()), tuple(modules or ()), root)

    def import_modules(self) -> None:
        """Import the modules, also from the working directory, once the user allows code.

        Raises:
            ConfigurationError: when a module cannot be imported.
        """
        if self.modules or self.allow or read_allowed_packages():
            sys.path.insert(0, str(Path.cwd()))
        for name in self.modules:
            try:
                import_module(name)
            except Exception as error:
                raise ConfigurationError(f"The module {name!r} cannot be imported: {error}") from error

    def build(self, file: Path) -> BaseRunnable[object]:
        """Build the blueprint in a file.

        Raises:
            BlueprintError: with every mistake in it.
            ConfigurationError: when a module cannot be imported.
        """
        self.import_modules()
        try:
            return Blueprint.load(file, allow=self.allow, root=self.root)
        except BlueprintError as error:
            raise BlueprintError(error.subject, add_advice(error.problems), error.left_out) from error

    def format_options(self) -> str:
        """Return the options that give the same access again, each with a space before it."""
        options = [*(("--allow", name) for name in self.allow), *(("--module", name) for name in self.modules)]
        options += [] if self.root is None else [("--root", str(self.root))]
        return "".join(f" {name} {shlex.quote(value)}" for name, value in options)


NO_ACCESS: Final = BlueprintAccess()


def is_blueprint_file(file: Path) -> bool:
    """Return whether the name of a file is a blueprint's."""
    return file.suffix.lower() in _SUFFIXES


def add_advice(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems with advice for the command line."""
    return [replace(problem, message=_replace_advice(problem.message)) for problem in problems]


def _replace_advice(message: str) -> str:
    for elsewhere, here in _ADVICE.items():
        message = message.replace(elsewhere, here)
    return message
