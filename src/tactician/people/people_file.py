"""File of the people who may call a server, with their tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr

from tactician.documents.document import load_document
from tactician.documents.models import DocumentModel, validate_document
from tactician.documents.variables import Variable, substitute_variables
from tactician.errors import ConfigurationError
from tactician.people.person import ALL_RIGHTS, Person, Right


class PersonEntry(DocumentModel):
    """Person in the file.

    Attributes:
        name: the name, which answers keep.
        token: the token, as `${VARIABLE}`.
        roles: the roles.
        rights: what the person may do; everything by default.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    token: SecretStr
    roles: tuple[str, ...] = ()
    rights: tuple[Right, ...] = tuple(sorted(ALL_RIGHTS))


class PeopleFile(DocumentModel):
    """Content of the file."""

    people: Annotated[tuple[PersonEntry, ...], Field(min_length=1)]


def load_people(path: Path, environment: Mapping[str, str]) -> dict[str, Person]:
    """Return the people in a file by their tokens.

    Raises:
        ConfigurationError: when the file cannot be read, with every mistake in it; when a variable is not set, or two
            people have the same token.
    """
    document = load_document(path)
    people: dict[str, Person] = {}
    for entry in validate_document(document, PeopleFile.model_validate, f"{path} is wrong").people:
        token = _expand(entry.token.get_secret_value(), environment, f"{path}: the token of {entry.name}")
        if token in people:
            raise ConfigurationError(f"{path}: {people[token].name} and {entry.name} have the same token")
        people[token] = Person(entry.name, frozenset(entry.roles), frozenset(entry.rights))
    return people


def _expand(text: str, environment: Mapping[str, str], place: str) -> str:
    def replace(variable: Variable) -> str:
        if value := environment.get(variable.name, variable.default):
            return value
        raise ConfigurationError(f"{place}: the variable {variable.name or variable.text} is not set")

    return substitute_variables(text, replace)
