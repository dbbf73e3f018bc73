"""References in a YAML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pydantic import ValidationError

from tactician.documents.data import Data
from tactician.documents.document import DataDocument, read_document
from tactician.documents.models import list_mistakes
from tactician.documents.problems import Problems
from tactician.errors import ConfigurationError, DeclarationError, DocumentError
from tactician.names import Names, read_allowed_packages
from tactician.prompts import LlmReference
from tactician.prompts.texts import read_text_file
from tactician.references.entries import REFERENCE_KINDS, ReferenceKind, create_reference
from tactician.references.entry_fields import EntryScope, confine_paths

_NO_KINDS: Mapping[str, ReferenceKind] = MappingProxyType({})


def load_references(
    file: str | Path,
    kinds: Mapping[str, ReferenceKind] = _NO_KINDS,
    *,
    allow: Sequence[str] = (),
    root: str | Path | None = None,
) -> tuple[LlmReference, ...]:
    """Load the references in a YAML file, each of which is a mapping.

    The `kind` of an entry determines its other fields: `text`, the default, `file`, `web`, `directory`, `repository`,
    `python`, `resource`, `library`, `skills`, `mcp`, one of `kinds`, or the full name of a class or function of an
    allowed package.

    Args:
        file: the YAML file.
        kinds: more kinds, by name.
        allow: the packages whose classes and functions are kinds by their full names, beside those that
            `TACTICIAN_ALLOW` names.
        root: the folder outside of which nothing is read; the folder of the file by default.

    Raises:
        ConfigurationError: when the file cannot be read; or with every entry that is wrong, and why.
    """
    path = Path(file)
    scope = EntryScope(
        Names(packages=(*allow, *read_allowed_packages())),
        confine_paths(path.absolute().parent, Path(root or path.absolute().parent)),
    )
    document, entries = _load(path)
    references, problems = list[LlmReference](), Problems(document)
    for place, entry in enumerate(entries):
        try:
            references.append(create_reference(entry, scope, {**REFERENCE_KINDS, **kinds}))
        except ValidationError as error:
            problems.add_all(((place, *steps), message) for steps, message in list_mistakes(error).items())
        except DeclarationError as error:
            for problem in error.problems:
                problems.add(problem, place)
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
