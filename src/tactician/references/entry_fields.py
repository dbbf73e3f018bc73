"""Types of the fields of references that files may set with care, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, ValidationInfo

from tactician.errors import ConfigurationError
from tactician.frozen import frozen
from tactician.names import NameProblem, Names


def _permit_all(kind: str) -> None:
    """Permit every kind."""


@frozen
class EntryScope:
    """Permissions of the entries of a file.

    Attributes:
        names: the names of classes and functions that entries may use.
        resolve_path: function that returns the file or folder which a path in an entry stands for.
        check_kind: function that checks whether entries may have a kind.
    """

    names: Names
    resolve_path: Callable[[str], Path]
    check_kind: Callable[[str], None] = _permit_all


def _resolve(value: object, info: ValidationInfo) -> object:
    scope: object = info.context
    if not isinstance(scope, EntryScope) or not isinstance(value, str):
        return value
    try:
        return scope.resolve_path(value)
    except ConfigurationError as error:
        raise ValueError(str(error)) from error


def _find_object(value: object, info: ValidationInfo) -> object:
    scope: object = info.context
    if not isinstance(scope, EntryScope) or not isinstance(value, str):
        return value
    try:
        return scope.names.find(value)
    except NameProblem as error:
        raise ValueError(str(error)) from error


EntryPath: TypeAlias = Annotated[str | Path, BeforeValidator(_resolve)]
"""Path of a file or folder; in an entry of a file, relative to the file."""
EntryObject: TypeAlias = Annotated[object, BeforeValidator(_find_object)]
"""Object of a program; in an entry of a file, its full name, which has to be allowed."""


def confine_paths(folder: Path, root: Path) -> Callable[[str], Path]:
    """Return a function that resolves paths relative to a folder.

    The function raises a `ConfigurationError` for paths outside of the root, and for hidden files.
    """

    def resolve(path: str) -> Path:
        if any(part.startswith(".") and part.strip(".") for part in path.replace("\\", "/").split("/")):
            raise ConfigurationError(f"{path}: files and folders whose names begin with a dot are not read")
        try:
            target = (folder / path).resolve()
        except (OSError, ValueError, RuntimeError) as error:
            raise ConfigurationError(f"there can be no file {path!r}: {error}") from error
        if not target.is_relative_to(root.resolve()):
            raise ConfigurationError(f"{path!r} is outside of {root}: nothing is read there")
        return target

    return resolve
