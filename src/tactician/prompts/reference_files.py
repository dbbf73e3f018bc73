"""References in a YAML file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

from pydantic import ValidationError, validate_call

from tactician.documents import Data, DataDocument, Problems, list_mistakes, read_document
from tactician.errors import ConfigurationError, DocumentError
from tactician.prompts.references import LlmReference, Reference
from tactician.prompts.texts import find_file, read_text_file

ReferenceKind: TypeAlias = Callable[..., LlmReference]
"""A class or a function; it is called with the fields of an entry, by their names."""
_NO_KINDS: Mapping[str, ReferenceKind] = MappingProxyType({})


def load_references(file: str | Path, kinds: Mapping[str, ReferenceKind] = _NO_KINDS) -> tuple[LlmReference, ...]:
    """Load the references in a YAML file, each of which is a mapping.

    The `kind` of an entry determines its other fields: `text`, the default, has a `name`, a `description` and `notes`;
    `file` has a `path` instead of notes, of a text file in the folder of the YAML file.

    Args:
        file: the YAML file.
        kinds: more kinds, by name.

    Raises:
        ConfigurationError: when the file cannot be read; or with every entry that is wrong, and why.
    """
    path = Path(file)
    known: dict[str, ReferenceKind] = {
        "text": validate_call(_create_text_reference),
        "file": partial(validate_call(_create_file_reference), path.parent),
        **kinds,
    }
    document, entries = _load(path)
    references, problems = list[LlmReference](), Problems(document)
    for place, entry in enumerate(entries):
        try:
            references.append(_create_reference(entry, known))
        except ValidationError as error:
            problems.add_all(((place, *steps), message) for steps, message in list_mistakes(error).items())
        except (ConfigurationError, TypeError, ValueError) as error:
            problems.add(str(error), place)
    problems.check(str(path))
    return tuple(references)


def _load(path: Path) -> tuple[DataDocument, list[Data]]:
    try:
        document = read_document(read_text_file(path, f"The references in {path}"), "yaml", file=path)
    except DocumentError as error:
        raise DocumentError(str(path), error.problems) from None
    if isinstance(entries := document.data, list):
        return document, entries
    raise ConfigurationError(f"{path}: it must be a list of references, each with a name and a description")


def _create_reference(entry: Data, known: Mapping[str, ReferenceKind]) -> LlmReference:
    if not isinstance(entry, dict):
        raise TypeError("it must be a mapping, such as `name: ...` with `description: ...` below it")
    fields = {name: value for name, value in entry.items() if name != "kind"}
    kind = entry.get("kind", "text")
    if not isinstance(kind, str) or (make := known.get(kind)) is None:
        raise ValueError(f"there is no kind {kind!r} of references; known: {', '.join(known)}")
    signature(make).bind(**fields)
    reference: object = make(**fields)
    if isinstance(reference, LlmReference):
        return reference
    raise TypeError(f"the kind {kind!r} must return an LlmReference, not a {type(reference).__name__}")


def _create_text_reference(name: str, description: str, notes: str = "") -> LlmReference:
    return Reference(name, description, notes)


def _create_file_reference(folder: Path, name: str, description: str, path: str) -> LlmReference:
    if (file := find_file(folder, path, ("",))) is None:
        raise ConfigurationError(f"there is no file {path!r} in {folder}, where the references are")
    return Reference(name, description, read_text_file(file, f"The file {path!r}"))
