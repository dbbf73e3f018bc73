"""References that a YAML file lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from pydantic import ValidationError, validate_call

from tactician.errors import ConfigurationError, in_lines
from tactician.prompts.references import LlmReference, Reference
from tactician.prompts.texts import file_in, text_in
from tactician.tools import problems_of

ReferenceKind: TypeAlias = Callable[..., LlmReference]
"""A class or a function; it is called with the fields of an entry, by their names."""
_NO_KINDS: Mapping[str, ReferenceKind] = MappingProxyType({})


def references_in(file: str | Path, kinds: Mapping[str, ReferenceKind] = _NO_KINDS) -> tuple[LlmReference, ...]:
    """The references that a YAML file lists, each as a mapping.

    The `kind` of an entry says what else it has: `text`, which is meant where there is none, has a `name`, a
    `description` and `notes`; `file` has a `path` instead of notes, of a text file in the folder of the YAML file.

    Args:
        file: the YAML file.
        kinds: more kinds, by name.

    Raises:
        ConfigurationError: when the file cannot be read; or with every entry that is wrong, and why.
    """
    path = Path(file)
    known: dict[str, ReferenceKind] = {
        "text": validate_call(_text),
        "file": partial(validate_call(_file), path.parent),
        **kinds,
    }
    made: list[LlmReference] = []
    problems: list[str] = []
    for number, entry in enumerate(_entries(path), start=1):
        try:
            made.append(_made(entry, known))
        except ValidationError as error:
            problems.append(f"entry {number}: {problems_of(error)}")
        except (ConfigurationError, TypeError, ValueError) as error:
            problems.append(f"entry {number}: {error}")
    if problems:
        raise ConfigurationError(f"{path}:{in_lines(problems)}")
    return tuple(made)


def _entries(path: Path) -> list[object]:
    import yaml

    try:
        entries: object = yaml.safe_load(text_in(path, f"The references in {path}"))
    except (yaml.YAMLError, RecursionError) as error:
        raise ConfigurationError(f"{path}: it is no YAML: {error}") from error
    if not isinstance(entries, list):
        raise ConfigurationError(f"{path}: it has to be a list of references, each with a name and a description")
    return entries


def _made(entry: object, known: Mapping[str, ReferenceKind]) -> LlmReference:
    if not isinstance(entry, dict) or not all(isinstance(name, str) for name in entry):
        raise TypeError("it has to be a mapping, such as `name: ...` with `description: ...` below it")
    fields = {name: value for name, value in entry.items() if name != "kind"}
    kind = entry.get("kind", "text")
    if not isinstance(kind, str) or (make := known.get(kind)) is None:
        raise ValueError(f"there is no kind {kind!r} of references; known: {', '.join(known)}")
    signature(make).bind(**fields)
    made: object = make(**fields)
    if isinstance(made, LlmReference):
        return made
    raise TypeError(f"the kind {kind!r} has to give an LlmReference, not a {type(made).__name__}")


def _text(name: str, description: str, notes: str = "") -> LlmReference:
    return Reference(name, description, notes)


def _file(folder: Path, name: str, description: str, path: str) -> LlmReference:
    if (file := file_in(folder, path, ("",))) is None:
        raise ConfigurationError(f"there is no file {path!r} in {folder}, where the references are")
    return Reference(name, description, text_in(file, f"The file {path!r}"))
